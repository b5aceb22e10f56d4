"""Defines the changes that could allow a denied check, and sets of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import msgspec

from magistrate.engine.evaluation.check import Check
from magistrate.engine.names import WILDCARD
from magistrate.engine.subjects import SubjectKind, classify_subject, render_subject
from magistrate.engine.warrants.overlay import Overlay, WarrantKey, warrant_key
from magistrate.engine.warrants.plain_warrants import FIRST_NUMBER
from magistrate.engine.warrants.warrant import Warrant, WarrantNames

MAX_SUGGESTIONS = 10
"""Limits the suggestions that are shown."""
MAX_CHANGES = 6
"""Limits the changes in one set. All smaller sets of them have to be tried, too."""

FIRST_CREATED = FIRST_NUMBER - MAX_CHANGES
"""Sets the number of the first warrant that changes create. It comes after the stored warrants, and before those that
the request brings."""


class ChangeKind(IntEnum):
    """Represents what a change does. Of changes that are equally many, those of a lower kind are suggested first: to
    remove what excludes the subject, to send other values, to renew a warrant that is outside its time limits, to add
    the subject to a userset, to write another warrant, a warrant that counts although a combination, such as an
    exclusion, says otherwise; last to delete a link between objects, or to create one, because others depend on it,
    too."""

    DELETE = 0
    SET_VARIABLE = 1
    RENEW = 2
    ADD_TO_USERSET = 3
    CREATE = 4
    OVERRIDE = 5
    DELETE_LINK = 6
    CREATE_LINK = 7


class Change(msgspec.Struct, frozen=True):
    """Represents one change: a warrant to create, a stored warrant to delete, or a variable of the context.

    `names` and `policy` are those of a warrant to create, which has no time limits; `warrant` is the one to delete;
    `value` is the JSON text of the new value of `variable`.
    """

    names: WarrantNames | None = None
    policy: str = ""
    warrant: Warrant | None = None
    variable: str = ""
    value: str = ""

    @staticmethod
    def delete(warrant: Warrant) -> "Change":
        return Change(warrant=warrant)

    @staticmethod
    def set_variable(name: str, value: Any) -> "Change":
        text = msgspec.json.encode(value, order="deterministic").decode()
        return Change(variable=name, value=text)

    def read_value(self) -> Any:
        return msgspec.json.decode(self.value)


ChangeSet = frozenset[Change]
NO_CHANGE: ChangeSet = frozenset()

Order = tuple[int, Sequence[tuple[int, ...]]]


class ChangeOrder:
    """Orders sets of changes: fewer first, then by kind, then by how near to the checked object they were found.

    `renewed` maps changes that create a warrant again to the one that is outside its time limits."""

    def __init__(self) -> None:
        self.renewed: dict[Change, Warrant] = {}
        self._ranks: dict[Change, tuple[int, ...]] = {}

    def note(self, change: Change, kind: ChangeKind) -> Change:
        """Returns the change; when it is new, it comes after all others of this kind."""
        if change not in self._ranks:
            self._ranks[change] = (kind, len(self._ranks))
        return change

    def note_renewal(self, warrant: Warrant, kind: ChangeKind) -> Change:
        """Returns the change that creates this warrant again without time limits."""
        change = self.note(Change(*warrant_key(warrant)), kind)
        self.renewed[change] = warrant
        return change

    def kind(self, change: Change) -> ChangeKind:
        return ChangeKind(self._ranks[change][0])

    def last_kind(self, changes: Iterable[Change]) -> ChangeKind:
        """Returns the kind of a set: that of its change that is suggested last."""
        return max(map(self.kind, changes))

    def key(self, changes: Iterable[Change]) -> Order:
        """Returns the key by which sets are sorted."""
        ranks = sorted(self._ranks[change] for change in changes)
        return len(ranks), ranks

    def sort(self, changes: Iterable[Change]) -> list[Change]:
        return sorted(changes, key=self._ranks.__getitem__)

    @property
    def changes(self) -> Iterable[Change]:
        return self._ranks


def overlay_changes(changes: Iterable[Change], now: int) -> Overlay:
    """Returns the overlay that makes these changes to stored warrants."""
    created = sorted((change.names, change.policy) for change in changes if change.names is not None)
    removed = [warrant_key(change.warrant) for change in changes if change.warrant is not None]
    added = (Warrant(*names, policy, now, FIRST_CREATED + place) for place, (names, policy) in enumerate(created))
    return Overlay(added, removed)


def is_consistent(changes: Iterable[Change]) -> bool:
    """Returns whether no variable has two values."""
    names = [change.variable for change in changes if change.variable]
    return len(names) == len(set(names))


def change_context(context: Mapping[str, Any], changes: Iterable[Change]) -> Mapping[str, Any]:
    """Returns the context with the values that the changes give to variables."""
    new = {change.variable: change.read_value() for change in changes if change.variable}
    return {**context, **new} if new else context


@dataclass(frozen=True, slots=True)
class Effects:
    """Counts the rows of access that others than the checked subject gain and lose by a suggestion. `is_complete` is
    false if there may be more."""

    gained: int = 0
    lost: int = 0
    is_complete: bool = False


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Represents changes all of which together allow the check, and no fewer of them.

    `create` has the names and policies of warrants. `missing` and `different` name the variables of the context that
    are absent or have another value; `example` has values of them that suffice. `note` says in a sentence what else to
    know. Whoever can read both states counts the `effects`.
    """

    create: Sequence[WarrantKey]
    delete: Sequence[Warrant]
    missing: Sequence[str]
    different: Sequence[str]
    example: Mapping[str, Any]
    note: str
    effects: Effects = Effects()

    @property
    def size(self) -> int:
        return len(self.create) + len(self.delete) + len(self.example)


def order_by_harm(suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Returns suggestions, which come in the order of ChangeOrder, in that in which they are shown: first those that
    take nothing from others, by how much others gain; then those of which that is not known; then those that take
    something, by how much."""

    def rank(suggestion: Suggestion) -> tuple[int, int, int]:
        effects = suggestion.effects
        if effects.lost:
            return 2, effects.lost, suggestion.size
        return 0 if effects.is_complete else 1, effects.gained, suggestion.size

    return sorted(suggestions, key=rank)[:MAX_SUGGESTIONS]


def describe_changes(check: Check, changes: Sequence[Change], order: ChangeOrder, now: int) -> str:
    """Returns what the changes do besides, the empty text if there is nothing to say."""
    sentences = [sentence for change in changes for sentence in _describe(check, change, order, now)]
    return "; ".join(dict.fromkeys(sentence for sentence in sentences if sentence))


def _describe(check: Check, change: Change, order: ChangeOrder, now: int) -> Iterator[str]:
    kind = order.kind(change)
    if change.warrant is not None:
        yield _describe_link_end(change.warrant) if kind is ChangeKind.DELETE_LINK else ""
        yield _describe_deletion(check, change.warrant)
    if change in order.renewed:
        yield _describe_renewal(order.renewed[change], now)
    yield _describe_creation(check, change, kind)


def _describe_renewal(warrant: Warrant, now: int) -> str:
    if warrant.has_expired(now):
        return "renews a warrant that has expired"
    return "removes a start in the future"


def _describe_creation(check: Check, change: Change, kind: ChangeKind) -> str:
    names = change.names
    if names is None or kind is ChangeKind.RENEW:
        return ""
    if kind is ChangeKind.CREATE_LINK:
        return f"this is a link: rules follow it from {_render_object(names)} to {_render_subject(names)}"
    if kind is ChangeKind.ADD_TO_USERSET:
        userset = f"{names.object_type}:{names.object_id}#{names.relation}"
        return f"with all else that {userset} has"
    if kind is ChangeKind.OVERRIDE:
        return f"this grants {names.relation} directly, regardless of its rule"
    if (names.object_type, names.object_id) != _object(check):
        return f"also for all that inherits {names.relation} from {names.object_type}:{names.object_id}"
    return ""


def _describe_link_end(warrant: Warrant) -> str:
    names = warrant.names
    return f"this is a link: no rule leads from {_render_object(names)} to {_render_subject(names)} by it any more"


def _render_object(names: WarrantNames) -> str:
    return f"{names.object_type}:{names.object_id}"


def _render_subject(names: WarrantNames) -> str:
    return f"{names.subject_type}:{names.subject_id}"


def _object(check: Check) -> tuple[str, str]:
    return check.object.type, check.object.id


def _describe_deletion(check: Check, warrant: Warrant) -> str:
    subject = check.subject
    own = (warrant.subject_type, warrant.subject_id, warrant.subject_relation)
    if own == (subject.type, subject.id, subject.relation) and warrant.object_id != WILDCARD:
        return ""
    if warrant.object_id == WILDCARD:
        return f"this warrant is on every {warrant.object_type}"
    match classify_subject(warrant.subject_id, warrant.subject_relation):
        case SubjectKind.USERSET | SubjectKind.WILDCARD_USERSET:
            return f"this warrant is to all of {render_subject(*own)}"
        case SubjectKind.WILDCARD:
            return f"this warrant is to every {warrant.subject_type}"
        case SubjectKind.OBJECT:
            return ""
