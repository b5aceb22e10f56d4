"""Two stores hold the same ids with opposite access, and requests about both come in any order over one connection:
no cache answers one with what it has of the other.

Which request is sent, by whom and to which API is drawn at random. Bodies and heads come again, for both stores, so
that what the fast path keeps of requests is used; writes move access from one store to the other meanwhile."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import STORES, new_database_url
from tests.properties.example_counts import scale_examples
from tests.running import KEY, Client, running_service, settings_for
from tests.scenario_files import warrant_body

DOCUMENTS, USERS = ("d0", "d1", "d2", "d3"), ("ann", "bob")
PAIRS = tuple(itertools.product(DOCUMENTS, USERS))
TYPES: dict[str, Any] = {
    "document": {"viewer": {}, "reader": {"inheritIf": "viewer"}},
    "group": {"member": {}},
}
OTHER_TYPES = {**TYPES, "document": {"viewer": {}, "editor": {}, "reader": {"inheritIf": "anyOf", "rules": [
    {"inheritIf": "viewer"}, {"inheritIf": "editor"}]}}}  # fmt: skip
SIDES = (0, 1)


def write_membership(document: str, user: str) -> str:
    """The warrant on which access depends: documents with an even number are shared with users, others with groups."""
    if document in ("d0", "d2"):
        return f"document:{document}#viewer@user:{user}"
    return f"group:{document}#member@user:{user}"


class Sender(NamedTuple):
    """Who sends a request about a store: the prefix of its path, and its header."""

    prefix: str
    authorization: str


class OppositeStores:
    """Two new stores of a service, their senders, and who reads what in the first one: in the second one, all others
    do."""

    def __init__(self, client: Client, number: int, are_alike: bool) -> None:
        self.client = client
        self.reads = {pair for place, pair in enumerate(PAIRS) if place % 3 != 1}
        self.senders: list[dict[str, Sender]] = []
        self.sessions: list[dict[str, Sender]] = []
        self.tokens = ["", ""]
        self.writes = 0
        for side in SIDES:
            name = f"side-{side}-{number}"
            client.post("/v2/stores", json={"name": name, "from": "default"}).raise_for_status()
            operator = Sender(f"/stores/{name}", f"ApiKey {KEY}")
            body = {"name": "own", "scopes": ["admin"]}
            key = self._send("POST", "/v2/keys", operator, json=body).json()["key"]
            self.senders.append(
                {
                    "operator": operator,
                    "key": Sender("", f"ApiKey {key}"),
                    "bearer": Sender("", f"Bearer {key}"),
                    "own prefix": Sender(f"/stores/{name}", f"ApiKey {key}"),
                }
            )
            for kind, relations in (TYPES if are_alike or not side else OTHER_TYPES).items():
                self.send(side, "key", "POST", "/v2/object-types", json={"type": kind, "relations": relations})
            shared = [f"document:{document}#viewer@group:{document}#member" for document in ("d1", "d3")]
            granted = [write_membership(*pair) for pair in PAIRS if self.may_read(side, *pair)]
            bodies = [warrant_body(text) for text in (*shared, *granted)]
            bodies += [warrant_body(f"document:{document}#viewer@user:nobody") for document in DOCUMENTS]
            self.tokens[side] = self.send(side, "key", "POST", "/v2/warrants", json=bodies).headers["Warrant-Token"]
            sessions = {}
            for user in USERS:
                begun = self.send(side, "key", "POST", "/v2/sessions", json={"type": "sess", "userId": user})
                sessions[user] = Sender("", f"Bearer {begun.json()['token']}")
            self.sessions.append(sessions)

    def may_read(self, side: int, document: str, user: str) -> bool:
        return ((document, user) in self.reads) != bool(side)

    def list_documents(self, side: int, user: str) -> list[str]:
        return [document for document in DOCUMENTS if self.may_read(side, document, user)]

    def list_users(self, side: int, document: str) -> list[str]:
        return sorted([user for user in USERS if self.may_read(side, document, user)] + ["nobody"])

    def _send(self, method: str, path: str, sender: Sender, **request: Any) -> httpx.Response:
        headers = {"Authorization": sender.authorization, **request.pop("headers", {})}
        answer = self.client.request(method, f"{sender.prefix}{path}", headers=headers, **request)
        return answer

    def send(self, side: int, by: str, method: str, path: str, **request: Any) -> httpx.Response:
        answer = self._send(method, path, self.senders[side][by], **request)
        assert answer.status_code == 200, answer.text
        return answer

    def exchange(self, by: str, document: str, user: str) -> None:
        """Moves access from the store that has it to the other, by requests with the same idempotency key."""
        self.writes += 1
        warrants = [warrant_body(write_membership(document, user))]
        for side in SIDES:
            kind = "delete" if self.may_read(side, document, user) else "create"
            headers = {"Idempotency-Key": f"write-{self.writes}"}
            written = self.send(side, by, "POST", "/v2/writes", json={kind: {"warrants": warrants}}, headers=headers)
            self.tokens[side] = written.headers["Warrant-Token"]
        self.reads ^= {(document, user)}


Step = Callable[[OppositeStores, int, str, str, str], tuple[Any, Any]]
"""Sends a request about a side, by a sender, with a document and a user; returns what came back and what is true."""


def check(stores: OppositeStores, side: int, by: str, document: str, user: str) -> tuple[Any, Any]:
    answer = stores.send(side, by, "POST", "/v2/check", json={"warrants": [body_of(document, user)]})
    return answer.json()["result"] == "Authorized", stores.may_read(side, document, user)


def check_at_token(stores: OppositeStores, side: int, by: str, document: str, user: str) -> tuple[Any, Any]:
    headers = {"Warrant-Token": stores.tokens[side]}
    body = {"warrants": [body_of(document, user)]}
    answer = stores.send(side, by, "POST", "/v2/check", json=body, headers=headers)
    foreign = stores._send(
        "POST", "/v2/check", stores.senders[side][by], json=body, headers={"Warrant-Token": stores.tokens[1 - side]}
    )
    observed = (answer.json()["result"] == "Authorized", foreign.status_code, foreign.json()["code"])
    return observed, (stores.may_read(side, document, user), 400, "invalid_parameter")


def check_by_session(stores: OppositeStores, side: int, by: str, document: str, user: str) -> tuple[Any, Any]:
    body = {"warrants": [{name: text for name, text in body_of(document, user).items() if name != "subject"}]}
    answer = stores._send("POST", "/v2/check", stores.sessions[side][user], json=body)
    return answer.json()["result"] == "Authorized", stores.may_read(side, document, user)


def check_with_context(stores: OppositeStores, side: int, by: str, document: str, user: str) -> tuple[Any, Any]:
    shared = warrant_body(f"document:{document}#viewer@group:d1#member")
    body = {"warrants": [body_of(document, user)], "contextualWarrants": [shared]}
    answer = stores.send(side, by, "POST", "/v2/check", json=body)
    expected = stores.may_read(side, document, user) or stores.may_read(side, "d1", user)
    return answer.json()["result"] == "Authorized", expected


def check_batch(stores: OppositeStores, side: int, by: str, document: str, user: str) -> tuple[Any, Any]:
    body = {"op": "batch", "warrants": [body_of(each, user) for each in DOCUMENTS]}
    answer = stores.send(side, by, "POST", "/v2/authorize", json=body)
    observed = [result["result"] == "Authorized" for result in answer.json()]
    return observed, [stores.may_read(side, each, user) for each in DOCUMENTS]


def evaluate(stores: OppositeStores, side: int, by: str, document: str, user: str) -> tuple[Any, Any]:
    answer = stores.send(side, by, "POST", "/access/v1/evaluation", json=entities(document, user))
    return answer.json()["decision"], stores.may_read(side, document, user)


def evaluate_several(stores: OppositeStores, side: int, by: str, document: str, user: str) -> tuple[Any, Any]:
    body = {"evaluations": [entities(each, user) for each in DOCUMENTS]}
    answer = stores.send(side, by, "POST", "/access/v1/evaluations", json=body)
    observed = [each["decision"] for each in answer.json()["evaluations"]]
    return observed, [stores.may_read(side, each, user) for each in DOCUMENTS]


def search_actions(stores: OppositeStores, side: int, by: str, document: str, user: str) -> tuple[Any, Any]:
    body = {name: part for name, part in entities(document, user).items() if name != "action"}
    answer = stores.send(side, by, "POST", "/access/v1/search/action", json=body)
    observed = "reader" in [row["name"] for row in answer.json()["results"]]
    return observed, stores.may_read(side, document, user)


def check_fga(stores: OppositeStores, side: int, by: str, document: str, user: str) -> tuple[Any, Any]:
    checked = {
        "resource_type": "document",
        "resource_id": document,
        "relation": "reader",
        "subject": {"resource_type": "user", "resource_id": user},
    }
    answer = stores.send(side, by, "POST", "/fga/v1/check", json={"checks": [checked]})
    return answer.json()["result"] == "authorized", stores.may_read(side, document, user)


def explain(stores: OppositeStores, side: int, by: str, document: str, user: str) -> tuple[Any, Any]:
    answer = stores.send(side, by, "POST", "/v2/explain", json=body_of(document, user))
    return answer.json()["decision"] == "allowed", stores.may_read(side, document, user)


def query_documents(stores: OppositeStores, side: int, by: str, document: str, user: str) -> tuple[Any, Any]:
    parameters = {"q": f"select document where user:{user} is reader"}
    rows = stores.send(side, by, "GET", "/v2/query", params=parameters).json()["results"]
    return sorted(row["objectId"] for row in rows), stores.list_documents(side, user)


def query_pages(stores: OppositeStores, side: int, by: str, document: str, user: str) -> tuple[Any, Any]:
    """A page at a time of each store in turn; a cursor of the other store is refused."""
    parameters = {"q": f"select document where user:{user} is reader", "limit": "1"}
    rows: list[list[str]] = [[], []]
    cursors: list[dict[str, str] | None] = [{}, {}]
    statuses = set()
    while any(cursor is not None for cursor in cursors):
        for each in SIDES:
            cursor = cursors[each]
            if cursor is None:
                continue
            page = stores.send(each, by, "GET", "/v2/query", params={**parameters, **cursor}).json()
            rows[each] += [row["objectId"] for row in page["results"]]
            cursors[each] = {"nextCursor": page["nextCursor"]} if "nextCursor" in page else None
            if cursors[each]:
                other = stores.senders[1 - each][by]
                statuses.add(
                    stores._send("GET", "/v2/query", other, params={**parameters, **(cursors[each] or {})}).status_code
                )
    expected = [stores.list_documents(each, user) for each in SIDES]
    return ([sorted(each) for each in rows], statuses - {400}), (expected, set())


def query_users(stores: OppositeStores, side: int, by: str, document: str, user: str) -> tuple[Any, Any]:
    parameters = {"q": f"select reader of type user for document:{document}"}
    rows = stores.send(side, by, "GET", "/v1/query", params=parameters).json()["results"]
    return sorted(row["objectId"] for row in rows), stores.list_users(side, document)


def query_fga(stores: OppositeStores, side: int, by: str, document: str, user: str) -> tuple[Any, Any]:
    parameters = {"q": f"select document where user:{user} is reader"}
    rows = stores.send(side, by, "GET", "/fga/v1/query", params=parameters).json()["data"]
    return sorted(row["resource_id"] for row in rows), stores.list_documents(side, user)


def list_warrants(stores: OppositeStores, side: int, by: str, document: str, user: str) -> tuple[Any, Any]:
    text = write_membership(document, user)
    of = warrant_body(text)
    parameters = {"objectType": of["objectType"], "objectId": of["objectId"], "subjectId": user}
    observed = [
        bool(
            stores.send(side, by, "GET", path, params=parameters).json()[member]
            if member
            else stores.send(side, by, "GET", path, params=parameters).json()
        )
        for path, member in (("/v2/warrants", "results"), ("/v1/warrants", ""))
    ]
    return observed, [stores.may_read(side, document, user)] * 2


def move(stores: OppositeStores, side: int, by: str, document: str, user: str) -> tuple[Any, Any]:
    stores.exchange(by, document, user)
    return None, None


STEPS: tuple[Step, ...] = (
    check,
    check_at_token,
    check_by_session,
    check_with_context,
    check_batch,
    evaluate,
    evaluate_several,
    search_actions,
    check_fga,
    explain,
    query_documents,
    query_pages,
    query_users,
    query_fga,
    list_warrants,
    move,
)


def body_of(document: str, user: str) -> dict[str, Any]:
    return warrant_body(f"document:{document}#reader@user:{user}")


def entities(document: str, user: str) -> dict[str, Any]:
    return {
        "subject": {"type": "user", "id": user},
        "action": {"name": "reader"},
        "resource": {"type": "document", "id": document},
    }


@pytest.fixture(scope="module", params=STORES)
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    url = new_database_url(request.param, tmp_path_factory.mktemp("apart"), request)
    with running_service(settings_for(url)) as service, Client(service) as client:
        yield client


NUMBERS = itertools.count()
DRAWN_STEPS = st.lists(
    st.tuples(
        st.sampled_from(STEPS),
        st.sampled_from(("key", "key", "bearer", "operator", "own prefix")),
        st.sampled_from(PAIRS),
        st.permutations(SIDES),
    ),
    min_size=5,
    max_size=40,
)


@settings(
    max_examples=scale_examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(steps=DRAWN_STEPS, are_alike=st.booleans())
def test_no_answer_about_one_store_is_given_for_another(
    client: Client, steps: list[tuple[Step, str, tuple[str, str], tuple[int, int]]], are_alike: bool
) -> None:
    stores = OppositeStores(client, next(NUMBERS), are_alike)
    for step, by, (document, user), sides in steps:
        for side in sides if step is not move else sides[:1]:
            observed, expected = step(stores, side, by, document, user)

            assert observed == expected, (step.__name__, side, by)
