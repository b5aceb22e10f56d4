"""Counts what each suggestion of an explanation would change for others, so that those that do no harm come first
(docs/explain.md#what-would-allow-it).

It is the difference between the state that was explained and that after the suggestion, over all relations of all
types, without the access of the checked subject (docs/difference.md)."""

from collections.abc import Sequence
from dataclasses import replace

from magistrate.engine.evaluation.check import Check
from magistrate.engine.explanation.changes import Effects, Suggestion, order_by_harm
from magistrate.engine.explanation.explanation import Explanation
from magistrate.engine.explanation.repairs import FollowedLinks
from magistrate.engine.names import WILDCARD, WarrantNames
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.overlay import warrant_key
from magistrate.engine.work import Work
from magistrate.operations.difference.filters import Narrowing
from magistrate.operations.difference.pages import count_rows
from magistrate.operations.difference.proposal import Proposal, compare_writes
from magistrate.operations.difference.states import ComparedState, ExistingNames
from magistrate.operations.runs import complete_checkpoints
from magistrate.store.contract.new_rows import build_new_warrant

MAX_ROWS = 1_000
"""Limits the rows that are counted for each suggestion."""
WORK_FOR_EFFECTS = 50_000
"""Limits the work for all suggestions of one explanation, to some tenths of a second."""


async def count_effects(
    store: ExistingNames, state: ComparedState, check: Check, explanation: Explanation, work: Work
) -> Explanation:
    """Returns the explanation with the effects of its suggestions counted, and these in the order in which they are
    shown. Each suggestion that may matter to others gets an equal part of the work that is left."""
    subject = check.subject
    counting = _Counting(store, state, None if subject.relation else ObjectRef(subject.type, subject.id))
    await counting.prepare(explanation.suggestions, work)
    suggestions = [*explanation.suggestions]
    to_count = [place for place, suggestion in enumerate(suggestions) if counting.may_matter(suggestion)]
    suggestions = [replace(suggestion, effects=Effects(is_complete=True)) for suggestion in suggestions]
    for number, place in enumerate(to_count):
        share = work.split(work.left // (len(to_count) - number))
        effects = await counting.count(suggestions[place], share)
        work.spend(min(share.cost, work.left))
        suggestions[place] = replace(suggestions[place], effects=effects)
    return replace(explanation, suggestions=order_by_harm(suggestions))


class _Counting:
    """Counts the effects of suggestions for others than the subject `besides`, None for a userset."""

    def __init__(self, store: ExistingNames, state: ComparedState, besides: ObjectRef | None) -> None:
        self._store = store
        self._state = state
        self._besides = besides
        self._links = FollowedLinks(state.model)
        self._existing: set[ObjectRef] = set()

    async def prepare(self, suggestions: Sequence[Suggestion], work: Work) -> None:
        """Finds out what `may_matter` needs to know of all suggestions."""
        created = [names for suggestion in suggestions for names, _ in suggestion.create]
        deleted = [warrant.names for suggestion in suggestions for warrant in suggestion.delete]
        for of_type in dict.fromkeys(names.object_type for names in (*created, *deleted)):
            await complete_checkpoints(self._links.prepare(of_type, work), work)
        refs = [*dict.fromkeys(ref for names in created for ref in _list_refs(names))]
        if refs:
            stored = (await self._store.find_objects(refs, self._state.at)).value
            self._existing = {ObjectRef(existing.type, existing.id) for existing in stored}

    def may_matter(self, suggestion: Suggestion) -> bool:
        """Returns whether others than the subject may gain or lose anything: only then it takes work to count."""
        created = [names for names, _ in suggestion.create]
        changed = (*created, *(warrant.names for warrant in suggestion.delete))
        are_new = any(ref not in self._existing for names in created for ref in _list_refs(names))
        return are_new or any(map(self._concerns_others, changed))

    async def count(self, suggestion: Suggestion, work: Work) -> Effects:
        proposal = Proposal(
            [build_new_warrant(*key) for key in suggestion.create],
            [build_new_warrant(*warrant_key(warrant)) for warrant in suggestion.delete],
        )
        comparison = await compare_writes(self._store, self._state, self._state.model, proposal)
        narrowing = Narrowing(besides=self._besides)
        count = await count_rows(self._store, comparison, narrowing, MAX_ROWS, work)
        return Effects(count.gained, count.lost, count.is_complete)

    def _concerns_others(self, names: WarrantNames) -> bool:
        """Returns whether a warrant can matter to others than the subject: it is not to the subject itself, or rules
        follow it."""
        is_own = not names.subject_relation and ObjectRef(names.subject_type, names.subject_id) == self._besides
        return not is_own or names.subject_id == WILDCARD or self._links.follows(names)


def _list_refs(names: WarrantNames) -> list[ObjectRef]:
    """Returns the objects that a warrant names, and that writing it creates."""
    ends = (ObjectRef(names.object_type, names.object_id), ObjectRef(names.subject_type, names.subject_id))
    return [ref for ref in ends if ref.id != WILDCARD]
