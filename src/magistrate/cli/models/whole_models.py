"""Writes more object types or policies than one request for them takes, all or none."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from magistrate.cli.service import elements_named
from magistrate.errors import RequestRefused

if TYPE_CHECKING:
    from magistrate.client import Client

Model = dict[str, Any]

NAMES = {"objectTypes": "type", "policies": "name"}


def write_into_model(
    client: "Client",
    kind: Literal["objectTypes", "policies"],
    definitions: Sequence[dict[str, Any]],
    keep_existing: bool = False,
) -> None:
    """Creates the definitions or replaces those with their names, in one write of the whole model, which is refused if
    the model was changed since it was read."""
    model, token = client.read_model()
    name = NAMES[kind]
    merged = {definition[name]: definition for definition in [*model[kind], *definitions]}
    whole = {**model, kind: [*merged.values()]}
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
