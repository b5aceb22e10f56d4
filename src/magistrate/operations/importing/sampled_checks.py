"""Draws checks from the warrants that two servers share; both servers should answer them alike."""

import random
import re
from collections.abc import Mapping, Sequence

from magistrate.engine.evaluation import Check
from magistrate.engine.terms import WILDCARD, ObjectId, ObjectRef, RelationName, Subject, TypeName
from magistrate.store.contract import NewWarrant

SEED = 20_251_115
"""Makes the sample reproducible: the same store gets the same checks each time."""

NOBODY = ObjectId("nobody-in-particular")
"""Stands for `*` where no id is known."""

_EQUALS = re.compile(r"""\b([A-Za-z_]\w*) *== *(?:"([^"\\]*)"|'([^'\\]*)')""")


class Sample:
    """Samples a fixed number of the warrants it is shown, each with the same chance (Vitter's algorithm R). Samples of
    the same warrants in the same order differ by their `number`."""

    def __init__(self, size: int, number: int = 0) -> None:
        self._size = size
        self._shown = 0
        self._random = random.Random(SEED + number)
        self.warrants: list[NewWarrant] = []

    def show(self, warrants: Sequence[NewWarrant]) -> None:
        for warrant in warrants:
            self._shown += 1
            if len(self.warrants) < self._size:
                self.warrants.append(warrant)
            elif (place := self._random.randrange(self._shown)) < self._size:
                self.warrants[place] = warrant


def draw_checks(
    warrants: Sequence[NewWarrant], relations: Mapping[TypeName, Sequence[RelationName]], count: int
) -> list[Check]:
    """Returns up to this many checks; duplicates are left out. They alternate between what a warrant says, another
    relation for the same two, and what one of them has on the object of another, which mostly is nothing. Policies get
    the values that they compare with."""
    drawn = random.Random(SEED)
    ids = _ids_by_type(warrants)
    checks: dict[str, Check] = {}
    for number in range(count if warrants else 0):
        one, other = warrants[number % len(warrants)], drawn.choice(warrants)
        acquire = (number + number // len(warrants)) % 3  # a different variant each time a warrant comes again
        subject = other.subject if acquire == 2 else one.subject
        relation = one.relation if acquire == 0 else drawn.choice(relations.get(one.object.type, [one.relation]))
        object_id = _concrete(one.object.id, ids.get(one.object.type), drawn)
        subject_id = _concrete(subject.id, ids.get(subject.type), drawn)
        context = {name: a or b for name, a, b in _EQUALS.findall(one.policy + " " + other.policy)}
        checked_subject = Subject(subject.type, subject_id, subject.relation)
        check = Check(ObjectRef(one.object.type, object_id), relation, checked_subject, context)
        checks[repr(check)] = check
    return [*checks.values()]


def _ids_by_type(warrants: Sequence[NewWarrant]) -> dict[TypeName, list[ObjectId]]:
    ids: dict[TypeName, list[ObjectId]] = {}
    for warrant in warrants:
        for of_type, id in ((warrant.object.type, warrant.object.id), (warrant.subject.type, warrant.subject.id)):
            if id != WILDCARD:
                ids.setdefault(of_type, []).append(id)
    return ids


def _concrete(id: ObjectId, ids: Sequence[ObjectId] | None, drawn: random.Random) -> ObjectId:
    if id != WILDCARD:
        return id
    return drawn.choice(ids) if ids else NOBODY
