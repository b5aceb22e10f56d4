"""Finds new links between existing objects where nothing else would allow a denied check
(docs/explain.md#what-would-allow-it)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from magistrate.engine.evaluation.check import Check
from magistrate.engine.explanation.changes import Suggestion
from magistrate.engine.explanation.explanation import Explanation
from magistrate.engine.explanation.repairs import FollowedLinks
from magistrate.engine.explanation.suggestions import LinkSearch
from magistrate.engine.names import ObjectId, TypeName
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.overlay import Overlay
from magistrate.engine.warrants.reader import WarrantReader
from magistrate.engine.work import Work
from magistrate.operations.difference.states import ComparedState, ExistingNames
from magistrate.operations.runs import complete_checkpoints, complete_run

MAX_TYPES = 30
"""Limits the types whose objects are read."""
FIRST_OBJECTS = 10
"""Limits the objects that are read of each type."""


async def suggest_links(
    store: ExistingNames,
    reader: WarrantReader,
    state: ComparedState,
    check: Check,
    explanation: Explanation,
    contextual: Overlay,
    work: Work,
) -> Explanation:
    """Returns the explanation, with suggestions that create links if it is that of a denial without any."""
    if explanation.is_allowed or explanation.suggestions:
        return explanation
    links = FollowedLinks(state.model)
    types = await complete_checkpoints(links.prepare_linked(check.object.type, work), work)
    if not types or not await _find_existing(store, [check.object], state):
        return explanation
    existing = {of_type: await _list_first(store, of_type, state) for of_type in sorted(types)[:MAX_TYPES]}
    search = LinkSearch(state.model, check, state.now, work, contextual, links, existing)
    added = await complete_run(reader, search, state.at)
    suggestions = await _keep_existing(store, added, links, state)
    return replace(explanation, suggestions=suggestions, is_complete=explanation.is_complete and search.is_complete)


async def _list_first(store: ExistingNames, of_type: TypeName, state: ComparedState) -> Sequence[ObjectId]:
    names = (await store.list_names(of_type, None, FIRST_OBJECTS, state.at)).value
    return [object_id for _, object_id in names]


async def _find_existing(
    store: ExistingNames, refs: Collection[ObjectRef], state: ComparedState
) -> Collection[ObjectRef]:
    stored = (await store.find_objects([*refs], state.at)).value if refs else ()
    return {ObjectRef(existing.type, existing.id) for existing in stored}


async def _keep_existing(
    store: ExistingNames, suggestions: Sequence[Suggestion], links: FollowedLinks, state: ComparedState
) -> Sequence[Suggestion]:
    """Returns the suggestions all of whose new links are between objects that exist."""
    ends: Mapping[int, set[ObjectRef]] = {
        place: {
            end
            for names, _ in suggestion.create
            if links.follows(names)
            for end in (ObjectRef(names.object_type, names.object_id), ObjectRef(names.subject_type, names.subject_id))
        }
        for place, suggestion in enumerate(suggestions)
    }
    existing = await _find_existing(store, {end for some in ends.values() for end in some}, state)
    return [suggestion for place, suggestion in enumerate(suggestions) if ends[place] <= {*existing}]
