"""Holds what a store has at one revision, and applies writes to it (docs/api.md#writes)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from history_check.operations import Event, Write
from magistrate.engine.names import WILDCARD
from magistrate.engine.warrants.warrant import Warrant, warrant_names

NOT_FOUND, PRECONDITION_FAILED = "not_found", "precondition_failed"

Place = tuple[str, str, str | None]
"""The type and the relation of warrants, and the id of their objects; None is any id."""


@lru_cache(maxsize=65_536)
def read_warrant(text: str) -> Warrant:
    object_text, _, rest = text.partition("#")
    relation, _, subject = rest.partition("@")
    object_type, object_id = object_text.split(":")
    subject_text, _, userset = subject.partition("#")
    names = warrant_names(object_type, object_id, relation, *subject_text.split(":"), userset)
    return Warrant(*names, "", 0, 0)


def split_object(text: str) -> tuple[str, str, str]:
    """Returns the type, the id and the value of an object."""
    reference, _, value = text.partition("=")
    object_type, _, object_id = reference.partition(":")
    return object_type, object_id, value


@dataclass(slots=True)
class Effects:
    """Has what a write changes, as the event of it shows it, and what its answer counts."""

    created_objects: set[str] = field(default_factory=set)
    updated_objects: set[str] = field(default_factory=set)
    deleted_objects: set[str] = field(default_factory=set)
    created_warrants: set[str] = field(default_factory=set)
    deleted_warrants: set[str] = field(default_factory=set)
    types: dict[str, str] = field(default_factory=dict)
    counts: tuple[int, int, int] = (0, 0, 0)


class State:
    """Holds the types, objects and warrants at `revision`, and since when each part of them is as it is."""

    def __init__(self, types: Mapping[str, Mapping[str, Any]], revision: int) -> None:
        self.types = dict(types)
        self.revision = self.types_since = revision
        self.since: dict[Place, int] = {}
        """Has the revision of the last change of the warrants in a place."""
        self.objects: defaultdict[str, dict[str, str]] = defaultdict(dict)
        """Has the value of each object, by type and id."""
        self._warrants: defaultdict[tuple[str, str], dict[str, dict[str, Warrant]]] = defaultdict(dict)
        self._naming: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        """Has the warrants that end with an object."""

    def has_warrant(self, text: str) -> bool:
        warrant = read_warrant(text)
        return text in self._warrants[warrant.object_type, warrant.relation].get(warrant.object_id, ())

    def has_object(self, text: str) -> bool:
        object_type, object_id, _ = split_object(text)
        return object_id in self.objects[object_type]

    def find_warrants(self, object_type: str, relation: str, object_id: str | None) -> Iterator[Warrant]:
        """Yields the warrants with exactly this id of the object, or with any."""
        by_id = self._warrants.get((object_type, relation), {})
        for warrants in by_id.values() if object_id is None else (by_id.get(object_id, {}),):
            yield from warrants.values()

    def list_warrants(self, object_type: str) -> set[str]:
        return {
            text
            for (of_type, _), by_id in self._warrants.items()
            if of_type == object_type
            for warrants in by_id.values()
            for text in warrants
        }

    def list_objects(self, object_type: str) -> set[str]:
        objects = self.objects.get(object_type, {})
        return {
            f"{object_type}:{name}={value}" if value else f"{object_type}:{name}" for name, value in objects.items()
        }

    def list_refusals(self, write: Write) -> set[str]:
        """Returns the codes with which a write may be refused here; empty if it has to be made."""
        has = {text: self.has_warrant(text) if "#" in text else self.has_object(text) for text in _named(write)}
        refusals = set()
        if not all(has[text] for text in write.exists) or any(has[text] for text in write.absent):
            refusals.add(PRECONDITION_FAILED)
        deleted = (*write.delete_warrants, *write.delete_objects)
        if len({*deleted}) < len(deleted) or not all(has[text] for text in deleted):
            refusals.add(NOT_FOUND)
        return refusals

    def apply(self, write: Write, revision: int) -> Effects:
        """Makes a write, whatever of it was to be refused; its revision is then that of the state."""
        self.revision = revision
        effects = Effects()
        for text in write.delete_warrants:
            self._delete_warrant(text, effects)
        for text in write.delete_objects:
            self._delete_object(text, effects)
        created = sum([self._create_object(text, effects) for text in write.create_objects])
        created += sum([self._create_warrant(text, effects) for text in write.create_warrants])
        unchanged = len(write.create_objects) + len(write.create_warrants) - created
        for name, relations in write.define.items():
            self.types[name] = relations
            self.types_since = revision
            effects.types[name] = write.mark
        effects.counts = (created, len(write.delete_warrants) + len(write.delete_objects), unchanged)
        return effects

    def follow(self, event: Event, revision: int) -> None:
        """Makes what an event says was written; the rules of types stay."""
        self.apply(
            Write(
                process=event.process,
                begin=event.begin,
                end=event.end,
                mark="",
                delete_warrants=event.deleted_warrants,
                delete_objects=event.deleted_objects,
                create_objects=(*event.created_objects, *event.updated_objects),
                create_warrants=event.created_warrants,
            ),
            revision,
        )

    def _delete_warrant(self, text: str, effects: Effects) -> None:
        if not self.has_warrant(text):
            return
        warrant = read_warrant(text)
        by_id = self._warrants[warrant.object_type, warrant.relation]
        del by_id[warrant.object_id][text]
        if not by_id[warrant.object_id]:
            del by_id[warrant.object_id]
        for reference in _ends(warrant):
            self._naming[reference].discard(text)
        self._note_change(warrant)
        effects.deleted_warrants.add(text)

    def _create_warrant(self, text: str, effects: Effects) -> bool:
        """Creates a warrant with the objects that it names, and returns whether it is new."""
        if self.has_warrant(text):
            return False
        warrant = read_warrant(text)
        self._warrants[warrant.object_type, warrant.relation].setdefault(warrant.object_id, {})[text] = warrant
        for object_type, object_id in _ends(warrant):
            self._naming[object_type, object_id].add(text)
            if object_id != WILDCARD and object_id not in self.objects[object_type]:
                self._create_object(f"{object_type}:{object_id}", effects)
        self._note_change(warrant)
        effects.created_warrants.add(text)
        return True

    def _delete_object(self, text: str, effects: Effects) -> None:
        if not self.has_object(text):
            return
        object_type, object_id, _ = split_object(text)
        for warrant in sorted(self._naming.pop((object_type, object_id), ())):
            self._delete_warrant(warrant, effects)
        del self.objects[object_type][object_id]
        effects.deleted_objects.add(f"{object_type}:{object_id}")

    def _create_object(self, text: str, effects: Effects) -> bool:
        """Creates an object or replaces its value, and returns whether that changed anything."""
        object_type, object_id, value = split_object(text)
        before = self.objects[object_type].get(object_id)
        if before == value:
            return False
        self.objects[object_type][object_id] = value
        (effects.created_objects if before is None else effects.updated_objects).add(text)
        return True

    def _note_change(self, warrant: Warrant) -> None:
        for object_id in (warrant.object_id, None):
            self.since[warrant.object_type, warrant.relation, object_id] = self.revision


def _ends(warrant: Warrant) -> set[tuple[str, str]]:
    return {(warrant.object_type, warrant.object_id), (warrant.subject_type, warrant.subject_id)}


def _named(write: Write) -> set[str]:
    return {*write.exists, *write.absent, *write.delete_warrants, *write.delete_objects}
