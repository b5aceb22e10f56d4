"""Reads a model in either form, text or JSON, and reports all that is wrong with it."""

from dataclasses import dataclass
from typing import Any

import msgspec

from magistrate.engine.model_text.document import ModelDocument
from magistrate.engine.model_text.faults import MAX_FAULTS, ModelFault
from magistrate.engine.model_text.json_members import read_members
from magistrate.engine.model_text.json_model import read_body
from magistrate.engine.model_text.json_positions import JsonPositions
from magistrate.engine.model_text.json_rendering import render_body
from magistrate.engine.model_text.lint import lint_document, lint_text
from magistrate.engine.model_text.meaning import find_meaningless
from magistrate.engine.model_text.parser import MAX_MODEL_CHARACTERS, ParsedModel, parse_model


@dataclass(frozen=True, slots=True)
class ModelReport:
    """Holds a model and what is wrong with it as it is written. It can be converted if there are no `errors`. `parsed`
    is None for a model in JSON."""

    document: ModelDocument
    errors: list[ModelFault]
    parsed: ParsedModel | None = None

    def list_faults(self) -> list[ModelFault]:
        """Returns the errors, or if there are none what has no meaning (meaning.py) and what lint finds."""
        if self.errors:
            return self.errors
        findings = lint_text(self.parsed) if self.parsed is not None else lint_document(self.document)
        return _sort([*find_meaningless(self.document), *findings])


def is_json(text: str) -> bool:
    """Returns whether a model is written in JSON; a model as text cannot begin with a bracket."""
    return text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[")


def report_text(text: str, most_characters: int = MAX_MODEL_CHARACTERS) -> ModelReport:
    """Returns the model of a text, which is not read if it has more characters than that."""
    parsed = parse_model(text, most_characters)
    return ModelReport(parsed.document, [*parsed.faults], parsed)


def report_value(value: object, text: str) -> ModelReport:
    """Returns the model that parsed JSON describes, which was written as this text."""
    positions = JsonPositions(text)
    document, faults = read_body(read_members(value), positions.locate)
    errors = []
    for fault in faults[:MAX_FAULTS]:
        line, column = positions.locate(fault.parameter)
        errors.append(ModelFault("invalid_member", f"{fault.parameter}: {fault.message}", line, column))
    return ModelReport(document, _sort(errors))


def _sort(faults: list[ModelFault]) -> list[ModelFault]:
    return sorted(faults, key=lambda fault: (fault.line, fault.column, fault.code))


def render_json(document: ModelDocument) -> Any:
    """Returns the JSON of a document as dicts and lists. Raises InvalidParameter, see `render_body`."""
    return msgspec.to_builtins(render_body(document))
