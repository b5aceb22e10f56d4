"""Stores with equal models share what is compiled of them, which changes no answer, in whatever order they are used."""

import asyncio
import json

from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.evaluation.check import Check
from magistrate.engine.model.model import Model
from magistrate.engine.names import Revision, TypeName
from magistrate.engine.warrants.warrant import Warrant
from magistrate.operations.models.compiled_models import MAX_SHARED_PATTERNS, CompiledModels, ParsedDefinitions
from magistrate.store.contract.stored_rows import StoredModel
from tests.memory_source import evaluated, found_paths, model_of
from tests.properties.models import Types, model, oracle_path, oracle_value, question, values, warrants


def stored_model(drawn: Types, stored: list[Warrant], revision: int) -> StoredModel:
    definitions = {TypeName(name): json.dumps({"type": name, "relations": drawn[name]}) for name in drawn}
    return StoredModel(Revision(revision), definitions, frozenset(warrant.pattern() for warrant in stored), {})


def compiled(
    shared: CompiledModels, read: StoredModel, former: ParsedDefinitions | None = None
) -> tuple[Model, ParsedDefinitions]:
    return asyncio.run(shared.compile(read, former))


@given(
    model(),
    st.tuples(warrants(), warrants()),
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 1), question()), min_size=1, max_size=8),
)
def test_stores_that_share_plans_answer_what_the_oracle_answers_for_each(
    drawn: Types, stored: tuple[list[Warrant], list[Warrant]], share_patterns: bool, asked: list[tuple[int, Check]]
) -> None:
    shared = CompiledModels()
    ever = [[*stored[0], *stored[1]]] * 2 if share_patterns else stored
    kept = [compiled(shared, stored_model(drawn, ever[place], 5 + place)) for place in (0, 1)]
    models = [each for each, _ in kept]
    assert (models[0].plans is models[1].plans) == (models[0].patterns == models[1].patterns)
    assert models[0].types is models[1].types

    for place, check in asked:
        [node], _ = evaluated(models[place], stored[place], [check])
        assert values([node]) == [oracle_value(drawn, stored[place], check)]
        assert found_paths(models[place], stored[place], [check]) == [oracle_path(drawn, stored[place], check)]


@given(model(), model(), warrants())
def test_a_model_that_changes_to_that_of_another_store_is_the_same_as_if_it_were_compiled_anew(
    before: Types, after: Types, stored: list[Warrant]
) -> None:
    shared = CompiledModels()
    _, parsed = compiled(shared, stored_model(before, stored, 5))
    other, _ = compiled(shared, stored_model(after, stored, 7))
    changed, _ = compiled(shared, stored_model(after, stored, 6), parsed)
    anew = model_of(after, stored)

    assert changed.plans is other.plans
    assert (changed.revision, other.revision) == (6, 7)
    assert [*changed.types] == [*after]
    assert changed.types.keys() - anew.types.keys() == set()
    assert changed.orphaned == other.orphaned


def test_what_no_store_uses_is_not_kept() -> None:
    shared = CompiledModels()
    first, _ = compiled(shared, stored_model({"document": {"viewer": {}}}, [], 5))
    plans = first.plans
    del first
    second, _ = compiled(shared, stored_model({"document": {"viewer": {}}}, [], 5))

    assert second.plans is not plans
    assert MAX_SHARED_PATTERNS > 100


def test_an_extended_model_belongs_to_the_revision_of_its_store() -> None:
    shared = CompiledModels()
    read = stored_model({"document": {"viewer": {}}}, [], 5)
    first, _ = compiled(shared, read)
    second, _ = compiled(shared, stored_model({"document": {"viewer": {}}}, [], 6))

    assert second.plans is first.plans
    assert (first.without_rules().revision, second.without_rules().revision) == (5, 6)
    assert (first.with_all_arrows().revision, second.with_all_arrows().revision) == (5, 6)
