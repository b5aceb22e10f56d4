"""Predicts what a check reads after its first read, so that a reader can read it in the same statement.

A check expands plans from the object towards its subject. Which requests a warrant may reach depends on the names in
it, and is known before any warrant is read: a folder's `parent` reaches the requests for the folder above it, and
these reach themselves again. A reader that knows this reads level after level in one statement. What it reads is
what the evaluation requests later, or nothing that the evaluation needs; it never decides anything.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple, Protocol
from weakref import WeakKeyDictionary

import msgspec

from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import Operation, Plan
from magistrate.engine.names import WILDCARD, ObjectId, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.warrants.reader import WarrantsByObject
from magistrate.engine.warrants.warrant import Warrant

MAX_STEPS = 24
"""Limits the steps of an outline: each is looked at for every warrant that is found, and makes the statement longer."""
MAX_BRANCHES = 200
"""Limits the plans on one object, and the patterns of warrants to usersets, that are looked through for one outline."""
MAX_REQUESTS = 100
"""Limits the requests of an outline. A check that may make more makes them level by level: one statement for all of
them would be longer than databases accept."""
MAX_OUTLINES = 1_000
"""Limits the outlines that are kept for one model: callers may name any number of kinds of subjects."""

NOBODY = ObjectId(" ")
"""Stands for the id of the subject; no subject has this one."""


class FollowingRead(NamedTuple):
    """States that the request in place `request` may be needed on the subject of a warrant that a request in one of the
    places `sources` has found: if the subject is of type `type`, that of the request, and has this relation; None
    stands for any, or none."""

    sources: tuple[int, ...]
    type: TypeName
    subject_relation: str | None
    request: int

    def follows(self, warrant: Warrant) -> bool:
        return warrant.subject_type == self.type and self.subject_relation in (None, warrant.subject_relation)


class PlacedRead(NamedTuple):
    """Makes the request in this place of an outline on each of these objects; WILDCARD stands for the warrants on every
    object."""

    place: int
    ids: tuple[ObjectId, ...]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ReadOutline:
    """Holds the requests that the checks of one plan may make for subjects of one kind, and which follow from which.

    Requests for what grants a relation to the subject itself name NOBODY here; `direct` has their places by plan.
    Outlines are compared by identity, which makes them fast keys.
    """

    requests: tuple[WarrantsByObject, ...]
    places: Mapping[WarrantsByObject, int]
    plans: Set[Plan]
    """Has the plans whose requests are among these; none if there would be too many requests."""
    direct: Mapping[Plan, int]
    first: tuple[int, ...]
    """Has the places of the requests that are made on the object of the check itself."""
    wildcards: tuple[int, ...]
    """Has the places of the other requests that need the warrants on every object."""
    steps: tuple[FollowingRead, ...]
    following: tuple[tuple[FollowingRead, ...], ...]
    """Holds the steps that begin at each request."""
    known_plans: int
    """Is the number of plans that were compiled by then: the outline leads only to these."""

    def name_subject(self, subject: Subject) -> "ReadsAhead":
        return ReadsAhead(self, subject)

    def begin_on(self, ids: tuple[ObjectId, ...]) -> Sequence[PlacedRead]:
        """Returns the reads with which the checks on these objects begin."""
        both, requests = (*ids, WILDCARD), self.requests
        reads = [PlacedRead(place, both if requests[place].has_object_wildcard else ids) for place in self.first]
        return reads + [PlacedRead(place, (WILDCARD,)) for place in self.wildcards]

    def complete_first(self, reads: Sequence[PlacedRead]) -> Sequence[PlacedRead]:
        """Returns the reads with those that may be needed on the same objects, if these are the objects of checks."""
        ids = tuple(dict.fromkeys(object_id for read in reads for object_id in read.ids if object_id != WILDCARD))
        return self.begin_on(ids) if ids and all(read.place in self.first for read in reads) else reads


class ReadsAhead:
    """Holds the requests of an outline for one subject, and the place of each."""

    def __init__(self, outline: ReadOutline, subject: Subject) -> None:
        self.outline = outline
        self.subject_id = subject.id
        self._subject = subject

    @cached_property
    def requests(self) -> Sequence[WarrantsByObject]:
        requests = [*self.outline.requests]
        for place in self.outline.direct.values():
            request = requests[place]
            wildcards = request.has_object_wildcard, request.has_subject_wildcard
            requests[place] = WarrantsByObject(request.type, request.relations, self._subject, *wildcards)
        return requests

    @cached_property
    def places(self) -> Mapping[WarrantsByObject, int]:
        return {request: place for place, request in enumerate(self.requests)}

    def find_direct(self, plan: Plan) -> WarrantsByObject | None:
        """Returns the request for what grants the relation of this plan to the subject itself, if it is known."""
        place = self.outline.direct.get(plan)
        return None if place is None else self.requests[place]


class AheadResult(msgspec.Struct, frozen=True):
    """Holds the warrants that reads found and what follows from them, each with the place of the request that found it.

    `newest` and `model_revision` are those of ReadResult."""

    revision: Revision
    newest: Revision
    model_revision: Revision
    warrants: Sequence[tuple[int, Warrant]]


class AheadReader(Protocol):
    def read_ahead(
        self, reads: Sequence[PlacedRead], ahead: ReadsAhead, at: Revision | None, most: int
    ) -> Awaitable[AheadResult]:
        """Executes all reads, those that follow from what they find, and so on, at one revision, in one round trip.

        The reads are of the requests of `ahead`, perhaps none. A request is made on an object once, by whatever rules
        it follows. When there are `most` rows, some may be missing, in any place. Raises what `read_warrants` of
        WarrantReader raises.
        """
        ...


_OUTLINES: WeakKeyDictionary[Model, OrderedDict[tuple[object, ...], ReadOutline]] = WeakKeyDictionary()


def outline_reads(model: Model, plan: Plan, subject: Subject) -> ReadOutline:
    """Returns the outline of the checks of a plan. It is kept until other plans have been compiled."""
    outlines = _OUTLINES.get(model)
    if outlines is None:
        outlines = _OUTLINES[model] = OrderedDict()
    key = (plan, subject.type, subject.relation, subject.id == WILDCARD)
    outline = outlines.get(key)
    if outline is None or outline.known_plans != len(model.plans):
        outline = outlines[key] = _Outlining(model, subject).outline(plan)
        if len(outlines) > MAX_OUTLINES:
            outlines.popitem(last=False)
    outlines.move_to_end(key)
    return outline


class _Outlining:
    """Finds the requests of the plans that a plan reaches, the nearest first, as far as they are compiled; none if
    there are too many."""

    def __init__(self, model: Model, subject: Subject) -> None:
        self._model = model
        self._nobody = subject if subject.id == WILDCARD else Subject(subject.type, NOBODY, subject.relation)
        self._places: dict[WarrantsByObject, int] = {}
        self._direct: dict[Plan, int | None] = {}
        self._sources: dict[tuple[TypeName, str | None, int], dict[int, None]] = defaultdict(dict)

    def outline(self, plan: Plan) -> ReadOutline:
        first = self._place_requests(self._plans_on_object(plan))
        plans, seen = [plan], {plan}
        for plan_on_object in plans:  # grows during the loop
            steps_found = [*self._find_targets(self._plans_on_object(plan_on_object))]
            targets = dict.fromkeys(target for _, _, target in steps_found)
            plans += (target for target in targets if target not in seen)
            seen.update(targets)
            if not self._add_steps(steps_found):
                break
        if len(self._places) > MAX_REQUESTS:
            return ReadOutline(
                (),
                {},
                frozenset(),
                {},
                first=(),
                wildcards=(),
                steps=(),
                following=(),
                known_plans=len(self._model.plans),
            )
        steps = tuple(FollowingRead((*sources,), *names) for names, sources in self._sources.items())
        following = tuple(tuple(step for step in steps if place in step.sources) for place in range(len(self._places)))
        direct = {read_plan: place for read_plan, place in self._direct.items() if place is not None}
        requests = (*self._places,)
        wildcards = [
            place for place, request in enumerate(requests) if request.has_object_wildcard and place not in first
        ]
        return ReadOutline(
            requests,
            self._places,
            frozenset(self._direct),
            direct,
            first=(*first,),
            wildcards=(*wildcards,),
            steps=steps,
            following=following,
            known_plans=len(self._model.plans),
        )

    def _add_steps(self, steps: Iterable[tuple[int, str | None, Plan]]) -> bool:
        """Returns whether there is capacity for more."""
        for source, subject_relation, target in steps:
            for place in self._place_requests(self._plans_on_object(target)):
                self._sources[target.type, subject_relation, place][source] = None
            if len(self._sources) >= MAX_STEPS:
                return False
        return True

    def _plans_on_object(self, plan: Plan) -> list[Plan | Operation]:
        """Returns the plan with its branches, as far as these are compiled."""
        plans: list[Plan | Operation] = [plan]
        seen: set[Plan | Operation] = {plan}
        for owner in plans:  # grows during the loop
            for branch in islice(owner.branches, MAX_BRANCHES):
                target = self._model.plans.get((owner.type, branch)) if isinstance(branch, str) else branch
                if target is not None and target not in seen and len(plans) < MAX_BRANCHES:
                    seen.add(target)
                    plans.append(target)
        return plans

    def _place_requests(self, plans: Iterable[Plan | Operation]) -> list[int]:
        """Returns the places of the requests that these plans make on an object."""
        requests: dict[WarrantsByObject, None] = {}
        for plan in plans:
            if isinstance(plan, Operation):
                requests |= dict.fromkeys(request for link in plan.links for request in link.requests)
                continue
            if plan not in self._direct:
                direct = self._model.request(plan.type, plan.relations, self._nobody)
                self._direct[plan] = None if direct is None else self._places.setdefault(direct, len(self._places))
            requests |= dict.fromkeys(plan.requests)
        places = [self._places.setdefault(request, len(self._places)) for request in requests]
        to_subject = [self._direct[plan] for plan in plans if isinstance(plan, Plan)]
        return places + [place for place in to_subject if place is not None]

    def _find_targets(self, plans: Iterable[Plan | Operation]) -> Iterator[tuple[int, str | None, Plan]]:
        """Yields to which plans the warrants that these find lead: the place of the request, the relation of the
        subjects, and the plan."""
        for plan in plans:
            for link in plan.links:
                target = self._model.plans.get((link.of_type, link.relation))
                if target is not None:
                    for request in link.requests:
                        yield self._places[request], None, target
            if isinstance(plan, Plan) and plan.usersets.requests:
                patterns = self._model.patterns_on(plan.type, plan.usersets.relations)
                groups = (
                    (pattern.subject_type, pattern.subject_relation) for pattern in patterns if pattern.subject_relation
                )
                for names in dict.fromkeys(islice(groups, MAX_BRANCHES)):
                    target = self._model.plans.get(names)
                    if target is not None:
                        yield self._places[plan.usersets.requests[0]], names[1], target
