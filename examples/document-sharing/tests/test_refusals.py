"""Each endpoint refuses: unknown users as if there were nothing, readers what takes more,
and those who did not log in."""

from collections.abc import Iterator

import httpx
import pytest
from endpoints_table import ABOUT_ONESELF, ABOUT_SOMETHING, Asked, all_shared_by

from conftest import Person, somebody


@pytest.fixture(scope="module")
def owner(url: str) -> Iterator[Person]:
    with somebody(url, "owner") as owner:
        yield owner


@pytest.fixture(scope="module")
def reader(url: str) -> Iterator[Person]:
    with somebody(url, "reader") as reader:
        yield reader


@pytest.fixture(scope="module")
def stranger(url: str) -> Iterator[Person]:
    with somebody(url, "stranger") as stranger:
        yield stranger


@pytest.fixture(scope="module")
def ids(owner: Person, reader: Person) -> dict[str, str]:
    return all_shared_by(owner, reader)


@pytest.mark.parametrize("asked", ABOUT_SOMETHING, ids=str)
def test_a_stranger_is_told_what_is_told_of_nothing(asked: Asked, ids: dict[str, str], stranger: Person) -> None:
    nothing = {name: "no-such-id" for name in ids}

    assert asked.sent_by(stranger, ids) == asked.sent_by(stranger, nothing) == 404


@pytest.mark.parametrize("asked", ABOUT_SOMETHING, ids=str)
def test_a_reader_is_told_that_it_takes_more_than_reading(asked: Asked, ids: dict[str, str], reader: Person) -> None:
    assert asked.sent_by(reader, ids) == asked.reader_gets


@pytest.mark.parametrize("asked", ABOUT_SOMETHING, ids=str)
def test_who_did_not_log_in_may_nothing(asked: Asked, ids: dict[str, str], visitor: Person) -> None:
    public = (asked.method, asked.route) == ("GET", "/documents/{item_id}")

    assert asked.sent_by(visitor, ids) == (404 if public else 401)


def test_nothing_was_changed_by_all_that(ids: dict[str, str], owner: Person) -> None:
    read = owner.get(f"/documents/{ids['document']}").json()
    readers = owner.get(f"/documents/{ids['document']}/readers").json()

    assert read == {"id": ids["document"], "title": "Plan", "text": ""}
    assert readers == {"users": ["owner", "reader"], "everyone": False}
    assert owner.lists(f"/folders/{ids['folder']}/documents") == []


def test_every_endpoint_is_in_the_table(url: str) -> None:
    paths = httpx.get(f"{url}/openapi.json", trust_env=False).json()["paths"]

    there = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert there == ABOUT_ONESELF | {(asked.method, asked.route) for asked in ABOUT_SOMETHING}


@pytest.mark.parametrize(("method", "path"), sorted(ABOUT_ONESELF - {("POST", "/login")}))
def test_what_is_about_oneself_takes_a_login(method: str, path: str, visitor: Person) -> None:
    assert visitor.request(method, path.format(kind="documents"), json={"title": "Plan"}).status_code == 401


@pytest.mark.parametrize("token", ["owner", "owner.", "owner.00ff", "owner.\xe9"])
def test_a_forged_token_is_no_login_not_even_an_anonymous_one(token: str, visitor: Person, owner: Person) -> None:
    document = owner.creates("documents")
    owner.does("PUT", f"/documents/{document}/viewer/everyone")

    answer = visitor.get(f"/documents/{document}", headers={b"Authorization": f"Bearer {token}".encode("latin-1")})

    assert answer.status_code == 401


@pytest.mark.parametrize("name", ["", "@anonymous", "*", "ann is viewer", "Ann", "a/b", "a" * 65, "."])
def test_a_name_that_could_mean_something_else_is_refused(name: str, visitor: Person, owner: Person) -> None:
    document = owner.creates("documents")

    assert visitor.post("/login", json={"user": name}).status_code == 422
    assert owner.put(f"/documents/{document}/viewer/user:{name}").status_code in {404, 422}


def test_a_document_is_moved_only_to_where_one_may_write(ann: Person, bob: Person) -> None:
    document, folder = ann.creates("documents"), bob.creates("folders")
    moved = [ann.put(f"/documents/{document}/folder/{folder}").status_code]

    for role in ("viewer", "editor"):
        bob.does("PUT", f"/folders/{folder}/{role}/user:{ann.name}")
        moved.append(ann.put(f"/documents/{document}/folder/{folder}").status_code)

    assert moved == [404, 403, 204]


@pytest.mark.parametrize(
    ("way", "status"),
    [
        ("/groups/{group}/viewer/user:bob", 404),
        ("/folders/{folder}/blocked/user:bob", 404),
        ("/documents/{document}/parent/user:bob", 404),
        ("/documents/{document}/can-read/user:bob", 404),
        ("/documents/{document}/editor/everyone", 422),
        ("/documents/{document}/viewer/folder:f1", 422),
    ],
)
def test_only_roles_are_given_and_only_to_whom_it_makes_sense(
    way: str, status: int, owner: Person, ids: dict[str, str]
) -> None:
    assert owner.put(way.format(**ids)).status_code == status
