"""Completes the suggestions of an explanation (docs/explain.md#what-would-allow-it): finds new links between existing
objects where nothing else would allow the check, and counts what each suggestion would change for others, so that those
that do no harm come first.

The effects are the difference between the state that was explained and that after the suggestion, over all relations of
all types, without the access of the checked subject (docs/difference.md)."""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from magistrate.engine.evaluation.check import Check
from magistrate.engine.explanation.changes import Effects, Suggestion, order_by_harm
from magistrate.engine.explanation.explanation import WORK_FOR_SUGGESTIONS, Explanation
from magistrate.engine.explanation.repairs import FollowedLinks
from magistrate.engine.explanation.suggestions import LinkSearch
from magistrate.engine.names import WILDCARD, ObjectId, TypeName
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.overlay import NO_CHANGES, Overlay, warrant_key
from magistrate.engine.warrants.reader import WarrantReader
from magistrate.engine.warrants.warrant import WarrantNames
from magistrate.engine.work import Work
from magistrate.operations.difference.filters import Narrowing
from magistrate.operations.difference.pages import count_rows
from magistrate.operations.difference.proposal import Proposal, compare_writes
from magistrate.operations.difference.states import ComparedState, ExistingNames
from magistrate.operations.runs import complete_checkpoints, complete_run
from magistrate.store.contract.new_rows import build_new_warrant

MAX_ROWS = 1_000
"""Limits the rows that are counted for each suggestion."""
WORK_FOR_EFFECTS = 50_000
"""Limits the work for all suggestions of one explanation, to some tenths of a second."""
MAX_TYPES = 30
"""Limits the types whose objects are read."""
FIRST_OBJECTS = 10
"""Limits the objects that are read of each type."""

ShareWork = Callable[[int], AbstractContextManager[Work]]
"""Gives a part of the work, at most so much."""


class SuggestionCompletion:
    """Completes the explanation of a check in one state. `reader` reads also the warrants that have expired."""

    def __init__(
        self,
        store: ExistingNames,
        reader: WarrantReader,
        state: ComparedState,
        check: Check,
        contextual: Overlay = NO_CHANGES,
    ) -> None:
        subject = check.subject
        self._store = store
        self._reader = reader
        self._state = state
        self._check = check
        self._contextual = contextual
        self._besides = None if subject.relation else ObjectRef(subject.type, subject.id)
        self._links = FollowedLinks(state.model)

    async def complete(self, explanation: Explanation, share: ShareWork) -> Explanation:
        """Returns the explanation with all its suggestions and their effects, in the order in which they are shown."""
        with share(WORK_FOR_SUGGESTIONS) as work:
            explanation = await self._suggest_links(explanation, work)
        with share(WORK_FOR_EFFECTS) as work:
            return await self._count_effects(explanation, work)

    async def _suggest_links(self, explanation: Explanation, work: Work) -> Explanation:
        """Returns the explanation, with suggestions that create links if it is that of a denial without any."""
        if explanation.is_allowed or explanation.suggestions:
            return explanation
        state, check, links = self._state, self._check, self._links
        types = await complete_checkpoints(links.prepare_linked(check.object.type, work), work)
        if not types or not await self._find_existing([check.object]):
            return explanation
        existing = {of_type: await self._list_first(of_type) for of_type in sorted(types)[:MAX_TYPES]}
        search = LinkSearch(
            state.model, check, state.now, work, contextual=self._contextual, links=links, existing=existing
        )
        suggestions = await self._keep_existing(await complete_run(self._reader, search, state.at))
        return replace(explanation, suggestions=suggestions, is_complete=explanation.is_complete and search.is_complete)

    async def _list_first(self, of_type: TypeName) -> Sequence[ObjectId]:
        names = (await self._store.list_names(of_type, None, FIRST_OBJECTS, self._state.at)).value
        return [object_id for _, object_id in names]

    async def _find_existing(self, refs: Iterable[ObjectRef]) -> Collection[ObjectRef]:
        distinct = [*dict.fromkeys(refs)]
        stored = (await self._store.find_objects(distinct, self._state.at)).value if distinct else ()
        return {ObjectRef(existing.type, existing.id) for existing in stored}

    async def _keep_existing(self, suggestions: Sequence[Suggestion]) -> Sequence[Suggestion]:
        """Returns the suggestions all of whose new links are between objects that exist."""
        ends = [
            {end for names, _ in suggestion.create if self._links.follows(names) for end in _list_ends(names)}
            for suggestion in suggestions
        ]
        existing = await self._find_existing(end for some in ends for end in some)
        return [suggestion for suggestion, some in zip(suggestions, ends, strict=True) if some <= {*existing}]

    async def _count_effects(self, explanation: Explanation, work: Work) -> Explanation:
        """Returns the explanation with the effects of its suggestions counted, and these in the order in which they are
        shown. Each suggestion that may matter to others gets an equal part of the work that is left."""
        suggestions = [replace(suggestion, effects=Effects(is_complete=True)) for suggestion in explanation.suggestions]
        to_count = await self._find_mattering(suggestions, work)
        for number, place in enumerate(to_count):
            share = work.split(work.left // (len(to_count) - number))
            effects = await self._count(suggestions[place], share)
            work.spend(min(share.cost, work.left))
            suggestions[place] = replace(suggestions[place], effects=effects)
        return replace(explanation, suggestions=order_by_harm(suggestions))

    async def _find_mattering(self, suggestions: Sequence[Suggestion], work: Work) -> list[int]:
        """Returns the places of those by which others than the subject may gain or lose anything: only these take work
        to count."""
        created = [names for suggestion in suggestions for names, _ in suggestion.create]
        deleted = [warrant.names for suggestion in suggestions for warrant in suggestion.delete]
        for of_type in dict.fromkeys(names.object_type for names in (*created, *deleted)):
            await complete_checkpoints(self._links.prepare(of_type, work), work)
        existing = await self._find_existing(ref for names in created for ref in _list_refs(names))

        def may_matter(suggestion: Suggestion) -> bool:
            created = [names for names, _ in suggestion.create]
            changed = (*created, *(warrant.names for warrant in suggestion.delete))
            are_new = any(ref not in existing for names in created for ref in _list_refs(names))
            return are_new or any(map(self._concerns_others, changed))

        return [place for place, suggestion in enumerate(suggestions) if may_matter(suggestion)]

    async def _count(self, suggestion: Suggestion, work: Work) -> Effects:
        proposal = Proposal(
            [build_new_warrant(*key) for key in suggestion.create],
            [build_new_warrant(*warrant_key(warrant)) for warrant in suggestion.delete],
        )
        comparison = await compare_writes(self._store, self._state, self._state.model, proposal)
        narrowing = Narrowing(besides=self._besides)
        count = await count_rows(self._store, comparison, narrowing, MAX_ROWS, work=work)
        return Effects(count.gained, count.lost, count.is_complete)

    def _concerns_others(self, names: WarrantNames) -> bool:
        """Returns whether a warrant can matter to others than the subject: it is not to the subject itself, or rules
        follow it."""
        is_own = not names.subject_relation and ObjectRef(names.subject_type, names.subject_id) == self._besides
        return not is_own or names.subject_id == WILDCARD or self._links.follows(names)


def _list_ends(names: WarrantNames) -> Sequence[ObjectRef]:
    return ObjectRef(names.object_type, names.object_id), ObjectRef(names.subject_type, names.subject_id)


def _list_refs(names: WarrantNames) -> list[ObjectRef]:
    """Returns the objects that a warrant names, and that writing it creates."""
    return [ref for ref in _list_ends(names) if ref.id != WILDCARD]
