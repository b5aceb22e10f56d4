"""Evaluations without properties and context, which are read together, are answered like those that are read one by
one."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from magistrate.api.authzen.requests import (
    ActionBody,
    ContextReader,
    EntityBody,
    SingleEvaluationBody,
    UnknownName,
    read_evaluation,
    read_plain_checks,
)
from magistrate.engine.evaluation.check import Check
from magistrate.errors import MagistrateError
from tests.conftest import STORES
from tests.running import Client

Body = dict[str, Any]

IDS = ("a", "b", "c", "*", ".", "", "two words", "é", "x" * 1_025)
TYPES = ("note", "user", "nothing", "Not A Type", "")
ACTIONS = ("editor", "viewer", "reader", "reed", "anyOf", "two words", "")
SEMANTICS = (None, None, "execute_all", "deny_on_first_deny", "permit_on_first_permit")


def entities(of_type: str) -> st.SearchStrategy[Body]:
    return st.fixed_dictionaries({"type": st.just(of_type), "id": st.sampled_from(IDS[:3])})


any_entity = st.none() | st.fixed_dictionaries(
    {}, optional={"type": st.sampled_from(TYPES), "id": st.sampled_from(IDS), "properties": st.just({})}
)
whole: st.SearchStrategy[Body] = st.fixed_dictionaries(
    {
        "subject": entities("user"),
        "action": st.sampled_from(ACTIONS[:4]).map(lambda name: {"name": name}),
        "resource": entities("note"),
    },
    optional={"context": st.sampled_from([None, {}])},
)
partial = st.tuples(whole, st.sets(st.sampled_from(["subject", "action", "resource"]))).map(
    lambda drawn: {name: value for name, value in drawn[0].items() if name not in drawn[1]}
)
strange: st.SearchStrategy[Body] = st.fixed_dictionaries(
    {}, optional={"subject": any_entity, "action": st.sampled_from(ACTIONS).map(lambda name: {"name": name}),
                  "resource": any_entity},
)  # fmt: skip
requests: st.SearchStrategy[tuple[list[Body], Body, str | None]] = st.one_of(
    st.tuples(st.lists(whole, min_size=1, max_size=5), st.just({}), st.sampled_from(SEMANTICS)),
    st.tuples(st.lists(partial, min_size=1, max_size=5), whole, st.sampled_from(SEMANTICS)),
    st.tuples(st.lists(partial | strange, min_size=1, max_size=3), whole | partial, st.sampled_from(SEMANTICS)),
)
"""Evaluations, their defaults, and the semantic."""

OTHERS: tuple[Any, ...] = (1, {"subject": {"type": "user", "id": "a", "properties": {"x": 1}}})
"""One of the wrong type and one with properties: beside them, evaluations are read one by one."""


@pytest.mark.parametrize("shared_client", STORES, indirect=True)
def test_evaluations_are_answered_alike_beside_any_other(shared_client: Client) -> None:
    notes = shared_client
    notes.define({"note": {"editor": {}, "viewer": {"inheritIf": "editor"}, "reader": {}}, "user": {}})
    for note_id, level in (("a", 1), ("b", 2)):
        body = {"objectType": "user", "objectId": note_id, "meta": {"level": level}}
        notes.post("/v2/objects", json=body).raise_for_status()
    notes.grant("note:a#editor@user:a", "note:b#viewer@user:b", "note:c#reader@user:*")
    notes.grant(*(f"note:{note_id}#reader@user:{note_id}[subject.level == 1]" for note_id in "ab"))
    notes.grant('note:c#editor@user:c["subject" in $env]')

    def evaluate(asked: list[Any], semantic: str | None, defaults: Body) -> list[Body]:
        options = {} if semantic is None else {"options": {"evaluations_semantic": semantic}}
        answer = notes.post("/access/v1/evaluations", json={**defaults, "evaluations": asked, **options})
        assert answer.status_code == 200, answer.text
        found: list[Body] = answer.json()["evaluations"]
        return found

    @settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
    @given(requests)
    def agree(request: tuple[list[Body], Body, str | None]) -> None:
        asked, defaults, semantic = request
        alone = [evaluate(asked, semantic, defaults) for _ in range(2)]
        beside = [evaluate([*asked, other], semantic, defaults)[: len(asked)] for other in OTHERS]

        assert beside == alone
        if semantic is None:
            given = [{name: value for name, value in one.items() if value is not None} for one in asked]
            assert [evaluate([{**defaults, **one}], None, {})[0] for one in given] == alone[0]

    agree()


@pytest.mark.parametrize("text", ["a", "*", ".", "", None, "a b", "A", "anyOf", "é"])
def test_evaluations_are_read_together_only_if_each_is_read_alike_alone(text: str | None) -> None:
    for first, second in product(range(5), repeat=2):
        bodies = [evaluation_with(text, first), evaluation_with(text, second)]

        assert read_plain_checks(bodies) == read_alone(bodies)
        assert read_plain_checks([SingleEvaluationBody()] * 2, bodies[0]) == read_alone([bodies[0]] * 2)


def read_alone(bodies: Sequence[SingleEvaluationBody]) -> Sequence[Check] | None:
    """None if one of them is refused."""
    contexts = ContextReader(1_000)
    try:
        return [read_evaluation(body, contexts) for body in bodies]
    except (MagistrateError, UnknownName):
        return None


def evaluation_with(text: str | None, place: int) -> SingleEvaluationBody:
    """A valid one, but for the text at this place."""
    texts: list[str | None] = ["user", "ann", "viewer", "doc", "1"]
    texts[place] = text
    subject_type, subject_id, action, of_type, object_id = texts
    return SingleEvaluationBody(
        EntityBody(subject_type, subject_id), ActionBody(action), EntityBody(of_type, object_id)
    )


@pytest.mark.parametrize("shared_client", STORES, indirect=True)
def test_a_wildcard_is_refused_although_the_decision_of_its_check_is_cached(shared_client: Client) -> None:
    shared_client.define({"page": {"reader": {}}, "user": {}})
    shared_client.grant("page:a#reader@user:*", "page:*#reader@user:a")
    names = (("page", "a", "user", "*"), ("page", "*", "user", "a"))

    for object_type, object_id, subject_type, subject_id in names:
        subject = {"objectType": subject_type, "objectId": subject_id}
        check = {"objectType": object_type, "objectId": object_id, "relation": "reader", "subject": subject}
        evaluation = {
            "subject": {"type": subject_type, "id": subject_id},
            "action": {"name": "reader"},
            "resource": {"type": object_type, "id": object_id},
        }
        for _ in range(3):
            assert shared_client.post("/v2/check", json={"warrants": [check]}).json()["code"] == 200
            assert shared_client.post("/access/v1/evaluation", json=evaluation).status_code == 400
            [several] = shared_client.post("/access/v1/evaluations", json={"evaluations": [evaluation]}).json().values()
            assert several[0]["context"]["error"]["status"] == 400
