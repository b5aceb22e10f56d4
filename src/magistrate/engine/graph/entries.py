"""What is kept of one object for one view of it."""

from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from magistrate.engine.plans import Plan
from magistrate.engine.terms import WILDCARD, ObjectId, TypeName
from magistrate.engine.warrants import Warrant

State = tuple[int, ObjectId]
"""The number of a view, and an object."""


class Conditioned(NamedTuple):
    """A warrant with a policy, and where it leads: nowhere, if it is to the subjects themselves."""

    warrant: Warrant
    states: tuple[State, ...]


# Without the garbage collector, which would look through millions of them in vain: there are no cycles in them.
class Entry(msgspec.Struct, frozen=True, gc=False):
    """What the warrants on an object say, those on every object of the type among them.

    `direct`: the names of the subjects they are given to, None if they are too many to be kept; `own`: those of them
    that a warrant of the view's own relation names. `closed`: the names of where they lead to views that memberships
    tell about; `onward`: where else. `conditioned`: those with a policy, which are in none of the others. `rows`: how
    many warrants it is made of. `is_readable` is false if it cannot be told from here what they say."""

    direct: Container[str] | None = ""
    own: Container[str] = ""
    closed: tuple[str, ...] = ()
    onward: tuple[State, ...] = ()
    conditioned: tuple[Conditioned, ...] = ()
    rows: int = 0
    is_readable: bool = True

    def with_subject(self, point: "Entry") -> "Entry":
        """This one, which has no subjects, with what another says of a single one."""
        conditioned = self.conditioned + point.conditioned
        return msgspec.structs.replace(self, direct=point.direct, own=point.own, conditioned=conditioned)


EMPTY = Entry()
UNREADABLE = Entry(direct=None, is_readable=False)


def weight(entry: Entry) -> int:
    return entry.rows or 1


class _Everyone:
    """The subjects that a warrant to `*` names."""

    def __contains__(self, name: object) -> bool:
        return True


EVERYONE = _Everyone()
FEW_NAMES = 64


def together(names: Sequence[str]) -> Container[str]:
    """Names of which each begins and ends with a blank, and has none in between; a few as one text. Looked through, it
    is as fast as a set, and takes a tenth of the memory: that is what a look-up waits for."""
    return "".join(names) if len(names) <= FEW_NAMES else frozenset(names)


def subject_name(id: ObjectId) -> str:
    """How a subject stands in an entry."""
    return f" {id} "


def state_name(state: State) -> str:
    """How a state stands in an entry or a closure."""
    number, id = state
    return f" {number}:{id} "


def parse_state(name: str) -> State:
    number, _, id = name.strip().partition(":")
    return int(number), ObjectId(id)


class Surroundings(Protocol):
    """What an entry needs to know of the graph it is in."""

    def following(self, plan: Plan, subject_type: TypeName) -> int | None:
        """The number of the view, None if no subject of this type is ever reached through it."""
        ...

    def is_closed(self, number: int) -> bool: ...

    def expand_warrant(self, warrant: Warrant, plan: Plan) -> Iterable[Plan]:
        """The plans of what a warrant leads to, on the subject that it names."""
        ...


def read_entry(
    plan: Plan, subject_type: TypeName, warrants: Iterable[Warrant], around: Surroundings, is_whole: bool
) -> Entry:
    """That of these warrants, all different. `is_whole` is false if those to subjects are not among them."""
    direct: list[ObjectId] = []
    own: list[ObjectId] = []
    states: dict[State, None] = {}
    conditioned: list[Conditioned] = []
    rows = 0
    for warrant in warrants:
        rows += 1
        names_subject = (warrant.subject_type, warrant.subject_relation) == (subject_type, "")
        is_direct = names_subject and warrant.relation in plan.relations
        led_to = [around.following(target, subject_type) for target in around.expand_warrant(warrant, plan)]
        leading = tuple((number, warrant.subject_id) for number in led_to if number is not None)
        if leading and warrant.subject_id == WILDCARD:
            return UNREADABLE
        if warrant.policy:
            conditioned += [Conditioned(warrant, ())] if is_direct else []
            conditioned += [Conditioned(warrant, leading)] if leading else []
            continue
        states.update(dict.fromkeys(leading))
        if is_direct:
            direct.append(warrant.subject_id)
            own += [warrant.subject_id] if warrant.relation == plan.relation else []
    if not rows and is_whole:
        return EMPTY
    subjects = _names(direct)
    return Entry(
        direct=subjects if is_whole else None,
        own=subjects if len(own) == len(direct) else _names(own),
        closed=tuple(state_name(state) for state in states if around.is_closed(state[0])),
        onward=tuple(state for state in states if not around.is_closed(state[0])),
        conditioned=tuple(conditioned),
        rows=rows,
    )


def _names(ids: Sequence[ObjectId]) -> Container[str]:
    return EVERYONE if WILDCARD in ids else together([subject_name(id) for id in ids])
