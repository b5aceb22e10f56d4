"""Conditions on rows of an application have exactly the rows that checks allow, in every ORM and database."""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import DateTime, Text, column, create_engine, not_, select, text
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import CompileError

from magistrate.client import Client as ApiClient
from magistrate.mirror.mirroring import Mirror, MirrorOptions
from magistrate.mirror.open_target import choose_target
from magistrate_client import (
    AsyncClient,
    Client,
    InvalidUse,
    ObjectSetTooLarge,
    object_sets,
)
from magistrate_client.django import allowed as django_allowed
from magistrate_client.sqlalchemy import allowed as sqlalchemy_allowed
from magistrate_client.sqlalchemy import mirrored
from tests.clients.python.access_cases import CASES, EVERYTHING, MODEL, Case, Rows, grant, number
from tests.clients.python.django_rows import DjangoRows
from tests.clients.python.row_values import find_updated
from tests.clients.python.sqlalchemy_rows import SqlalchemyRows
from tests.conftest import STORES, new_database_url
from tests.databases import PostgresServer
from tests.running import KEY, running_service, settings_for
from tests.running import Client as HttpClient

ORMS: dict[str, Callable[[str, Case], Any]] = {"sqlalchemy": SqlalchemyRows, "django": DjangoRows}

_names = count(1)

NewClient = Callable[[], Client]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[str]:
    url = new_database_url("sqlite", tmp_path_factory.mktemp("service"), request)
    with running_service(settings_for(url)) as service:
        yield service


@pytest.fixture
def store(service: str) -> str:
    """The name of a store with the model."""
    name = f"store-{next(_names)}"
    with HttpClient(service) as http:
        http.post("/v2/stores", json={"name": name}).raise_for_status()
    with Client(service, KEY, name) as client:
        client.write_model(MODEL)
    return name


@pytest.fixture
def client(service: str, store: str) -> Iterator[Client]:
    with Client(service, KEY, store, timeout=60) as client:
        yield client


@pytest.fixture(params=STORES)
def own_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database of the application."""
    return new_database_url(request.param, tmp_path, request, has_tables=False)


@pytest.fixture(params=ORMS)
def make_rows(request: pytest.FixtureRequest, own_url: str) -> Iterator[Callable[[Case], Any]]:
    made: list[Any] = []

    def make(case: Case) -> Rows:
        made.append(ORMS[request.param](own_url, case))
        rows: Rows = made[-1]
        return rows

    yield make
    for rows in made:
        rows.close()


def prepare(client: Client, case: Case) -> None:
    for start in range(0, len(case.warrants), 1_000):
        client.write(create=case.warrants[start : start + 1_000])


def decide(client: Client, case: Case, **options: Any) -> dict[str, bool]:
    """What a check decides of each row, by key; no object has the keys that are no ids."""
    keys = [key for key in case.keys if " " not in key]
    checks = [(case.subject, case.relation, f"{case.type}:{key}") for key in keys]
    results = client.check_many(checks, context=case.context, **options)
    return dict.fromkeys(case.keys, False) | dict(zip(keys, results, strict=True))


def require_exact(rows: Rows, client: Client, case: Case) -> None:
    decided = decide(client, case)
    newest_last = sorted(case.keys, key=find_updated)
    expected = [key for key in newest_last if decided[key]]
    about_allowed = [place for place, key in enumerate(case.keys) if decided[key]]
    all_notes = range(len(case.keys) + 3)

    assert rows.list_allowed(client, case) == expected
    assert rows.list_others(client, case) == [key for key in newest_last if not decided[key]]
    assert rows.list_pages(client, case, len(case.keys) // 4 + 1) == expected[::-1]
    assert rows.list_notes(client, case, is_allowed=True) == about_allowed
    assert rows.list_notes(client, case, is_allowed=False) == sorted({*all_notes} - {*about_allowed})
    assert rows.list_noted(client, case) == expected
    if case.keys:
        one = case.keys[-1]
        assert rows.list_allowed_or(client, case, one) == [key for key in newest_last if decided[key] or key == one]


@pytest.mark.parametrize("name", CASES)
def test_the_rows_are_those_that_checks_allow(name: str, client: Client, make_rows: Callable[[Case], Rows]) -> None:
    prepare(client, CASES[name])

    require_exact(make_rows(CASES[name]), client, CASES[name])


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("make_rows", "own_url"),
    [
        ("sqlalchemy", "postgres"),
        ("django", "sqlite"),
        pytest.param("sqlalchemy", "sqlite", marks=pytest.mark.nightly),
        pytest.param("django", "postgres", marks=pytest.mark.nightly),
    ],
    indirect=True,
)
@pytest.mark.parametrize("size", [object_sets.PROBED_IDS + 1, pytest.param(100_000, marks=pytest.mark.nightly)])
def test_many_ids_are_exact(size: int, client: Client, make_rows: Callable[[Case], Rows]) -> None:
    """They are read on many pages, and hashed by PostgreSQL."""
    case = Case(grant(number(size)), number(size + 1_000))
    prepare(client, case)

    require_exact(make_rows(case), client, case)


@pytest.mark.parametrize(
    "name", ["some", "everything but some integers", "uuids", "composite keys", "letters of the other case"]
)
def test_rows_that_are_mirrored_are_those_of_objects_that_exist(
    name: str, client: Client, service: str, store: str, own_url: str, make_rows: Callable[[Case], Rows]
) -> None:
    case = CASES[name]
    prepare(client, case)
    with ApiClient(f"{service}/stores/{store}", KEY) as api:
        of = f"{case.type}#{case.relation}@user"
        Mirror(api, choose_target(own_url, "access"), MirrorOptions([of], once=True)).run()

    existing = {*client.objects("user:ann", "can-read", "document")}
    expected = [key for key in sorted(case.keys, key=find_updated) if f"document:{key}" in existing]

    assert make_rows(case).list_mirrored(case) == expected


@pytest.mark.parametrize("name", ["all, on several pages", "everything but exclusions", "uuids"])
def test_asyncio_has_the_same_rows(
    name: str, client: Client, service: str, store: str, make_rows: Callable[[Case], Rows]
) -> None:
    case = CASES[name]
    prepare(client, case)
    decided = decide(client, case)
    rows = make_rows(case)

    async def list_rows() -> list[str]:
        async with AsyncClient(service, KEY, store) as asynchronous:
            return await rows.list_asynchronously(asynchronous, case)

    assert asyncio.run(list_rows()) == [key for key in sorted(case.keys, key=find_updated) if decided[key]]


@pytest.mark.parametrize("every", [1, 2])
def test_a_set_is_that_of_one_revision_whatever_is_written_meanwhile(
    every: int, client: Client, service: str, store: str
) -> None:
    """After each request, or each second one, everything is granted or revoked, which changes all that is listed."""
    case = Case(grant(number(1_500)), [])
    prepare(client, case)
    numbers = count(1)

    def write(response: httpx.Response) -> None:
        place = next(numbers)
        if place % every == 0:
            client.write(create=[f"document:later-{place}#viewer@user:ann"])
            if place % (2 * every) == 0:
                client.write(delete=[EVERYTHING])
            else:
                client.write(create=[EVERYTHING])

    with httpx.Client(event_hooks={"response": [write]}) as http, Client(service, KEY, store, http=http) as busy:
        objects = busy.object_set(case.subject, case.relation, case.type)

    keys = [*number(1_500), "new", *(f"later-{place}" for place in range(1, 20))]
    assert {key: objects.has(key) for key in keys} == decide(client, Case([], keys), as_of=objects.token)


def test_access_that_has_ended_is_not_in_a_set_that_a_write_delayed(client: Client, service: str, store: str) -> None:
    """The revision of the first page is older than the end of a warrant, as of which the policy would still hold."""
    client.write(create=['document:*#viewer@user:ann[expiresIn("1500ms")]'])
    assert client.object_set("user:ann", "can-read", "document").default
    time.sleep(2)
    writes = iter(["document:x#viewer@user:bob"])

    def write(response: httpx.Response) -> None:
        for written in writes:
            client.write(create=[written])

    with httpx.Client(event_hooks={"response": [write]}) as http, Client(service, KEY, store, http=http) as busy:
        assert not busy.object_set("user:ann", "can-read", "document").default


def test_a_set_that_is_too_large_is_an_error(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(client, Case(grant(number(3)), []))
    size = len("doc-000000") * 3
    monkeypatch.setattr(object_sets, "MAX_BYTES", size)
    assert len(client.object_set("user:ann", "viewer", "document").exceptions) == 3

    monkeypatch.setattr(object_sets, "MAX_BYTES", size - 1)
    with pytest.raises(ObjectSetTooLarge, match="mirror"):
        client.object_set("user:ann", "viewer", "document")


def test_columns_without_ids_are_refused_before_a_request(tmp_path: Path) -> None:
    nobody = Client("http://127.0.0.1:1", KEY)
    question = CASES["some"].question
    rows: Any = DjangoRows(f"sqlite:///{tmp_path}/app.db", CASES["composite keys"])

    with pytest.raises(InvalidUse, match="cast it"):
        sqlalchemy_allowed(nobody, column("at", DateTime()), **question)
    with pytest.raises(InvalidUse, match="CompositePrimaryKey has no ids"):
        django_allowed(rows.documents(), nobody, **question)
    rows.close()


def test_other_databases_are_refused() -> None:
    condition = mirrored(column("id", Text()), subject="user:ann", relation="viewer", type="document")

    with pytest.raises(CompileError, match="not for mysql"):
        condition.compile(dialect=mysql.dialect())


@pytest.mark.parametrize("is_mirrored", [False, True])
def test_a_column_that_ignores_case_is_compared_exactly(is_mirrored: bool, client: Client, tmp_path: Path) -> None:
    prepare(client, Case(grant(["a", "B"]), []))
    question: dict[str, Any] = {"subject": "user:ann", "relation": "viewer", "type": "document"}
    own = sqlite3.connect(tmp_path / "app.db")
    own.execute("CREATE TABLE documents (key TEXT COLLATE NOCASE PRIMARY KEY)")
    own.execute("CREATE TABLE access (object_type, object_id, relation, subject_type, subject_id, conditional)")
    own.executemany("INSERT INTO documents VALUES (?)", [("A",), ("B",)])
    own.executemany("INSERT INTO access VALUES ('document', ?, 'viewer', 'user', 'ann', 0)", [("a",), ("B",)])
    own.commit()
    own.close()
    key = column("key", Text())
    condition = mirrored(key, **question) if is_mirrored else sqlalchemy_allowed(client, key, **question)

    engine = create_engine(f"sqlite:///{tmp_path}/app.db")
    with engine.connect() as connection:
        found = [*connection.scalars(select(key).select_from(text("documents")).where(condition))]
    engine.dispose()

    assert found == ["B"]


def test_ids_are_looked_up_in_the_index_of_a_key(client: Client, tmp_path: Path) -> None:
    case = CASES["some"]
    prepare(client, case)
    rows = SqlalchemyRows(f"sqlite:///{tmp_path}/app.db", case)

    plan = rows.explain(select(rows.key).where(sqlalchemy_allowed(client, rows.key, **case.question)))

    assert "SEARCH documents USING" in plan
    rows.close()


def test_many_ids_are_hashed_by_a_plan_for_any_ids(client: Client, postgres: PostgresServer) -> None:
    """A prepared statement is run by such a plan, which knows nothing of their number."""
    size = object_sets.PROBED_IDS + 1
    case = Case(grant(number(size)), number(2 * size))
    prepare(client, case)
    url = postgres.new_url()
    rows = SqlalchemyRows(f"{url}&options=-cplan_cache_mode%3Dforce_generic_plan", case)
    condition = sqlalchemy_allowed(client, rows.key, **case.question)

    plans = [rows.explain(select(rows.key).where(shape)) for shape in (condition, not_(condition))]

    assert ["hashed SubPlan" in plan for plan in plans] == [True, True]
    rows.close()
    postgres.give_back(url)
