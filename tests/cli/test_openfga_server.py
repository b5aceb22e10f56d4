"""`magistrate import --from-openfga-url`, against a real HTTP server that answers like OpenFGA."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.foreign_imports import import_files
from tests.databases import dump
from tests.stub_server import Answered, Sent, StubServer, stub_server

MODEL = {
    "id": "01J",
    "schema_version": "1.1",
    "type_definitions": [
        {"type": "user"},
        {
            "type": "doc",
            "relations": {"reader": {"this": {}}},
            "metadata": {"relations": {"reader": {"directly_related_user_types": [{"type": "user"}]}}},
        },
    ],
}


def written(number: int, relation: str = "reader") -> dict[str, Any]:
    key = {"user": f"user:u{number}", "relation": relation, "object": "doc:a"}
    return {"key": key, "timestamp": "2026-01-01T00:00:00Z"}


def answer_like_openfga(sent: Sent) -> bytes | Answered:
    """Answers 250 tuples in pages of 100."""
    if sent.path == "/stores/01S/authorization-models?page_size=1":
        return json.dumps({"authorization_models": [MODEL], "continuation_token": "x"}).encode()
    if sent.path != "/stores/01S/read":
        return Answered(404, b'{"code": "undefined_endpoint"}')
    start = int(sent.body["continuation_token"] or 0)
    tuples = [written(number) for number in range(start, min(250, start + sent.body["page_size"]))]
    return json.dumps({"tuples": tuples, "continuation_token": str(start + 100) if start < 200 else ""}).encode()


def run(stub: StubServer, tmp_path: Path, *arguments: str) -> Any:
    options = ("--from-openfga-url", f"{stub.url}/stores/01S", *arguments)
    return import_files(f"sqlite:///{tmp_path}/m.db", *options)


def test_the_newest_model_and_all_tuples_are_imported(tmp_path: Path) -> None:
    with stub_server(answer_like_openfga) as stub:
        imported = run(stub, tmp_path, "--openfga-token", "secret")

    assert (imported.exit_code, imported.stderr) == (0, ""), imported.output
    assert imported.stdout.endswith("2 object types, 251 objects, 250 warrants\n")
    assert [sent.path for sent in stub.sent[1:]] == ["/stores/01S/read"] * 3
    assert {sent.headers["Authorization"] for sent in stub.sent} == {"Bearer secret"}
    assert len(dump(f"sqlite:///{tmp_path}/m.db")["warrant"]) == 250


def test_a_server_that_is_busy_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("magistrate.cli.importing.openfga_server.PAUSES_SECONDS", (0.0, 0.0))
    answers = iter([503, 429])

    def answer(sent: Sent) -> bytes | Answered:
        status = next(answers, None)
        return answer_like_openfga(sent) if status is None else Answered(status, b"busy")

    with stub_server(answer) as stub:
        imported = run(stub, tmp_path)

    assert imported.exit_code == 0, imported.output
    assert len(stub.sent) == 6


@pytest.mark.parametrize(
    ("models", "page", "message"),
    [
        (Answered(401, b'{"code": "bearer_token_missing"}'), b"", "answered 401"),
        (Answered(503, b"busy"), b"", "answered 503: busy"),
        (b'{"authorization_models": []}', b"", "the store has no model"),
        (b"[]", b"", "the store has no model"),
        (b"<html>", b"", "the store has no model"),
        (b'{"authorization_models": [{"type_definitions": 5}]}', b"", "schema_version must be 1.1 or 1.2"),
        (None, b"[]", "the answer is no page of tuples"),
        (None, b'{"tuples": [], "continuation_token": "again"}', "pages go on for ever"),
        (None, b'{"tuples": [5]}', "invalid_tuple: is no tuple"),
        (None, json.dumps({"tuples": [written(1, "reder")]}).encode(), "relation reder is not defined; did you mean"),
        (None, b" " * 17_000_000, "an answer is larger than"),
    ],
)
def test_what_is_wrong_there_is_reported_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, models: bytes | Answered | None, page: bytes, message: str
) -> None:
    monkeypatch.setattr("magistrate.cli.importing.openfga_server.PAUSES_SECONDS", (0.0,))

    def answer(sent: Sent) -> bytes | Answered:
        if sent.path.endswith("/read"):
            return page
        return answer_like_openfga(sent) if models is None else models

    with stub_server(answer) as stub:
        refused = run(stub, tmp_path)

    assert refused.exit_code == 2
    assert message in refused.stderr
    assert stub.url in refused.stderr
    assert not (tmp_path / "m.db").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from-openfga-url", "nothing"], "is not the URL of a service"),
        (["--from-openfga-url", "http://127.0.0.1:9/stores/x", "--from-spicedb"], "give either --from-openfga or"),
        (["x.fga", "--from-openfga-url", "http://127.0.0.1:9"], "give either a FILE or --from-openfga-url"),
        (["--from-openfga-url", "http://127.0.0.1:9", "--from-warrant", "http://127.0.0.1:9"], "give either a FILE"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(tmp_path: Path, arguments: list[str], message: str) -> None:
    refused = import_files(f"sqlite:///{tmp_path}/m.db", *arguments)

    assert refused.exit_code == 2
    assert message in refused.stderr
