"""Reads a model in either form, text or JSON, and reports all that is wrong with it."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from magistrate.engine.model_text.document import ModelDocument
from magistrate.engine.model_text.faults import MAX_FAULTS, ModelFault
from magistrate.engine.model_text.json_members import read_members
from magistrate.engine.model_text.json_model import read_body
from magistrate.engine.model_text.json_positions import JsonPositions
from magistrate.engine.model_text.json_rendering import render_body
from magistrate.engine.model_text.lint import lint_document, lint_text
from magistrate.engine.model_text.parser import ParsedModel, parse_model


@dataclass(frozen=True, slots=True)
class ModelReport:
    """Holds a model and its faults. It can be used if `errors` are empty. `findings` are those of lint, of which some
    are errors; there are none if the model cannot be used. `parsed` is None for a model in JSON."""

    document: ModelDocument
    errors: list[ModelFault]
    findings: list[ModelFault] = field(default_factory=list)
    parsed: ParsedModel | None = None

    @property
    def faults(self) -> list[ModelFault]:
        """Returns errors and findings."""
        return [*self.errors, *self.findings]


def is_json(text: str) -> bool:
    """Returns whether a model is written in JSON; a model as text cannot begin with a bracket."""
    return text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[")


def report_text(text: str) -> ModelReport:
    """Returns the model of a text."""
    parsed = parse_model(text)
    findings = [] if parsed.faults else lint_text(parsed)
    return ModelReport(parsed.document, [*parsed.faults], findings, parsed)


def report_value(value: object, text: str) -> ModelReport:
    """Returns the model that parsed JSON describes, which was written as this text."""
    positions = JsonPositions(text)
    document, faults = read_body(read_members(value), positions.locate)
    errors = []
    for fault in faults[:MAX_FAULTS]:
        line, column = positions.locate(fault.parameter)
        errors.append(ModelFault("invalid_member", f"{fault.parameter}: {fault.message}", line, column))
    errors.sort(key=lambda error: (error.line, error.column))
    return ModelReport(document, errors, [] if errors else lint_document(document))


def render_json(document: ModelDocument) -> Any:
    """Returns the JSON of a document as dicts and lists. Raises InvalidParameter, see `render_body`."""
    return msgspec.to_builtins(render_body(document))
