"""Creates or changes object types or policies, all or none, however many."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from magistrate.cli.service import elements_named
from magistrate.errors import RequestRefused

if TYPE_CHECKING:
    from magistrate.client import Client

Model = dict[str, Any]
Definition = dict[str, Any]

BATCH = 100
"""Limits the definitions that one request may contain; only the whole model may have more."""


@dataclass(frozen=True, slots=True)
class DefinitionKind:
    """Describes object types or policies: the `member` of a model that holds them, and the one that has their `name`.
    `is_same` says whether writing the first would visibly change nothing of the second, which is stored; `list_stored`
    and `write` call the service."""

    member: Literal["objectTypes", "policies"]
    name: str
    is_same: Callable[[Definition, Definition], bool]
    list_stored: Callable[["Client"], Iterable[Definition]]
    write: Callable[["Client", list[Definition], bool], list[Definition]]

    def find_stored(self, client: "Client") -> dict[str, Definition]:
        return {definition[self.name]: definition for definition in self.list_stored(client)}


def apply_definitions(
    client: "Client", kind: DefinitionKind, definitions: Sequence[Definition], keep_existing: bool = False
) -> Iterator[tuple[str, Definition]]:
    """Writes the definitions, all or none, and yields the outcome of each."""
    name, stored = kind.name, kind.find_stored(client)
    unchanged = [
        definition
        for definition in definitions
        if definition[name] in stored and kind.is_same(definition, stored[definition[name]])
    ]
    changes = [definition for definition in definitions if definition not in unchanged]
    for written in _write(client, kind, changes, keep_existing):
        before = stored.get(written[name])
        yield "created" if before is None else "unchanged" if written == before else "changed", written
    for definition in unchanged:
        yield "unchanged", stored[definition[name]]


def _write(client: "Client", kind: DefinitionKind, changes: list[Definition], keep_existing: bool) -> list[Definition]:
    """Returns the definitions as the service has them now."""
    names = [definition[kind.name] for definition in changes]
    if len(changes) > BATCH:
        _write_into_model(client, kind, changes, keep_existing)
        stored = kind.find_stored(client)
        return [stored[name] for name in names]
    with elements_named(names):
        return kind.write(client, changes, keep_existing) if changes else []


def _write_into_model(
    client: "Client", kind: DefinitionKind, definitions: Sequence[Definition], keep_existing: bool
) -> None:
    """Creates the definitions or replaces those with their names, in one write of the whole model, which is refused if
    the model was changed since it was read."""
    model, token = client.read_model()
    merged = {definition[kind.name]: definition for definition in [*model[kind.member], *definitions]}
    whole = {**model, kind.member: [*merged.values()]}
    # No fault is one of the other kind, which the service has accepted before.
    with elements_named([*merged]):
        _demand_valid(whole)
        client.put_model(whole, token, keep_existing)


def _demand_valid(model: Model) -> None:
    """Raises RequestRefused as the service would for a single definition; of a whole model, the service names lines and
    columns, which nobody has written."""
    for parameter, message in _find_faults(model):
        raise RequestRefused(
            status=400, code="invalid_parameter", message=message, parameter=parameter, request_id=None
        )


def _find_faults(model: Model) -> Iterator[tuple[str | None, str]]:
    from magistrate.engine.text.reports import find_meaningless, report_value

    report = report_value(model, "")
    for fault in report.errors:
        parameter, _, message = fault.message.partition(": ")
        yield parameter, message
    for number, policy in enumerate(model["policies"]):
        for fault in find_meaningless(report_value({"policies": [policy]}, "").document):
            yield f"policies[{number}].expression", fault.describe()
    for fault in find_meaningless(report.document):  # only loops are left, which name their relations
        yield None, fault.describe()
