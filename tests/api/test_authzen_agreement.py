"""The AuthZEN API agrees with checks and queries, whatever warrants, policies, meta and properties there are."""

from itertools import count, product
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import STORES
from tests.running import Client

RELATIONS = {
    "banned": {},
    "editor": {},
    "viewer": {"inheritIf": "editor"},
    "reader": {
        "inheritIf": "allOf",
        "rules": [{"inheritIf": "viewer"}, {"inheritIf": "noneOf", "rules": [{"inheritIf": "banned"}]}],
    },
}
POLICIES = (
    "",
    "",
    "x == 1",
    "resource.level == 1",
    "subject.level == 1",
    "action.level == 1",
    "resource.level > 0 || x == 1",
)
IDS = ("a", "b", "c")
_numbers = count()

levels = st.none() | st.integers(0, 1)
warrants = st.lists(
    st.tuples(st.sampled_from(IDS), st.sampled_from(["banned", "editor", "viewer"]), st.sampled_from((*IDS, "*")),
              st.sampled_from(POLICIES)),
    min_size=1, max_size=10, unique=True,
)  # fmt: skip


class Drawn(NamedTuple):
    """Levels are those in the meta of each object, and in the properties of a request."""

    warrants: list[tuple[str, str, str, str]]
    docs: tuple[int | None, ...]
    users: tuple[int | None, ...]
    given: tuple[int | None, ...]
    x: int


drawn = st.builds(
    Drawn, warrants, st.tuples(levels, levels, levels), st.tuples(levels, levels, levels),
    st.tuples(levels, levels, levels), st.integers(0, 1),
)  # fmt: skip


def level(value: int | None) -> dict[str, int]:
    return {} if value is None else {"level": value}


class World:
    """What was drawn, written to types of its own."""

    def __init__(self, client: Client, one: Drawn) -> None:
        number = next(_numbers)
        self.client, self.one, self.doc, self.user = client, one, f"doc-{number}", f"user-{number}"
        client.define({self.doc: RELATIONS, self.user: {}})
        metas = [*zip([self.doc] * 3, IDS, one.docs, strict=True), *zip([self.user] * 3, IDS, one.users, strict=True)]
        bodies = [{"objectType": kind, "objectId": object_id, "meta": level(value)} for kind, object_id, value in metas]
        client.post("/v2/objects", json=bodies).raise_for_status()
        client.grant(
            *[
                f"{self.doc}:{doc}#{relation}@{self.user}:{user}{f'[{policy}]' if policy else ''}"
                for doc, relation, user, policy in one.warrants
            ]
        )
        self.metas = {(kind, object_id): level(value) for kind, object_id, value in metas}
        self.allowed = self._check_all()

    def body(self, user: str = "a", relation: str = "viewer", doc: str = "a") -> dict[str, Any]:
        subject, resource, action = map(level, self.one.given)
        return {
            "subject": {"type": self.user, "id": user, "properties": subject},
            "action": {"name": relation, "properties": action},
            "resource": {"type": self.doc, "id": doc, "properties": resource},
            "context": {"x": self.one.x},
        }

    def search(self, what: str, body: dict[str, Any]) -> list[str]:
        answer = self.client.post(f"/access/v1/search/{what}", json=body)
        return [one.get("id", one.get("name")) for one in answer.json()["results"]]

    def evaluate_all(self) -> dict[tuple[str, str, str], bool]:
        asked = [*product(IDS, RELATIONS, IDS)]
        body = {"evaluations": [self.body(*one) for one in asked]}
        answers = self.client.post("/access/v1/evaluations", json=body).json()["evaluations"]
        return {one: answer["decision"] for one, answer in zip(asked, answers, strict=True)}

    def _check_all(self) -> dict[tuple[str, str, str], bool]:
        """By checks whose contexts have the properties over the meta."""
        asked = [*product(IDS, RELATIONS, IDS)]
        subject, resource, action = map(level, self.one.given)
        bodies = [
            {
                "objectType": self.doc, "objectId": doc, "relation": relation,
                "subject": {"objectType": self.user, "objectId": user},
                "context": {
                    "x": self.one.x,
                    "subject": self.metas[self.user, user] | subject,
                    "resource": self.metas[self.doc, doc] | resource,
                    "action": action,
                },
            }
            for user, relation, doc in asked
        ]  # fmt: skip
        answers = self.client.post("/v2/check", json={"op": "batch", "warrants": bodies}).json()
        return {one: answer["code"] == 200 for one, answer in zip(asked, answers, strict=True)}


@pytest.mark.parametrize("shared_client", STORES, indirect=True)
def test_evaluations_and_searches_agree_with_checks(shared_client: Client) -> None:
    @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
    @given(drawn)
    def agree(one: Drawn) -> None:
        world = World(shared_client, one)
        allowed = {asked for asked, decision in world.allowed.items() if decision}

        assert world.evaluate_all() == world.allowed
        for user, doc in product(IDS, IDS):
            actions = [relation for relation in sorted(RELATIONS) if (user, relation, doc) in allowed]
            # An action that is searched for has no properties.
            if one.given[2] is None:
                assert world.search("action", world.body(user, doc=doc)) == actions
        for relation, object_id in product(RELATIONS, IDS):
            docs = [doc for doc in IDS if (object_id, relation, doc) in allowed]
            users = [user for user in IDS if (user, relation, object_id) in allowed]
            assert world.search("resource", world.body(object_id, relation)) == docs
            assert world.search("subject", world.body(relation=relation, doc=object_id)) == users

    agree()


@pytest.mark.parametrize("shared_client", STORES, indirect=True)
def test_searches_agree_with_queries(shared_client: Client) -> None:
    """Without properties: a query has one context for all rows."""

    @settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
    @given(drawn)
    def agree(one: Drawn) -> None:
        plain = [row for row in one.warrants if "." not in row[3]] or [("a", "viewer", "a", "")]
        world = World(shared_client, one._replace(warrants=plain))
        for relation, object_id in product(RELATIONS, IDS):
            queries = {
                "resource": (
                    f"select {world.doc} where {world.user}:{object_id} is {relation}",
                    world.body(object_id, relation),
                ),
                "subject": (
                    f"select {relation} of type {world.user} for {world.doc}:{object_id}",
                    world.body(relation=relation, doc=object_id),
                ),
            }
            for what, (query, body) in queries.items():
                answer = shared_client.post("/v2/query", json={"q": query, "context": {"x": one.x}, "limit": 100})
                rows = [row["objectId"] for row in answer.json()["results"] if row["objectId"] != "*"]
                assert world.search(what, body) == rows

    agree()
