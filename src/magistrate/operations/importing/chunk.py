"""Parses and validates the lines of an import that are written together."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from magistrate.engine.model.object_types import ObjectType
from magistrate.engine.names import TypeName
from magistrate.engine.policy.named_policies import NamedPolicy
from magistrate.errors import InvalidParameter, InvalidRequest, OrphanedWarrants
from magistrate.operations.context import Context
from magistrate.operations.models.definitions import read_definition, render_policy_definition
from magistrate.operations.models.object_types import build_type_validation, loop_fault, loop_of_types, new_object_types
from magistrate.operations.scheduling import checkpoint
from magistrate.operations.writes.warrants import build_warrant_validation, warrant_fault
from magistrate.store.contract.new_rows import ImportBatch, NewObject, NewObjectType, NewWarrant

BYTES_AT_ONCE = 4_096
"""Limits the bytes of lines that are read before a yield: some may hold policies, which take up to two microseconds a
byte."""

Line = ObjectType | NamedPolicy | NewObject | NewWarrant
ReadLine = Callable[[bytes], Line]
"""The callable raises InvalidRequest for a line that is wrong by itself."""


class Refused(NamedTuple):
    """Holds a line that cannot be stored: its number in the source, its text, and the reason."""

    number: int
    text: bytes
    error: InvalidRequest

    @property
    def reason(self) -> str:
        """Returns the reason with the parameter it concerns: `objectId: can only contain ...`."""
        error = self.error
        parameter = error.parameter if isinstance(error, InvalidParameter) else ""  # empty for the line as a whole
        return f"{parameter}: {error.message}" if parameter else error.message

    @property
    def can_be_fixed(self) -> bool:
        """Returns False for the object without type and id that a Warrant server creates for `"subject": {}`: its API
        cannot delete it."""
        try:
            members = msgspec.json.decode(self.text, type=_Names)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return True
        is_object = members.relation is None and members.subject is None
        return not (is_object and members.object_type == members.object_id == "")


class _Names(msgspec.Struct, rename="camel"):
    object_type: str | None = None
    object_id: str | None = None
    relation: msgspec.Raw | None = None
    subject: msgspec.Raw | None = None


Refuse = Callable[[Refused], None]


def line_refused(refused: Refused) -> None:
    raise InvalidRequest(f"line {refused.number}: {refused.reason}") from None


@dataclass(slots=True)
class Chunk:
    """Holds what the lines describe, each kind by line number; `lines` has all of them, by number."""

    lines: Mapping[int, bytes] = field(default_factory=dict)
    types: dict[int, tuple[ObjectType, NewObjectType]] = field(default_factory=dict)
    policies: dict[int, NamedPolicy] = field(default_factory=dict)
    objects: dict[int, NewObject] = field(default_factory=dict)
    warrants: dict[int, NewWarrant] = field(default_factory=dict)

    @classmethod
    async def read(cls, ctx: Context, lines: Mapping[int, bytes], read_line: ReadLine, refuse: Refuse) -> "Chunk":
        """Reads a chunk from lines. Blank lines are skipped; those that are wrong by themselves are refused and left
        out."""
        chunk = cls(lines)
        size = 0
        for number, text in lines.items():
            if text.isspace():
                continue
            try:
                chunk._add(ctx, number, read_line(text))
            except InvalidRequest as error:
                refuse(Refused(number, text, error))
            size += len(text)
            if size >= BYTES_AT_ONCE:
                size = 0
                await checkpoint()
        return chunk

    def _add(self, ctx: Context, number: int, line: Line) -> None:
        if isinstance(line, NewWarrant):
            self.warrants[number] = line
        elif isinstance(line, NewObject):
            self.objects[number] = line
        elif isinstance(line, NamedPolicy):
            self.policies[number] = line
        else:
            [new] = new_object_types(ctx, [line])
            self.types[number] = line, new

    def batch(self) -> ImportBatch:
        types = [new for _, new in self.types.values()]
        policies = [(policy.name, render_policy_definition(policy)) for policy in self.policies.values()]
        return ImportBatch(types, [*self.objects.values()], [*self.warrants.values()], policies)

    def validate(self, definitions: Mapping[TypeName, str]) -> None:
        """Raises InvalidRequest for a line that is not valid with these object types, which are all that there will
        be."""
        self._validate_types(definitions)
        named = {name: definitions[name] for name in self._types_of_warrants() if name in definitions}
        numbers = [*self.warrants]
        try:
            build_warrant_validation([*self.warrants.values()], lambda place: f"line {numbers[place]}: ", at=None)(
                named
            )
        except InvalidParameter as error:
            raise InvalidRequest(f"{error.parameter}: {error.message}") from None

    def name_line(self, error: OrphanedWarrants) -> InvalidRequest:
        """Returns the error with the number of the first line whose object type forbids one of the warrants."""
        forbidding = {warrant.partition(":")[0] for warrant in error.warrants}
        number = next(number for number, (object_type, _) in self.types.items() if object_type.name in forbidding)
        return InvalidRequest(f"line {number}: {error.parameter}: {error.message}")

    def _validate_types(self, definitions: Mapping[TypeName, str]) -> None:
        try:
            build_type_validation([object_type for object_type, _ in self.types.values()])(definitions)
        except InvalidParameter:
            for number, (object_type, _) in self.types.items():
                try:
                    build_type_validation([object_type])(definitions)
                except InvalidParameter as error:
                    line_refused(Refused(number, self.lines[number], error))
            raise

    def filter_lines(self, definitions: Mapping[TypeName, str], refuse: Refuse) -> Mapping[TypeName, str]:
        """Refuses and removes every line that is not valid with these object types and those of the chunk; returns all
        object types that remain."""
        definitions = self._filter_types(definitions, refuse)
        named = {name: definitions[name] for name in self._types_of_warrants() if name in definitions}
        defined = {name: read_definition(definition) for name, definition in named.items()}
        for number, warrant in [*self.warrants.items()]:
            error = warrant_fault(warrant, defined)
            if error is not None:
                del self.warrants[number]
                refuse(Refused(number, self.lines[number], error))
        return definitions

    def _filter_types(self, definitions: Mapping[TypeName, str], refuse: Refuse) -> Mapping[TypeName, str]:
        while True:
            remaining = {**definitions, **{new.name: new.definition for _, new in self.types.values()}}
            numbers = {new.name: number for number, (_, new) in self.types.items()}
            loop = loop_of_types(remaining, numbers)
            if loop is None:
                return remaining
            number = next(numbers[edge.source.type] for edge in loop if edge.source.type in numbers)
            del self.types[number]
            refuse(Refused(number, self.lines[number], loop_fault(loop)))

    def _types_of_warrants(self) -> set[TypeName]:
        return {warrant.object.type for warrant in self.warrants.values()}
