"""`magistrate playground`, started for real: it serves what it was given, and leaves nothing behind."""

import base64
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.cli.playgrounds import FILE, playground
from tests.running import Client


def client_of(link: str) -> Client:
    parts = urlsplit(link)
    [key] = parse_qs(parts.fragment.partition("?")[2])["key"]
    return Client(f"{parts.scheme}://{parts.netloc}", key)


def folders() -> set[str]:
    return {name for name in os.listdir("/dev/shm") if name.startswith("magistrate-playground-")}


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="only Linux has files in memory")
def test_it_begins_with_an_example_and_leaves_nothing_behind(tmp_path: Path) -> None:
    before = folders()

    with playground(tmp_path) as (link, lines), client_of(link) as client:
        assert client.ask("document:roadmap#can-read@user:bob").json()["result"] == "Authorized"
        assert len(folders() - before) == 1
        assert client.get("/console").status_code == 200
        assert "keeps its data in memory" in lines[0]

    assert folders() - before == set()
    assert list(tmp_path.iterdir()) == []


def test_a_file_brings_its_model_its_warrants_and_its_tests(tmp_path: Path) -> None:
    (tmp_path / "shared.yaml").write_text(FILE)

    with playground(tmp_path, "shared.yaml") as (link, lines), client_of(link) as client:
        fragment = urlsplit(link).fragment
        assert fragment.startswith("/tests?")
        tests = zlib.decompress(base64.urlsafe_b64decode(parse_qs(fragment.partition("?")[2])["file"][0])).decode()
        assert [row["type"] for row in client.get("/v2/object-types").json()["results"]] == ["document", "user"]
        assert [row["subject"]["objectId"] for row in client.get("/v2/warrants").json()["results"]] == ["ann"]
        assert client.post("/v2/model/test", content=tests).json()["passed"] == 1

    assert "model" not in tests
    assert tests.startswith("# Shared by a colleague.\nsetup:")
    assert "Left out, because they have expired: 1" in lines


@pytest.mark.nightly
def test_a_test_file_of_another_product_is_opened(tmp_path: Path) -> None:
    (tmp_path / "store.fga.yaml").write_text(
        "model: |\n  model\n    schema 1.1\n  type user\n  type document\n    relations\n      define viewer: [user]\n"
        "tuples:\n  - {user: 'user:ann', relation: viewer, object: 'document:plan'}\n"
        "tests:\n  - {name: one, check: [{user: 'user:ann', object: 'document:plan', assertions: {viewer: true}}]}\n"
    )

    with playground(tmp_path, "store.fga.yaml") as (link, _), client_of(link) as client:
        assert client.ask("document:plan#viewer@user:ann").json()["result"] == "Authorized"
        packed = parse_qs(urlsplit(link).fragment.partition("?")[2])["file"][0]
        tests = zlib.decompress(base64.urlsafe_b64decode(packed)).decode()
        assert client.post("/v2/model/test", content=tests).json() == {
            "passed": 1,
            "failed": 0,
            "results": [{"name": "one: document:plan#viewer@user:ann", "test": 0, "passed": True}],
        }


@pytest.mark.nightly
def test_tests_that_are_too_long_for_a_link_are_in_a_file_while_the_playground_runs(tmp_path: Path) -> None:
    checks = "".join(f'  - {{check: "document:d{n * n * n}#viewer@user:ann", expect: false}}\n' for n in range(900))
    (tmp_path / "long.yaml").write_text(FILE + checks)

    with playground(tmp_path, "long.yaml") as (link, lines), client_of(link) as client:
        [named] = [found[1] for line in lines if (found := re.match(r"Open (\S+) on the page Tests", line))]
        assert client.post("/v2/model/test", content=Path(named).read_bytes()).json()["passed"] == 901
        assert "file=" not in link

    assert not Path(named).exists()


def test_a_file_that_cannot_be_opened_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("model: |\n  version 1.0\n  banana\n")

    for name, message in (("broken.yaml", "banana"), ("missing.yaml", "No such file")):
        ran = subprocess.run(
            [sys.executable, "-m", "magistrate", "playground", name], cwd=tmp_path, capture_output=True, text=True
        )
        assert ran.returncode == 2
        assert message in ran.stderr
