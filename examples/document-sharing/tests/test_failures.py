"""Without an answer of Magistrate nothing is allowed; what fails half-way opens nothing, and can be sent again."""

import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from endpoints_table import ABOUT_ONESELF, ABOUT_SOMETHING, Asked, all_shared_by
from faults import Fault, FaultyNetwork, faulty_network

from conftest import Person, application, somebody

TIMEOUT_SECONDS = 0.3
CREATE = {"magistrate": "POST /v2/writes", "warrant": "POST /v2/warrants"}
REVOKE = {"magistrate": "POST /v2/writes", "warrant": "DELETE /v2/warrants"}
FORGET = {"magistrate": "POST /v2/writes", "warrant": "DELETE /v2/objects"}
"""The requests that each client writes by."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, client_name: str) -> Path:
    return tmp_path_factory.mktemp(f"fragile-{client_name}")


@pytest.fixture(scope="module")
def network(magistrate: str) -> Iterator[FaultyNetwork]:
    with faulty_network(magistrate) as network:
        yield network


@pytest.fixture(scope="module")
def url(folder: Path, network: FaultyNetwork, client_name: str) -> Iterator[str]:
    """The application behind a network that can be made to fail."""
    settings = {"MAGISTRATE_TIMEOUT_SECONDS": str(TIMEOUT_SECONDS), "SHARING_CLIENT": client_name}
    with application(folder, network.url, **settings) as url:
        yield url


def rows(folder: Path) -> list[tuple[object, ...]]:
    """All that the application stores."""
    with closing(sqlite3.connect(folder / "sharing.db")) as connection:
        return (
            connection.execute("SELECT * FROM item ORDER BY id").fetchall()
            + connection.execute("SELECT * FROM user ORDER BY name").fetchall()
        )


@pytest.fixture(scope="module")
def cut_off(owner: Person, folder: Path, client_name: str) -> Iterator[Person]:
    """The owner at an application on the same database, with nobody listening where Magistrate should be."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    unreachable = application(folder, f"http://127.0.0.1:{port}", SHARING_CLIENT=client_name)
    with unreachable as url, somebody(url, owner.name) as cut_off:
        yield cut_off


@pytest.fixture(scope="module")
def owner(url: str) -> Iterator[Person]:
    with somebody(url, "owner-here") as owner:
        yield owner


@pytest.fixture(scope="module")
def ids(url: str, owner: Person) -> Iterator[dict[str, str]]:
    with somebody(url, "reader-here") as reader:
        yield all_shared_by(owner, reader)


@pytest.mark.parametrize("asked", ABOUT_SOMETHING, ids=str)
def test_nothing_is_allowed_or_changed_without_magistrate(
    asked: Asked, ids: dict[str, str], cut_off: Person, folder: Path
) -> None:
    before = rows(folder)

    status = asked.sent_by(cut_off, ids)

    assert status == 503
    assert rows(folder) == before


@pytest.mark.parametrize(("method", "path"), sorted(ABOUT_ONESELF - {("POST", "/login")}))
def test_nothing_is_created_or_listed_without_magistrate(method: str, path: str, cut_off: Person, folder: Path) -> None:
    before = rows(folder)

    answer = cut_off.request(method, path.format(kind="documents"), json={"title": "Plan"})

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert rows(folder) == before


def test_somebody_new_cannot_log_in_without_magistrate(cut_off: Person, folder: Path) -> None:
    before = rows(folder)

    answer = cut_off.post("/login", json={"user": "newcomer"})

    assert answer.status_code == 503
    assert rows(folder) == before


def test_a_wrong_key_is_a_fault_of_ours_and_nothing_is_allowed(ann: Person, network: FaultyNetwork) -> None:
    document = ann.creates("documents")

    with network.fault("POST /v2/check", "wrong key"):
        answer = ann.get(f"/documents/{document}")

    assert answer.status_code == 500


@pytest.mark.parametrize("fault", ["hang", "lose answer", "gateway error"])
def test_a_check_without_an_answer_allows_nothing_and_holds_nobody_up(
    fault: Fault, ann: Person, network: FaultyNetwork
) -> None:
    document = ann.creates("documents")

    with network.fault("POST /v2/check", fault):
        answer = ann.get(f"/documents/{document}")

    assert answer.status_code == 503
    assert answer.elapsed.total_seconds() < 2 * TIMEOUT_SECONDS + 1
    assert ann.may_read(document)


def test_a_lost_answer_is_asked_for_again(ann: Person, network: FaultyNetwork, client_name: str) -> None:
    with network.fault(CREATE[client_name], "lose one answer"):
        document = ann.creates("documents")

    assert ann.lists("/documents") == [document]


def test_a_create_whose_warrants_are_not_written_stores_nothing(
    ann: Person, network: FaultyNetwork, folder: Path, client_name: str
) -> None:
    before = rows(folder)

    with network.fault(CREATE[client_name], "lose request"):
        answer = ann.post("/documents", json={"title": "Plan"})

    assert answer.status_code == 503
    assert rows(folder) == before


def test_a_create_that_is_not_stored_is_seen_by_nobody_and_can_be_sent_again(ann: Person, folder: Path) -> None:
    with closing(sqlite3.connect(folder / "sharing.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        failed = ann.post("/documents", json={"title": "Plan"})
    listed = ann.lists("/documents")

    document = ann.creates("documents")

    assert (failed.status_code, listed) == (503, [])
    assert ann.lists("/documents") == [document]


def test_a_deletion_that_fails_half_way_leaves_nothing_to_read_and_can_be_sent_again(
    ann: Person, network: FaultyNetwork, client_name: str
) -> None:
    document = ann.creates("documents")

    with network.fault(FORGET[client_name], "lose request"):
        failed = ann.delete(f"/documents/{document}")
    left = (ann.may_read(document), ann.lists("/documents"))
    edited = ann.put(f"/documents/{document}", json={"title": "Back"})
    again = [ann.delete(f"/documents/{document}").status_code for _ in range(2)]

    assert failed.status_code == 503
    assert left == (False, [])
    assert edited.status_code == 404
    assert again == [204, 404]


@pytest.mark.parametrize("fault", ["lose request", "lose answer"])
def test_a_move_that_fails_has_moved_it_or_not_and_can_be_sent_again(
    fault: Fault, ann: Person, bob: Person, kim: Person, network: FaultyNetwork
) -> None:
    old, new = ann.creates("folders"), ann.creates("folders")
    ann.does("PUT", f"/folders/{old}/viewer/user:{bob.name}")
    ann.does("PUT", f"/folders/{new}/viewer/user:{kim.name}")
    document = ann.creates("documents", folder=old)

    with network.fault("POST /v2/writes", fault):
        failed = ann.put(f"/documents/{document}/folder/{new}")
    between = (bob.may_read(document), kim.may_read(document))
    ann.does("PUT", f"/documents/{document}/folder/{new}")

    assert failed.status_code == 503
    assert between == ((True, False) if fault == "lose request" else (False, True))
    assert (bob.may_read(document), kim.may_read(document)) == (False, True)


@pytest.mark.parametrize("fault", ["lose request", "lose answer"])
def test_unsharing_that_fails_can_be_sent_again(
    fault: Fault, ann: Person, bob: Person, network: FaultyNetwork, client_name: str
) -> None:
    document = ann.creates("documents")
    ann.does("PUT", f"/documents/{document}/viewer/user:{bob.name}")

    with network.fault(REVOKE[client_name], fault):
        failed = ann.delete(f"/documents/{document}/viewer/user:{bob.name}")
    ann.does("DELETE", f"/documents/{document}/viewer/user:{bob.name}")

    assert failed.status_code == 503
    assert not bob.may_read(document)


def test_whoever_wrote_reads_at_least_as_fresh_as_that(ann: Person, network: FaultyNetwork) -> None:
    document = ann.creates("documents")
    written = []

    for method in ("PUT", "DELETE", "PUT"):
        ann.does(method, f"/documents/{document}/viewer/everyone")
        written.append(network.passed[-1].token_got)
        ann.lists("/documents")
        ann.may_read(document)

        assert [each.token_sent for each in network.passed[-2:]] == [written[-1]] * 2

    assert len(set(written)) == 3
