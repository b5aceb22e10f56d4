"""Negation loops are found and reported: compared with a search that tries every walk."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.model.object_types import ObjectType, read_object_type
from magistrate.engine.model.stratification import RelationEdge, find_negation_loop, render_loop
from magistrate.engine.names import TypeName
from magistrate.engine.rules import RULE_OPERATORS, dependencies
from magistrate.engine.rules.rule import RuleDefinition

TYPES = ("a", "b", "c")
RELATIONS = ("p", "q")

relations = st.sampled_from(RELATIONS)
leaves = st.one_of(
    st.builds(RuleDefinition, inherit_if=relations),
    st.builds(RuleDefinition, inherit_if=relations, of_type=st.sampled_from(TYPES), with_relation=st.just("link")),
)
forms = st.recursive(
    leaves,
    lambda inner: st.builds(
        RuleDefinition,
        inherit_if=st.sampled_from([*RULE_OPERATORS]),
        rules=st.lists(inner, min_size=1, max_size=2),
    ),
    max_leaves=4,
)
models = st.fixed_dictionaries({name: st.dictionaries(relations, forms) for name in TYPES})

Steps = dict[tuple[str, str], list[tuple[tuple[str, str], bool]]]


def steps_of(model: dict[TypeName, ObjectType]) -> Steps:
    """Every (type, relation) with what its rule looks at, and whether below a noneOf."""
    return {
        (name, relation): [((d.type or name, d.relation), d.negated) for d in dependencies(rule)]
        for name, object_type in model.items()
        for relation, rule in object_type.relations.items()
    }


def reaches(steps: Steps, start: tuple[str, str], end: tuple[str, str]) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        for target, _ in steps.get(waiting.pop(), []):
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return end in seen


def is_loop(loop: tuple[RelationEdge, ...], steps: Steps) -> bool:
    joined = all(one.target == following.source for one, following in itertools.pairwise((*loop, loop[0])))
    real = all(
        ((edge.target.type, edge.target.relation), edge.negated) in steps[edge.source.type, edge.source.relation]
        for edge in loop
    )
    return joined and real and loop[0].negated


@given(models)
def test_a_loop_is_found_exactly_when_there_is_one(written: dict[str, dict[str, RuleDefinition | None]]) -> None:
    model = {TypeName(name): read_object_type(name, None, forms) for name, forms in written.items()}
    steps = steps_of(model)

    loop = find_negation_loop(model.get, model)

    expected = any(
        negated and reaches(steps, target, source) for source, targets in steps.items() for target, negated in targets
    )
    assert (loop is not None) == expected
    if loop is not None:
        assert is_loop(loop, steps)
        assert render_loop(loop).count("not ") >= 1


@given(models, st.sampled_from(TYPES))
def test_to_look_from_the_changed_type_is_enough(
    written: dict[str, dict[str, RuleDefinition | None]], changed: str
) -> None:
    model = {TypeName(name): read_object_type(name, None, forms) for name, forms in written.items()}
    before = {name: object_type for name, object_type in model.items() if name != changed}
    if find_negation_loop(before.get, before) is not None:
        return  # such a model cannot have been stored

    assert (find_negation_loop(model.get, [TypeName(changed)]) is None) == (
        find_negation_loop(model.get, model) is None
    )


def test_a_long_chain_needs_no_recursion() -> None:
    chain = {f"r{n}": RuleDefinition(inherit_if=f"r{n + 1}") for n in range(5_000)}
    last = {"r5000": RuleDefinition(inherit_if="noneOf", rules=[RuleDefinition(inherit_if="r0")])}
    long = read_object_type("t", None, {**chain, **last})

    loop = find_negation_loop({long.name: long}.get, [long.name])

    assert loop is not None
    assert len(loop) == 5_001
