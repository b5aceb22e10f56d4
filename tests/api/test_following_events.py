"""Following events with `after` (docs/api.md#following-events), in v2 and v1."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from magistrate.operations.checks import decision_log
from tests.api.recorded_events import delete_all_events
from tests.conftest import STORES, new_database_url
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client, running_service, settings_for
from tests.scenario_files import warrant_body
from tests.waiting import wait_until

Event = dict[str, Any]
VERSIONS = {"v1": ("events", "lastId"), "v2": ("results", "nextCursor")}
DECIDED = ("access_allowed", "access_denied")
LISTS = [f"/{version}/{of}-events" for version in VERSIONS for of in ("resource", "access")]


def page(client: Client, path: str, **parameters: str) -> tuple[list[Event], str]:
    """The events of one request, and the cursor, which must be there."""
    rows, cursor = VERSIONS[path[1:3]]
    answer = client.get(path, params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()[rows], answer.json()[cursor]


def follow(client: Client, path: str, cursor: str = "", **parameters: str) -> tuple[list[Event], str]:
    """All events that are there now, and the cursor behind them."""
    found: list[Event] = []
    parameters = {"limit": "7"} | parameters
    while True:
        begun = {VERSIONS[path[1:3]][1]: cursor} if cursor else {"after": "begin"}
        rows, cursor = page(client, path, **(parameters | begun))
        if not rows:
            return found, cursor
        found += rows


def list_all(client: Client, path: str) -> list[Event]:
    """The same by pages, the oldest first."""
    found: list[Event] = []
    for rows in client.pages(path.replace("v1", "v2"), limit=1000):
        found += rows
    return found[::-1]


@pytest.fixture(scope="module", params=STORES)
def logging_client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    url = new_database_url(request.param, tmp_path_factory.mktemp("following"), request)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(decision_log, "WRITE_EVERY_SECONDS", 0.01)
        with running_service(settings_for(url, decision_log=10_000)) as served, Client(served) as client:
            client.define({"document": {"viewer": {}, "editor": {}}})
            client.grant(*(f"document:{number}#viewer@user:ann" for number in range(30)))
            yield client


@pytest.mark.parametrize("path", LISTS)
def test_followed_events_are_those_of_the_list_the_oldest_first(logging_client: Client, path: str) -> None:
    found, cursor = follow(logging_client, path)

    assert found == list_all(logging_client, path)
    assert follow(logging_client, path, cursor) == ([], cursor)


@pytest.mark.parametrize("path", LISTS)
def test_a_cursor_at_the_end_goes_on_from_there(logging_client: Client, path: str) -> None:
    of_type = {"type": "created"} if "resource" in path else {"type": "access_granted"}
    name = path.replace("/", "-")
    _, cursor = follow(logging_client, path, **of_type)

    logging_client.grant(f"document:next{name}#viewer@user:ann")
    rows, after = page(logging_client, path, **of_type, **{VERSIONS[path[1:3]][1]: cursor, "after": "begin"})

    assert [row.get("resourceId", row.get("objectId")) for row in rows] == [f"next{name}"]
    assert after != cursor


@pytest.mark.parametrize("path", LISTS)
def test_behind_the_token_of_a_write_come_the_events_after_it(logging_client: Client, path: str) -> None:
    name = path.replace("/", "-")
    bodies = [warrant_body(f"document:{number}{name}#viewer@user:ann") for number in range(3)]
    tokens = [logging_client.post("/v2/warrants", json=body).headers["Warrant-Token"] for body in bodies]

    for number, token in enumerate(tokens):
        rows, _ = page(logging_client, path, after=token)
        assert [row["token"] for row in rows if row["type"] not in DECIDED] == tokens[number + 1 :]


def test_a_decision_comes_behind_what_was_written_before_it_was_stored(logging_client: Client) -> None:
    path = "/v2/access-events"
    logging_client.grant("document:decided#viewer@user:ann")
    _, cursor = follow(logging_client, path)
    checked = logging_client.ask("document:decided#editor@user:ann")

    found: list[Event] = []
    while not found:
        found, cursor = follow(logging_client, path, cursor)

    assert [(row["type"], row["relation"]) for row in found] == [("access_denied", "editor")]
    assert found[0]["token"] == checked.headers["Warrant-Token"]


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    ("parameters", "parameter"),
    [
        ({"after": "x"}, "after"),
        ({"after": "latest"}, "after"),
        ({"after": "BEGIN"}, "after"),
        ({"after": "begin", "limit": "0"}, "limit"),
        ({"after": "begin", "limit": "1001"}, "limit"),
        ({"after": "begin", "since": "x"}, "since"),
    ],
)
def test_a_bad_parameter_is_named(
    logging_client: Client, path: str, parameters: dict[str, str], parameter: str
) -> None:
    answer = logging_client.get(path, params=parameters)

    assert (answer.status_code, answer.json()["parameter"]) == (400, parameter)


def test_cursors_are_taken_by_the_requests_that_they_are_of(logging_client: Client) -> None:
    paged = logging_client.get("/v2/access-events", params={"limit": 1}).json()["nextCursor"]
    _, followed = follow(logging_client, "/v2/access-events")

    for path, parameters, parameter in (
        ("/v2/access-events", {"after": "begin", "nextCursor": paged}, "nextCursor"),
        ("/v2/resource-events", {"nextCursor": followed}, "nextCursor"),
        ("/v1/resource-events", {"lastId": followed}, "lastId"),
        ("/v2/objects", {"nextCursor": followed}, "nextCursor"),
        ("/v2/access-events", {"prevCursor": followed}, "prevCursor"),
        ("/v2/access-events", {"after": "begin", "sortOrder": "DESC"}, "sortOrder"),
        ("/v2/access-events", {"nextCursor": followed, "sortOrder": "DESC"}, "sortOrder"),
    ):
        answer = logging_client.get(path, params=parameters)
        assert (answer.status_code, answer.json().get("parameter")) == (400, parameter), answer.text
    both = logging_client.get("/v2/access-events", params={"after": "begin", "prevCursor": paged})
    assert both.json()["code"] == "invalid_request"
    assert page(logging_client, "/v1/access-events", lastId=followed, sortOrder="ASC")[0] == []


def test_behind_what_is_not_kept_any_more_it_is_gone(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_log, "WRITE_EVERY_SECONDS", 0.01)
    settings = settings_for(database_url, decision_log=100)
    with running_service(settings) as url, Client(url) as client:
        client.define({"document": {"viewer": {}}})
        token = client.get("/v2/objects").headers["Warrant-Token"]
        behind = {path: page(client, path, after="begin", limit="1")[1] for path in LISTS}
        client.grant(*(f"document:{number}#viewer@user:ann" for number in range(5)))
        at_the_end = {path: follow(client, path)[1] for path in LISTS}

        delete_all_events(settings)

        for path in LISTS:
            cursor = VERSIONS[path[1:3]][1]
            for parameters in ({"after": token}, {cursor: behind[path]}):
                answer = client.get(path, params=parameters)
                assert (answer.status_code, answer.json()["code"]) == (410, "gone")
                assert "after=begin" in answer.json()["message"]
            assert page(client, path, **{cursor: at_the_end[path]})[0] == []
            assert follow(client, path)[0] == []
        client.grant("document:next#viewer@user:ann")
        for path in LISTS:
            assert len(page(client, path, **{VERSIONS[path[1:3]][1]: at_the_end[path]})[0]) == 1


@pytest.mark.parametrize("kind", STORES)
def test_nothing_is_missed_or_shown_twice_while_workers_write(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """By followers, and by who reads the newest of v1 until what it knows already."""
    url = new_database_url(kind, tmp_path, request)
    with ServiceProcess(tmp_path, "--workers", "2", database_url=url, api_key=KEY, decision_log="100000") as served:
        with served.client() as client:
            client.define({"document": {"viewer": {}}})

        def write(number: int) -> None:
            with served.client() as client:
                for turn in range(60):
                    client.grant(f"document:{number}-{turn}#viewer@user:ann")
                    client.ask(f"document:{number}-{turn}#viewer@user:ann").raise_for_status()

        threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
        shown: dict[str, list[Event]] = {path: [] for path in LISTS}
        cursors = dict.fromkeys(LISTS, "")
        newest_first: list[Event] = []
        with served.client() as client:
            for thread in threads:
                thread.start()

            def read_on() -> None:
                for path in LISTS:
                    rows, cursors[path] = follow(client, path, cursors[path])
                    shown[path] += rows
                newest_first.extend(read_newer(client, newest_first))

            while any(thread.is_alive() for thread in threads):
                read_on()
            wait_until(lambda: sum(row["type"] in DECIDED for row in list_all(client, "/v2/access-events")) == 180)
            read_on()

            for path in LISTS:
                assert shown[path] == list_all(client, path)
            assert newest_first == list_all(client, "/v1/resource-events")
            assert len(shown["/v2/access-events"]) == 360
            assert len({row["id"] for row in shown["/v2/access-events"]}) == 360


def read_newer(client: Client, known: list[Event]) -> list[Event]:
    """The events of v1 that came after those that are known, the oldest first."""
    ids = {row["id"] for row in known}
    found: list[Event] = []
    parameters = {"limit": "5"}
    while True:
        answer = client.get("/v1/resource-events", params=parameters).json()
        newer = [row for row in answer["events"] if row["id"] not in ids]
        found += newer
        if len(newer) < len(answer["events"]) or "lastId" not in answer:
            return found[::-1]
        parameters["lastId"] = answer["lastId"]
