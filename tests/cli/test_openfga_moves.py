"""`magistrate import --from-openfga-url URL --store NAME`: from our own API of OpenFGA in another process, and from
servers that do not answer as it does."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import Result

from magistrate.cli.commands import main
from tests.cli.runner import CommandRunner
from tests.databases import dump
from tests.openfga.conditions import BELOW, conditional
from tests.openfga.conversation import OpenFga, computed, define, model, this, union
from tests.openfga.requests import delete, key, write
from tests.openfga.team_files import TUPLES, TYPES
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client, running_service, settings_for
from tests.stub_server import Answered, Sent, StubServer, stub_server
from tests.waiting import wait_until

FIRST = {**TYPES, "type_definitions": TYPES["type_definitions"][:3]}
NEWEST = {
    **TYPES,
    "type_definitions": [
        *TYPES["type_definitions"],
        define("room", guest=(this(), ["user with below"]), **{"can.enter": (this(), ["user"])}),
    ],
    "conditions": BELOW,
}
CONDITIONAL = conditional("room:a guest user:bob", "below", limit="5")
ASSERTION = {"tuple_key": key("file:a owner user:bob"), "expectation": True}


def move(url: str, database_url: str, *arguments: str, store: str = "moved", token: str = KEY) -> Result:
    options = ["import", "--from-openfga-url", url, "--store", store, "--database-url", database_url, *arguments]
    return CommandRunner().invoke(main, options, env={"FGA_API_TOKEN": token}, prog_name="magistrate")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenFga]:
    """A store of a service in another process, with three models, a condition, and names that are others here."""
    with ServiceProcess(tmp_path_factory.mktemp("source"), api_key=KEY) as service, service.client() as client:
        openfga = OpenFga.create(client, "A store of Theirs")
        openfga.write_model(FIRST)
        write(openfga, "team:core member user:ann").raise_for_status()
        openfga.write_model(TYPES)
        write(openfga, *TUPLES[1:]).raise_for_status()
        openfga.write_model(NEWEST)
        openfga.post("write", {"writes": {"tuple_keys": [CONDITIONAL]}}).raise_for_status()
        write(openfga, "room:a can.enter user:Ü*").raise_for_status()
        for number in range(3):  # more than a page
            write(openfga, *(f"file:f{number}-{one} viewer user:u{one}" for one in range(90))).raise_for_status()
        openfga.put(f"assertions/{openfga.model_id}", {"assertions": [ASSERTION]}).raise_for_status()
        yield openfga


def store_url(openfga: OpenFga) -> str:
    return f"{str(openfga.client.base_url).rstrip('/')}/stores/{openfga.store_id}"


def read_all(openfga: OpenFga) -> list[dict[str, Any]]:
    tuples, token = [], ""
    while True:
        page = openfga.post("read", {"page_size": 100, "continuation_token": token}).json()
        tuples += page["tuples"]
        token = page["continuation_token"]
        if not token:
            return tuples


def test_a_store_moves_with_its_id_its_models_and_its_tuples(source: OpenFga, database_url: str) -> None:
    moved = move(store_url(source), database_url)

    assert (moved.exit_code, moved.stderr) == (0, ""), moved.output
    lines = moved.stdout.splitlines()
    assert lines[0].startswith("3 authorization models and 281 tuples in ")
    assert lines[0].endswith(" s, stored as moved")
    assert lines[1:3] == [
        f"the id of the store is {source.store_id}, as before",
        "all tuples were read back: 281 tuples",
    ]
    assert lines[3].endswith(": all agree")
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        here = OpenFga(client, source.store_id)
        assert client.get(f"/stores/{here.store_id}").json()["name"] == "A store of Theirs"
        assert client.get("/v2/stores/moved").json()["id"] == here.store_id
        models = here.get("authorization-models").json()
        assert models == source.get("authorization-models").json()
        assert here.get(f"assertions/{source.model_id}").json() == source.get(f"assertions/{source.model_id}").json()
        assert read_all(here) == read_all(source)  # in their order, as old as they were
        for one in models["authorization_models"]:
            for text in ("file:b reader user:zoe", "file:a reader user:ann", "room:a guest user:bob"):
                body = {"tuple_key": key(text), "authorization_model_id": one["id"], "context": {"level": 3}}
                answers = [each.post("check", body) for each in (here, source)]
                assert answers[0].status_code == answers[1].status_code
                assert answers[0].json().get("allowed") == answers[1].json().get("allowed")
        later = here.post("authorization-models", NEWEST)
        assert later.json()["authorization_model_id"] > source.model_id
        delete(here, "room:a can.enter user:Ü*").raise_for_status()


def test_a_server_with_one_store_needs_no_id_and_a_store_of_the_same_id_gets_another(
    source: OpenFga, sqlite_url: str
) -> None:
    base = str(source.client.base_url).rstrip("/")
    assert move(store_url(source), sqlite_url).exit_code == 0

    unnamed = move(base, sqlite_url, store="other")
    named = move(base, sqlite_url, store="default")
    again = move(store_url(source), sqlite_url, "--sample", "7", store="other")

    assert unnamed.exit_code == 2
    assert "has 2 stores; give the URL of one, with /stores/ID" in unnamed.stderr
    assert f"{base}/stores/{source.store_id}" in unnamed.stdout
    assert "the store has no model; nothing was written" in named.stderr  # `default` there
    assert again.exit_code == 0, again.output
    assert f", not {source.store_id}" in again.stdout
    assert again.stdout.splitlines()[3].startswith(("6 checks", "7 checks"))


def test_a_store_that_is_not_empty_is_left_alone(source: OpenFga, database_url: str) -> None:
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        client.post("/v2/stores", json={"name": "moved"}).raise_for_status()
        client.post("/stores/moved/v2/objects", json={"objectType": "user", "objectId": "ann"}).raise_for_status()
        before = {name: rows for name, rows in dump(database_url).items() if name != "head"}

        refused = move(store_url(source), database_url)

        assert refused.exit_code == 2
        assert "the store moved is not empty; give a name that no store has" in refused.stderr
        assert {name: rows for name, rows in dump(database_url).items() if name != "head"} == before


def test_a_running_service_serves_the_store(source: OpenFga, database_url: str) -> None:
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        assert client.get(f"/stores/{source.store_id}").status_code == 404
        assert move(store_url(source), database_url).exit_code == 0
        wait_until(lambda: client.get(f"/stores/{source.store_id}").status_code == 200)
        here = OpenFga(client, source.store_id)
        assert here.post("check", {"tuple_key": key("file:a owner user:bob")}).json()["allowed"] is True


ULID = "01ARZ3NDEKTSV4RRFFQ69G5FA"
PLAIN = model(
    define("user"),
    define("doc", owner=(this(), ["user"]), reader=(union(this(), computed("owner")), ["user with below"])),
) | {"conditions": BELOW}


def written(text: str, **others: Any) -> dict[str, Any]:
    return {"key": {**key(text), "condition": None, **others}, "timestamp": "2026-01-01T00:00:00.123456789Z"}


class Source:
    """Answers as OpenFGA does, with these models, newest first, and these tuples."""

    def __init__(self, *models: dict[str, Any], tuples: list[dict[str, Any]] | None = None) -> None:
        self.models = models or ({"id": f"{ULID}V", **PLAIN},)
        self.tuples = [written("doc:a owner user:ann")] if tuples is None else tuples
        self.reads = 0

    def read(self, sent: Sent) -> Any:
        self.reads += 1
        return {"tuples": self.tuples, "continuation_token": ""}

    def answer(self, sent: Sent) -> bytes | Answered:
        path = sent.path.removeprefix(f"/stores/{ULID}Z").partition("?")[0]
        if path == "":
            return json.dumps({"id": f"{ULID}Z", "name": "x"}).encode()
        if path == "/authorization-models":
            return json.dumps({"authorization_models": self.models, "continuation_token": ""}).encode()
        if path.startswith("/assertions/"):
            return b'{"assertions": []}'
        if path == "/read":
            answer = self.read(sent)
            return answer if isinstance(answer, bytes | Answered) else json.dumps(answer).encode()
        assert path == "/check"
        return self.check(sent)

    def check(self, sent: Sent) -> bytes | Answered:
        return json.dumps({"allowed": sent.body["tuple_key"]["user"] == "user:ann"}).encode()


def move_from(source: Source, database_url: str, *arguments: str) -> tuple[Result, StubServer]:
    with stub_server(source.answer) as stub:
        return move(f"{stub.url}/stores/{ULID}Z", database_url, *arguments), stub


def demand_nothing_written(refused: Result, database_url: str, message: str) -> None:
    assert refused.exit_code == 2, refused.output
    assert message in refused.stderr
    assert "nothing was written" in refused.stderr
    assert len(dump(database_url)["store"]) == 1


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([{"id": "01J", **PLAIN}], "is no id of a model"),
        ([{"id": "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", **PLAIN}], "it must be a ULID of the past"),
        ([{"id": f"{ULID}V", **PLAIN}, {"id": f"{ULID}W", **PLAIN}], "does not begin with the newest"),
        ([{"id": f"{ULID}V", **PLAIN}, {"id": f"{ULID}V", **PLAIN}], "does not begin with the newest"),
        ([{"id": f"{ULID}V", "schema_version": "1.0", "type_definitions": []}], "the newest model cannot be had here"),
        ([{"id": f"{ULID}V"}], "the answer is no page of a list"),
    ],
)
def test_models_that_cannot_keep_their_ids_are_refused(
    sqlite_url: str, models: list[dict[str, Any]], message: str
) -> None:
    refused, _ = move_from(Source(*models), sqlite_url)

    demand_nothing_written(refused, sqlite_url, message)


def test_what_cannot_be_had_here_is_reported_and_can_be_left_out(sqlite_url: str) -> None:
    circle = model(define("user"), define("doc", odd=(computed("odd"), [])))
    tuples = [
        written("doc:a owner user:ann"),
        written("doc:b reader user:ann"),  # counts for nothing there
        written("gone:b reader user:ann"),  # counts for nothing on both sides
        written(f"doc:{'☃' * 250} owner user:ann"),
        written("doc:a can.read user:ann"),
    ]
    source = Source({"id": f"{ULID}V", **PLAIN}, {"id": f"{ULID}T", **circle}, tuples=tuples)

    refused, _ = move_from(source, sqlite_url)
    moved, _ = move_from(source, sqlite_url, "--leave-out", "--sample", "0")

    assert refused.stderr.count("\n") == 5, refused.stderr
    for message in (
        f"model {ULID}T: ",
        "does not list this form of user with this condition",
        "is too long with its escaped characters",
        "no model that is here has its names",
        "4 faults above; nothing was written; fix them, or leave them out with --leave-out",
    ):
        assert message in refused.stderr
    assert moved.exit_code == 0, moved.output
    assert moved.stdout.startswith("1 authorization model and 2 tuples in ")
    assert moved.stdout.endswith("all tuples were read back: 2 tuples\n0 checks made on both sides: all agree\n")


class Restless(Source):
    """Has a tuple the less, or the more, when it is read a second time."""

    def __init__(self, *second: dict[str, Any]) -> None:
        super().__init__()
        self.second = [*second]

    def read(self, sent: Sent) -> Any:
        if self.reads:
            self.tuples = self.second
        return super().read(sent)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ([], "was deleted while it was read"),
        ([written("doc:a owner user:ann"), written("doc:a owner user:bob")], "was written while it was read"),
        (
            [written("doc:a owner user:ann", condition={"name": "below", "context": {}})],
            "was written while it was read",
        ),
    ],
)
def test_a_source_that_is_written_meanwhile_is_noticed(
    sqlite_url: str, second: list[dict[str, Any]], message: str
) -> None:
    refused, _ = move_from(Restless(*second), sqlite_url)

    demand_nothing_written(refused, sqlite_url, message)


class Endless(Source):
    """Has another page always: of the same tuples, or of others."""

    def __init__(self, is_new: bool) -> None:
        super().__init__()
        self.is_new = is_new

    def read(self, sent: Sent) -> Any:
        self.reads += 1
        tuples = [written(f"doc:d{self.reads if self.is_new else 1} owner user:ann")]
        return {"tuples": tuples, "continuation_token": f"t{self.reads}"}


@pytest.mark.parametrize("is_new", [False, True])
def test_pages_without_an_end_have_one(sqlite_url: str, monkeypatch: pytest.MonkeyPatch, is_new: bool) -> None:
    monkeypatch.setattr("magistrate.operations.openfga.collected_store.MAX_TUPLES", 150)

    refused, stub = move_from(Endless(is_new), sqlite_url)

    demand_nothing_written(refused, sqlite_url, "on for ever")
    assert len(stub.sent) < 200


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (b"[]", "/read: the answer is no page of tuples"),
        (b"<html>", "/read: the answer is no page of tuples"),
        (b'{"tuples": [5]}', "/read: the answer is no page of tuples"),
        (b'{"tuples": [{"key": {"user": "user:a"}}]}', "/read: the answer is no page of tuples"),
        (b'{"tuples": null}', "/read: the answer is no page of tuples"),
        (b"[" * 100_000, "/read: the answer is no page of tuples"),
        (b" " * 17_000_000, "an answer is larger than"),
        (Answered(500, b"{}"), "answered 500"),
        (json.dumps({"tuples": [written("doc:a owner user:ann") | {"timestamp": "soon"}]}).encode(), "the timestamp"),
    ],
)
def test_other_answers_are_refused(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, page: bytes | Answered, message: str
) -> None:
    monkeypatch.setattr("magistrate.cli.importing.openfga_server.PAUSES_SECONDS", (0.0,))
    source = Source()
    monkeypatch.setattr(source, "read", lambda sent: page)

    refused, stub = move_from(source, sqlite_url)

    demand_nothing_written(refused, sqlite_url, message)
    assert stub.url in refused.stderr


def test_a_server_that_is_too_slow_is_given_up(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("magistrate.cli.importing.openfga_server.PAUSES_SECONDS", ())
    monkeypatch.setattr("magistrate.cli.importing.openfga_server.TIMEOUT_MS", 50)
    source, released = Source(), threading.Event()
    monkeypatch.setattr(source, "read", lambda sent: (released.wait(60), b"")[1])

    with stub_server(source.answer) as stub:
        refused = move(f"{stub.url}/stores/{ULID}Z", sqlite_url)
        released.set()

    demand_nothing_written(refused, sqlite_url, "no answer within 50 ms")


def test_checks_that_differ_are_named(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source()
    monkeypatch.setattr(source, "check", lambda sent: b'{"allowed": false}')

    differing, _ = move_from(source, sqlite_url, "--sample", "1")

    assert differing.exit_code == 2
    assert differing.stdout.splitlines()[-1].split() == ["doc:a#owner@user:ann", "denied", "allowed"]
    assert "1 check made on both sides: 1 differ; the store is complete, see above" in differing.stderr


def test_a_name_that_no_store_can_have_is_refused(sqlite_url: str) -> None:
    with stub_server(Source().answer) as stub:
        refused = move(f"{stub.url}/stores/{ULID}Z", sqlite_url, store="Not a name")
    assert refused.exit_code == 2
    assert "can only contain letters a-z" in refused.stderr
