"""Strategies of histories of a store, and all access there is at each of their revisions."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hypothesis import strategies as st
from msgspec import structs

from magistrate.engine.difference.comparison import AccessChange
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, Revision, TypeName
from magistrate.engine.policy.policy import read_policy
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant
from magistrate.operations.context import Context
from magistrate.operations.difference.filters import Narrowing, read_narrowing
from magistrate.store.contract.new_rows import NewObject, NewObjectType, NewWarrant, Stamp
from tests.access import Access, AccessRow, access
from tests.properties.models import IDS, TYPES, Types, model, rare, warrants
from tests.properties.time_limits import Limits, limits

FOR_A_MOMENT = 'expiresIn("4us")'
POLICIES = (FOR_A_MOMENT, "1 == 1", "x != 1", "x == 1 || now == now")
"""Hold for a moment, always, without a context, and always as well; the last two read the context."""
MICROSECONDS_FOR_AN_EXAMPLE = 1_000


class Step(NamedTuple):
    """Comes or goes the warrant of this number, or the model becomes this one, or the object is created or deleted; by
    a clock so much later than before."""

    warrant: int
    limits: Limits
    model: Types | None
    object: ObjectRef | None
    later: int


refs = st.builds(ObjectRef, st.sampled_from((*TYPES, "ghost")), st.sampled_from(IDS))
steps = st.lists(
    st.builds(
        Step,
        st.integers(0, 13),
        st.just((None, None)) | limits,
        st.none() | st.none() | st.none() | model(),
        st.none() | st.none() | refs,
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=8,
)


@st.composite
def some_timed(draw: st.DrawFn) -> list[Warrant]:
    """Warrants some of which have a policy that depends on the time, or on nothing."""
    drawn = draw(warrants())
    changed = [structs.replace(one, policy=draw(st.sampled_from(POLICIES))) if draw(rare) else one for one in drawn]
    return list({one.render(): one for one in changed}.values())


class State(NamedTuple):
    revision: Revision
    now: int
    types: Types
    warrants: Sequence[Warrant]
    objects: frozenset[ObjectRef]

    def access(self, besides: Collection[ObjectRef] = ()) -> Access:
        """All access, if these objects exist besides."""
        return access(self.types, self.warrants, sorted({*self.objects, *besides}), self.now)


@dataclass
class Recorder:
    """Carries out a history, and records what there is."""

    ctx: Context
    clock: int
    types: Types = field(default_factory=dict)
    stored: dict[str, Warrant] = field(default_factory=dict)
    objects: set[ObjectRef] = field(default_factory=set)

    @property
    def stamp(self) -> Stamp:
        return Stamp("ann", self.clock)

    async def carry_out(self, step: Step, all_ever: Sequence[Warrant]) -> State:
        self.clock += step.later
        if step.model is not None:
            return await self.define(step.model)
        if step.object is not None:
            return await self.toggle_object(step.object)
        return await self.toggle(all_ever[step.warrant % len(all_ever)], step.limits)

    async def define(self, types: Types) -> State:
        new = [NewObjectType(TypeName(name), json.dumps({"relations": of})) for name, of in types.items()]
        written = await self.ctx.store.put_object_types(new, lambda model: None, self.stamp, is_whole_model=True)
        self.types = {**types}
        return self.state(written.revision)

    async def toggle_object(self, ref: ObjectRef) -> State:
        if ref not in self.objects:
            self.objects.add(ref)
            new = NewObject(ref.type, ref.id, None)
            return self.state((await self.ctx.store.put_objects([new], self.stamp)).revision)
        self.objects.discard(ref)
        self.stored = {key: one for key, one in self.stored.items() if ref not in ends_of(one)}
        return self.state(await self.ctx.store.delete_objects([ref], self.stamp))

    async def toggle(self, warrant: Warrant, limits: Limits) -> State:
        new = new_warrant(warrant, self.clock, limits)
        former = self.stored.pop(warrant.render(), None)
        if former is not None and (former.expires_at is None or former.expires_at > self.clock):
            return self.state(await self.ctx.store.delete_warrants([new], self.stamp))
        return await self.put([new])

    async def put(self, new: Sequence[NewWarrant]) -> State:
        written = await self.ctx.store.put_warrants(new, lambda model: None, self.stamp)
        for one in written.value:
            self.stored[one.render()] = one
            self.objects |= ends_of(one)
        return self.state(written.revision)

    def state(self, revision: Revision) -> State:
        """What there is now, at this revision."""
        return State(revision, self.clock, self.types, [*self.stored.values()], frozenset(self.objects))


def ends_of(warrant: Warrant) -> set[ObjectRef]:
    ends = {ObjectRef(warrant.object_type, warrant.object_id), ObjectRef(warrant.subject_type, warrant.subject_id)}
    return {ref for ref in ends if ref.id != WILDCARD}


def new_warrant(warrant: Warrant, clock: int = 0, limits: Limits = (None, None)) -> NewWarrant:
    subject = warrant.names.subject
    object_ref = ObjectRef(warrant.object_type, warrant.object_id)
    starts_at, expires_at = (None if one is None else clock + one for one in limits)
    lifetime = read_policy(warrant.policy).lifetime if warrant.policy else None
    given = (warrant.policy, None, starts_at, expires_at, lifetime)
    return NewWarrant(object_ref, warrant.relation, subject, *given)


QUERIES = ("select doc where user:1 is *", "select a, b of type user for doc:2", "select * where team:1 is c")
PATTERNS = ("doc#a@user", "doc#b", "team", "user#c@team,doc#d@doc")
written_refs = st.builds("{}:{}".format, st.sampled_from(TYPES), st.sampled_from(IDS))
narrowings = st.builds(
    read_narrowing,
    st.none() | st.sampled_from(PATTERNS),
    st.none() | st.none() | written_refs,
    st.none() | st.none() | written_refs,
    st.none() | st.none() | st.sampled_from(QUERIES),
)


def access_change(row: AccessRow) -> AccessChange:
    node = (TypeName(row.type), ObjectId(row.id), RelationName(row.relation))
    return AccessChange(*node, TypeName(row.subject_type), ObjectId(row.subject_id), row.is_conditional, True, True)


class Example(NamedTuple):
    """What is drawn for one history."""

    first: Types
    warrants: list[Warrant]
    steps: list[Step]
    narrowing: Narrowing
    limit: int


examples = st.builds(Example, model(), some_timed(), steps, narrowings, st.integers(1, 30))


async def carry_out(recorder: Recorder, example: Example) -> list[State]:
    """The states of a history, the first with half of all warrants."""
    states = [await recorder.define(example.first)]
    if example.warrants:
        half = example.warrants[: len(example.warrants) // 2]
        states = [await recorder.put([new_warrant(one) for one in half])] if half else states
        states += [await recorder.carry_out(step, example.warrants) for step in example.steps]
    return states
