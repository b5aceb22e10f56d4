"""Nothing of one store is seen from another: every route of the table is called with a key of one store and with ids,
names, cursors, tokens and keys of another, in the path, the parameters, the headers and the body.

Each request is sent twice, to two stores that are alike: once with the values of a store that is there, and once with
those of a store that has been deleted. If both answers are the same but for these values, then nobody learns from them
whether the other store has what the request names."""

import json
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from magistrate.api.route import Route
from magistrate.api.route_table import ROUTES
from tests.api.recorded_events import decisions
from tests.api.store_places import PlacedRequest, fill, list_requests
from tests.conftest import STORES, new_database_url
from tests.databases import Dump, dump_store
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client
from tests.scenario_files import warrant_body

OTHER, DELETED = "zqpresent", "zqdeleted"
"""Begin all names of the other store, and of the one that has been deleted. They are too long to be in a random token
by chance, equally long, unlike any other name, and behind all others of a list."""
ROUTES_BY_OTHER_NAMES = [
    route for route in ROUTES if route.path.startswith(("/v1/", "/fga/")) and not route.path.startswith("/v1/users")
]
"""Reach the statements that routes of v2 and those of users reach."""
ROUTES_OF_STATEMENTS = [route for route in ROUTES if route not in ROUTES_BY_OTHER_NAMES]
NOT_FOUND_ALIKE = ("Service-Token", "Warrant-Token", "Content-Type", "Allow", "Location", "WWW-Authenticate")


_MEMBERS = "token|warrant_token|nextCursor|prevCursor|lastId|key|prefix|id|requestId|lastUsedAt|secret"
_PLACES = f'(service|warrant)-token: |\\nid: |"({_MEMBERS})":"'
_TOOK = r'"processing_?time":\d+'
"""Matches a member that answers of less than a millisecond may not have."""
_DIFFERING = (
    rf'(?P<place>{_PLACES})[^"\n]*'
    rf"|,{_TOOK}|{_TOOK},?"
    r"|\d{4}-\d\d-\d\dT[\d:.]+Z|\b\d{13,16}\b"
    r"|magistrate_ticket_[\w-]{60}"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{64}\b"
)
"""Matches what differs between the answers of any two stores: tokens, cursors, ids, times, and digests of policies."""


class StoreValues(NamedTuple):
    """What a store has, by what stands for it, and the secret of a key that may do everything there."""

    values: Mapping[str, str]
    secret: str


class TwoStores(NamedTuple):
    """A service with another store and with values of a deleted one; `log` grows with what it writes to stderr."""

    operator: Client
    database_url: str
    other: StoreValues
    deleted: StoreValues
    log: list[str]
    audit: Path
    base: str


def each_route(routes: Iterable[Route]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "route", [pytest.param(route, id=f"{route.method} {route.path}") for route in routes]
    )


def can_have_prefix(route: Route) -> bool:
    return route.method == "GET" and "stores" not in route.path


def fill_store(operator: Client, mark: str) -> StoreValues:
    """Makes a store whose names all begin with a mark, and returns what others could know of it."""
    described = {"name": f"{mark}-store", "description": f"{mark}description", "from": "default"}
    store = operator.post("/v2/stores", json=described).json()
    issued = operator.post(f"/stores/{mark}-store/v2/keys", json={"name": f"{mark}actor", "scopes": ["admin"]}).json()
    named = {name: f"{mark}{name}" for name in ("type", "relation", "policy", "object", "user", "once", "key")}
    with Client(str(operator.base_url), issued["key"]) as client:
        client.define({named["type"]: {named["relation"]: {}, "can": {"inheritIf": named["relation"]}}})
        rule = {"parameters": {f"{mark}variable": "integer"}, "expression": f"{mark}variable == 1"}
        client.post("/v2/policies", json={"name": named["policy"], **rule}).raise_for_status()
        old_token = client.get("/v2/model").headers["Warrant-Token"]
        for kind, text in ((named["type"], named["object"]), ("user", named["user"]), ("user", named["object"])):
            body = {"objectType": kind, "objectId": text, "meta": {"title": f"{mark}meta"}}
            client.post("/v2/objects", json=body).raise_for_status()
        granted = f"{named['type']}:{named['object']}#{named['relation']}@user:{named['user']}"
        client.grant(granted, f"{named['type']}:{mark}second#{named['relation']}@user:{named['user']}")
        once = {"objectType": named["type"], "objectId": f"{mark}created"}
        headers = {"Idempotency-Key": named["once"]}
        client.post("/v2/objects", json=once, headers=headers).raise_for_status()
        client.post("/v2/keys", json={"name": named["key"], "scopes": ["check"]}).raise_for_status()
        checked = client.ask(granted)
        assert checked.json()["result"] == "Authorized"
        [decision, *_] = decisions(client, 1)
        query = f"select {named['type']} where user:{named['user']} is {named['relation']}"
        session = client.post("/v2/sessions", json={"type": "sess", "userId": named["user"]}).json()["token"]

        hook = {"url": "https://8.8.8.8/hook", "description": f"{mark}webhook", "enabled": False}
        webhook = client.post("/v2/webhooks", json=hook).json()

        for name in (f"{mark}saved", f"{mark}second"):
            kept = client.post("/v2/saved-queries", json={"name": name, "q": query, "description": f"{mark}of"}).json()

        def cursor(path: str, **parameters: Any) -> str:
            return str(client.get(path, params={**parameters, "limit": 1}).json()["nextCursor"])

        values = {
            **named,
            **{f"near-{name}": named[name][:-1] for name in ("type", "relation", "policy")},
            "store": store["name"],
            "store-id": store["id"],
            "secret": issued["key"],
            "key-id": issued["id"],
            "decision": decision["id"],
            "request-id": checked.headers["Warrant-Request-Id"],
            "token": checked.headers["Warrant-Token"],
            "old-token": old_token,
            "session": session,
            "webhook": webhook["id"],
            "saved": kept["id"],
            "saved-name": kept["name"],
            "cursor-objects": cursor("/v2/objects"),
            "cursor-warrants": cursor("/v2/warrants"),
            "cursor-query": cursor("/v2/query", q=query),
            "cursor-keys": cursor("/v2/keys"),
            "cursor-events": cursor("/v2/resource-events"),
            "cursor-types": cursor("/v2/object-types"),
            "cursor-saved": cursor("/v2/saved-queries"),
        }
    return StoreValues({f"<{name}>": value for name, value in values.items()}, issued["key"])


@pytest.fixture(scope="module", params=STORES)
def stores(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoStores]:
    folder = tmp_path_factory.mktemp("matrix")
    url = new_database_url(request.param, folder, request)
    audit = folder / "audit.log"
    service = ServiceProcess(
        folder, database_url=url, api_key=KEY, access_log="all", audit_log=str(audit), decision_log="1000"
    )
    log: list[str] = []
    with service, service.client() as operator:
        errors = service.process.stderr
        assert errors is not None
        reading = threading.Thread(target=lambda: log.extend(iter(errors.readline, "")), daemon=True)
        reading.start()
        operator.post("/v2/stores", json={"name": "base", "from": "default"}).raise_for_status()
        key = operator.post("/stores/base/v2/keys", json={"name": "own", "scopes": ["admin"]}).json()["key"]
        with Client(service.url, key) as client:
            client.define({"report": {"viewer": {}, "editor": {"inheritIf": "viewer"}}})
            client.grant("report:r#viewer@user:u")
        other, deleted = fill_store(operator, OTHER), fill_store(operator, DELETED)
        operator.delete(f"/v2/stores/{DELETED}-store").raise_for_status()
        both = TwoStores(operator, url, other, deleted, log, audit, key)
        read_logs(both)
        yield both
        service.stop()
        reading.join()


class OwnStore:
    """One of two stores that are alike, and what was sent there."""

    def __init__(self, stores: TwoStores, name: str, values: Mapping[str, str]) -> None:
        operator = stores.operator
        self.values = values
        self.name = name
        operator.post("/v2/stores", json={"name": name, "from": "base"}).raise_for_status()
        issued = operator.post(f"/stores/{name}/v2/keys", json={"name": "own", "scopes": ["admin"]})
        self.key_id = issued.json()["id"]
        self.client = Client(str(operator.base_url), issued.json()["key"])
        self.client.grant("report:r#viewer@user:u")
        self.sent = ""

    def send(self, placed: PlacedRequest, prefix: str = "") -> httpx.Response:
        request = fill(placed, self.values)
        self.sent += repr(request)
        return self.client.request(
            request.method,
            prefix + request.path,
            params=dict(request.parameters),
            headers=dict(request.headers),
            content=None if request.body is None else json.dumps(request.body),
        )


def read_logs(stores: TwoStores) -> str:
    """What the service wrote to its log and to the audit log since the last call, when all of it is there."""
    last = stores.operator.post("/v2/keys/none/rotate").headers["Warrant-Request-Id"]
    deadline = time.monotonic() + 20
    while True:
        text = "".join(stores.log), stores.audit.read_text()
        if all(last in each for each in text):
            stores.log.clear()
            stores.audit.write_text("")
            return "".join(text)
        assert time.monotonic() < deadline, "the last request is not in the logs"
        time.sleep(0.005)


def list_leaks(text: str, sent: str, values: Mapping[str, str]) -> list[str]:
    """What a text has of the other store that was not sent."""
    marked = {*re.findall(rf"{OTHER}[\w-]*", text)}
    named = {value for value in values.values() if value in text}
    return sorted(value for value in marked | named if value not in sent)


def describe(answer: httpx.Response, own: OwnStore) -> str:
    """All of an answer but for what differs between any two, and with the names of values in their places."""
    headers = [f"{name}: {answer.headers[name]}" for name in NOT_FOUND_ALIKE if name in answer.headers]
    text = "\n".join([str(answer.status_code), *headers, answer.text])
    for name, value in sorted(own.values.items(), key=lambda item: -len(item[1])):
        text = text.replace(value, name)
    text = text.replace(DELETED, OTHER).replace(f'"name":"{own.name}"', '"name":"<own>"')
    return re.sub(_DIFFERING, r"\g<place>", text, flags=re.IGNORECASE)


def dump_other(stores: TwoStores) -> Dump:
    """All rows of the other store, but for when its keys were used."""
    tables = dump_store(stores.database_url, stores.other.values["<store>"])
    return tables | {"caller_key": [row[:6] for row in tables["caller_key"]]}


def test_every_route_and_all_that_it_takes_has_a_place_in_the_matrix() -> None:
    for route in ROUTES:
        assert len([*list_requests(route)]) >= 9, route.path


@each_route(ROUTES_OF_STATEMENTS)
def test_nothing_of_another_store_is_told_or_changed(stores: TwoStores, route: Route) -> None:
    require_separation(stores, route)


@each_route(ROUTES_BY_OTHER_NAMES)
def test_nothing_is_by_other_names_either(stores: TwoStores, route: Route) -> None:
    require_separation(stores, route)


def require_separation(stores: TwoStores, route: Route) -> None:
    """Sends every request of a route to two stores. Fails if it shows or changes anything of another store."""
    place = f"{ROUTES.index(route)}"
    own, alike = (
        OwnStore(stores, f"{letter}{place}", kept.values)
        for letter, kept in (("a", stores.other), ("d", stores.deleted))
    )
    with closing(own.client), closing(alike.client):
        before = dump_other(stores) if route.writes else {}
        for placed in list_requests(route):
            answer, answer_alike = own.send(placed), alike.send(placed)

            text = f"{answer.status_code} {answer.headers} {answer.text}"
            assert answer.status_code < 500, (placed, answer.text)
            assert list_leaks(text, own.sent, own.values) == [], placed
            assert describe(answer, own) == describe(answer_alike, alike), placed
        logged = read_logs(stores)  # with what the last test sent after its own, which names no other store
        listed = "".join(
            own.client.get(path, params={"limit": 1000}).text
            for path in (
                "/v2/resource-events",
                "/v2/access-events",
                "/v2/warrants",
                "/v2/objects",
                "/v2/keys",
                "/v2/webhooks",
                "/v2/model",
            )
        )
    assert list_leaks(logged, own.sent + alike.sent, own.values) == []
    assert list_leaks(listed, own.sent, own.values) == []
    if route.writes:
        assert dump_other(stores) == before


@each_route(ROUTES)
def test_other_stores_are_not_found_by_prefix_as_if_there_were_none(stores: TwoStores, route: Route) -> None:
    placed = next(list_requests(route))
    names = {
        name: values["<store>"] for name, values in (("other", stores.other.values), ("deleted", stores.deleted.values))
    }
    names |= {"id": stores.other.values["<store-id>"], "default": "default", "unknown": "never-made"}
    with Client(str(stores.operator.base_url), stores.base) as client:
        described = set()
        for name in names.values():
            request = fill(placed, stores.other.values)
            body = None if request.body is None else json.dumps(request.body)
            answer = client.request(
                request.method, f"/stores/{name}{request.path}", params=dict(request.parameters), content=body
            )
            headers = {
                key: text
                for key, text in answer.headers.items()
                if key not in ("date", "warrant-request-id", "content-length")
            }
            text = answer.text.replace(f"/stores/{name}/", "/stores/<name>/").replace(f'"{name}"', '"<name>"')
            described.add(f"{answer.status_code} {headers} {text.replace(f'Store {name} ', 'Store <name> ')}")

    assert len(described) == 1, described
    assert described.pop().startswith("404 ")


@each_route(route for route in ROUTES_OF_STATEMENTS if can_have_prefix(route))
def test_the_operator_sees_by_prefix_that_store_alone(stores: TwoStores, route: Route) -> None:
    require_same_view(stores, route)


@each_route(route for route in ROUTES_BY_OTHER_NAMES if can_have_prefix(route))
def test_the_operator_does_so_by_other_names_too(stores: TwoStores, route: Route) -> None:
    require_same_view(stores, route)


def require_same_view(stores: TwoStores, route: Route) -> None:
    """Fails unless the operator sees what a key of that store sees, which names its own store or none."""
    values = stores.other.values
    names = f"{values['<store>']}|{values['<store-id>']}"
    by_name, by_id = f"/stores/{values['<store>']}", f"/stores/{values['<store-id>']}"
    with Client(str(stores.operator.base_url), stores.other.secret) as client:
        for placed in list_requests(route):
            request = fill(placed, stores.other.values)
            answers = [
                sender.get(f"{prefix}{request.path}", params=dict(request.parameters))
                for sender, prefix in ((stores.operator, by_name), (client, ""), (client, by_id))
            ]

            texts = [
                re.sub(_DIFFERING, r"\g<place>", re.sub(f"/stores/({names})/", "/", answer.text)) for answer in answers
            ]
            assert not re.search(f'{DELETED}|report:r|"base"', answers[0].text), placed
            if route.path != "/v2/keys/self":
                assert texts[0] == texts[1] == texts[2], placed


def test_a_session_of_another_store_is_about_that_store_wherever_it_is_sent(stores: TwoStores) -> None:
    values = stores.other.values
    granted = f"{values['<type>']}:{values['<object>']}#{values['<relation>']}"
    body = {"warrants": [{name: text for name, text in warrant_body(f"{granted}@user:x").items() if name != "subject"}]}
    answers = {}
    with Client(str(stores.operator.base_url), stores.base) as client:
        for place, session in (("other", values["<session>"]), ("deleted", stores.deleted.values["<session>"])):
            for prefix in ("", "/stores/base", "/stores/default", f"/stores/{OTHER}-store", "/stores/never-made"):
                headers = {"Authorization": f"Bearer {session}"}
                answers[place, prefix] = client.post(f"{prefix}/v2/check", json=body, headers=headers)

    assert answers["other", ""].json()["result"] == "Authorized"
    assert answers["other", f"/stores/{OTHER}-store"].json()["result"] == "Authorized"
    for prefix in ("/stores/base", "/stores/default", "/stores/never-made"):
        assert answers["other", prefix].status_code == 404
    assert {answer.status_code for (place, _), answer in answers.items() if place == "deleted"} == {401}


def test_no_metric_after_all_these_requests_names_another_store(stores: TwoStores) -> None:
    metrics = stores.operator.get("/metrics").text

    assert "magistrate_requests_total{" in metrics
    assert list_leaks(metrics, "", stores.other.values) == []
