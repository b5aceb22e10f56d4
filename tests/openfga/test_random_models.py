"""Random models and tuples mean through OpenFGA's API what they mean there, by the newest model and by an older one."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.importers.generating import DrawnModel, models, relationships
from tests.openfga.conditions import BELOW
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


def check_all(openfga: OpenFga, reference: Reference, model_id: str, **context: Any) -> None:
    named = [*product(OBJECTS, RELATIONS, USERS)]
    for start in range(0, len(named), 50):
        part = named[start : start + 50]
        checks = [
            {
                "tuple_key": {"object": name, "relation": relation, "user": user},
                "correlation_id": str(number),
                "context": context,
            }
            for number, (name, relation, user) in enumerate(part)
        ]
        answer = openfga.post("batch-check", {"checks": checks, "authorization_model_id": model_id})
        assert answer.status_code == 200, answer.text
        result = answer.json()["result"]
        for number, key in enumerate(part):
            assert result[str(number)] == {"allowed": reference.check(*key)}, key


def list_all(openfga: OpenFga, reference: Reference, model_id: str, **context: Any) -> None:
    common = {"authorization_model_id": model_id, "context": context}
    for relation, user in product(RELATIONS, USERS):
        for of_type in ("doc", "folder"):
            body_of_objects = {"type": of_type, "relation": relation, "user": user, **common}
            listed = openfga.post("list-objects", body_of_objects).json()["objects"]
            objects = [name for name in OBJECTS if name.startswith(of_type)]
            assert listed == [name for name in objects if reference.check(name, relation, user)], (relation, user)
    for name, relation in product(OBJECTS, RELATIONS):
        of_type, _, object_id = name.partition(":")
        body: dict[str, Any] = {
            "object": {"type": of_type, "id": object_id},
            "relation": relation,
            **common,
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


LEVEL, LIMITS = 3, (2, 5)
"""Is the level in each request, and the limits that tuples have: the first does not hold, the second does."""
Listed = Mapping[tuple[str, str, str], Sequence[str]]
"""Maps type, relation and form of user to the conditions that a model lists, `""` for none."""


class ConditionalModel(NamedTuple):
    """A model, and the conditions that it lists for each form of user; all of them are defined."""

    drawn: DrawnModel
    listed: Listed

    def json(self) -> Any:
        body = self.drawn.json()
        for definition in body["type_definitions"][1:]:
            for relation, described in definition["metadata"]["relations"].items():
                forms = [
                    restriction | ({"condition": condition} if condition else {})
                    for restriction in described["directly_related_user_types"]
                    for condition in self.listed.get((definition["type"], relation, write_form(restriction)), [""])
                ]
                described["directly_related_user_types"] = forms
        return body | {"conditions": BELOW | {"under": {**BELOW["below"], "name": "under"}}}

    def lists(self, key: Mapping[str, Any]) -> Sequence[str]:
        """The conditions with which a tuple may be written."""
        user = key["user"]
        form = f"{user.partition(':')[0]}#{user.partition('#')[2]}" if "#" in user else user
        form = form if form.endswith(":*") or "#" in form else form.partition(":")[0]
        return self.listed.get((key["object"].partition(":")[0], key["relation"], form), [""])


def write_form(restriction: Mapping[str, Any]) -> str:
    of_type: str = restriction["type"]
    if "wildcard" in restriction:
        return f"{of_type}:*"
    return f"{of_type}#{restriction['relation']}" if "relation" in restriction else of_type


@st.composite
def conditional_models(draw: st.DrawFn) -> ConditionalModel:
    drawn = draw(models())
    conditions = st.lists(st.sampled_from(["", "below", "under"]), min_size=1, max_size=2, unique=True)
    listed = {
        (name, relation, form): draw(conditions)
        for name, relations in drawn.types.items()
        for relation, (allowed, _) in relations.items()
        for form in allowed
        if relation != "parent"
    }
    return ConditionalModel(drawn, listed)


@st.composite
def conditional_stores(draw: st.DrawFn) -> tuple[ConditionalModel, ConditionalModel, list[dict[str, Any]]]:
    """Two versions of a model, and tuples of the first with conditions."""
    first, second = draw(conditional_models()), draw(conditional_models())
    tuples: list[dict[str, Any]] = []
    for key in draw(relationships(first.drawn)):
        condition = draw(st.sampled_from(first.lists(key)))
        limit = draw(st.sampled_from(LIMITS))
        described = {"condition": {"name": condition, "context": {"limit": limit}}} if condition else {}
        tuples.append({**key, **described})
    return first, second, tuples


def holds(key: Mapping[str, Any], version: ConditionalModel, is_newest: bool) -> bool:
    """Whether a tuple counts. By the newest version, one does whose condition that does not list
    (docs/openfga.md#conditions)."""
    condition = key.get("condition")
    if condition is not None and condition["context"]["limit"] <= LEVEL:
        return False
    return (condition["name"] if condition else "") in version.lists(key) or (is_newest and condition is not None)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=conditional_stores())
def test_answers_with_conditions_are_those_of_openfga(
    shared_client: Client, drawn: tuple[ConditionalModel, ConditionalModel, list[dict[str, Any]]]
) -> None:
    first, second, tuples = drawn
    openfga = OpenFga.create(shared_client)
    versions = {openfga.write_model(first.json()): first}
    if tuples:
        written = openfga.post("write", {"writes": {"tuple_keys": tuples}})
        assert written.status_code == 200, written.text
    answer = openfga.post("authorization-models", second.json())
    if answer.status_code == 400:  # it demands a condition of a tuple without one
        assert any("condition" not in key and "" not in second.lists(key) for key in tuples), answer.text
        newest = first
    else:
        newest = versions[answer.json()["authorization_model_id"]] = second
    for model_id, version in versions.items():
        counting = [key for key in tuples if holds(key, version, version is newest)]
        reference = Reference(version.drawn, counting)
        check_all(openfga, reference, model_id, level=LEVEL)
        list_all(openfga, reference, model_id, level=LEVEL)
