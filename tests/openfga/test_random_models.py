"""Random models and tuples mean through OpenFGA's API what they mean there, by the newest model and by an older one."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.importers.generating import DrawnModel, models, relationships
from tests.openfga.conversation import OpenFga
from tests.openfga_evaluator import OpenFgaEvaluator
from tests.running import Client

USERS = ("user:a", "user:b", "user:c", "user:*", "team:1#member", "team:2#member", "folder:1#r1", "doc:1#r1")
OBJECTS = ("doc:1", "folder:1", "folder:2")
RELATIONS = ("r0", "r1", "r2", "r3")
Rewrite = Mapping[str, Any]


class Reference(OpenFgaEvaluator):
    """Knows besides that a userset is in itself, and which users are named."""

    def __init__(self, drawn: DrawnModel, tuples: Sequence[Mapping[str, str]]) -> None:
        super().__init__(drawn.json())
        for one in tuples:
            with suppress(AssertionError, KeyError):  # one that this version does not allow counts for nothing
                self.write(one)

    def check(self, object_name: str, relation: str, user: str) -> bool:
        return user == f"{object_name}#{relation}" or super().check(object_name, relation, user)

    def is_named(self, object_name: str, relation: str, user: str) -> bool:
        rewrite = self._types[object_name.partition(":")[0]]["relations"][relation]
        return self._is_named(rewrite, object_name, relation, user)

    def _is_named(self, rewrite: Rewrite, object_name: str, relation: str, user: str) -> bool:
        [(kind, rule)] = rewrite.items()
        if kind == "this":
            return any(
                found == user or ("#" in found and self.is_named(found.split("#")[0], found.split("#")[1], user))
                for found in self._users.get((object_name, relation), [])
            )
        if kind == "computedUserset":
            return self.is_named(object_name, rule["relation"], user)
        if kind == "tupleToUserset":
            linked = self._users.get((object_name, rule["tupleset"]["relation"]), [])
            return any(self.is_named(found, rule["computedUserset"]["relation"], user) for found in linked)
        names = object_name, relation, user
        if kind == "difference":
            return self._is_named(rule["base"], *names) and not self._holds(rule["subtract"], *names)
        if kind == "union":
            return any(self._holds(dict(child), *names) and self._is_named(child, *names) for child in rule["child"])
        holds = all(self._holds(dict(child), *names) for child in rule["child"])
        return holds and any(self._is_named(child, *names) for child in rule["child"])


@st.composite
def stores(draw: st.DrawFn) -> tuple[DrawnModel, DrawnModel, list[Mapping[str, str]]]:
    """Two versions of a model, and tuples of the first."""
    first, second = draw(models()), draw(models())
    return first, second, draw(relationships(first))


def check_all(openfga: OpenFga, reference: Reference, model_id: str) -> None:
    named = [*product(OBJECTS, RELATIONS, USERS)]
    for start in range(0, len(named), 50):
        part = named[start : start + 50]
        checks = [
            {"tuple_key": {"object": name, "relation": relation, "user": user}, "correlation_id": str(number)}
            for number, (name, relation, user) in enumerate(part)
        ]
        answer = openfga.post("batch-check", {"checks": checks, "authorization_model_id": model_id})
        assert answer.status_code == 200, answer.text
        result = answer.json()["result"]
        for number, key in enumerate(part):
            assert result[str(number)] == {"allowed": reference.check(*key)}, key


def list_all(openfga: OpenFga, reference: Reference, model_id: str) -> None:
    for relation, user in product(RELATIONS, USERS):
        for of_type in ("doc", "folder"):
            body_of_objects = {"type": of_type, "relation": relation, "user": user, "authorization_model_id": model_id}
            listed = openfga.post("list-objects", body_of_objects).json()["objects"]
            objects = [name for name in OBJECTS if name.startswith(of_type)]
            assert listed == [name for name in objects if reference.check(name, relation, user)], (relation, user)
    for name, relation in product(OBJECTS, RELATIONS):
        of_type, _, object_id = name.partition(":")
        body: dict[str, Any] = {
            "object": {"type": of_type, "id": object_id},
            "relation": relation,
            "authorization_model_id": model_id,
        }
        answer = openfga.post("list-users", body | {"user_filters": [{"type": "user"}]}).json()["users"]
        users = {f"user:{one['object']['id']}" if "object" in one else "user:*" for one in answer}
        expected = {user for user in USERS[:3] if reference.check(name, relation, user)}
        expected = {user for user in expected if reference.is_named(name, relation, user)}
        expected |= {"user:*"} if reference.check(name, relation, "user:*") else set()
        assert users == expected, (name, relation)
        answer = openfga.post("list-users", body | {"user_filters": [{"type": "team", "relation": "member"}]})
        usersets = {f"team:{one['userset']['id']}#member" for one in answer.json()["users"]}
        teams = ("team:1#member", "team:2#member")
        assert usersets == {team for team in teams if reference.check(name, relation, team)}, (name, relation)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=stores())
def test_answers_are_those_of_openfga(
    shared_client: Client, drawn: tuple[DrawnModel, DrawnModel, list[Mapping[str, str]]]
) -> None:
    first, second, tuples = drawn
    openfga = OpenFga.create(shared_client)
    versions = {openfga.write_model(first.json()): first}
    if tuples:
        written = openfga.post("write", {"writes": {"tuple_keys": tuples}})
        assert written.status_code == 200, written.text
    versions[openfga.write_model(second.json())] = second
    for model_id, version in versions.items():
        reference = Reference(version, tuples)
        check_all(openfga, reference, model_id)
        list_all(openfga, reference, model_id)
