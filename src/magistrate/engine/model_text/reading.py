"""Reads a model in either form, text or JSON, and reports all that is wrong with it."""

from dataclasses import dataclass, field

from magistrate.engine.model_text.document import ModelDocument
from magistrate.engine.model_text.faults import MAX_FAULTS, ModelFault
from magistrate.engine.model_text.json_bodies import ModelBody, TypeBody
from magistrate.engine.model_text.json_model import read_body
from magistrate.engine.model_text.json_positions import JsonPositions
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


def is_json(text: str) -> bool:
    """Returns whether a model is written in JSON; a model as text cannot begin with a bracket."""
    return text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[")


def report_text(text: str) -> ModelReport:
    """Returns the model of a text."""
    parsed = parse_model(text)
    findings = [] if parsed.faults else lint_text(parsed)
    return ModelReport(parsed.document, [*parsed.faults], findings, parsed)


def report_json(body: ModelBody | list[TypeBody], text: str) -> ModelReport:
    """Returns the model of JSON that was decoded from a text."""
    positions = JsonPositions(text)
    whole = ModelBody(body) if isinstance(body, list) else body
    document, faults = read_body(whole, positions.locate)
    errors = []
    for fault in faults[:MAX_FAULTS]:
        line, column = positions.locate(fault.parameter)
        errors.append(ModelFault("invalid_member", f"{fault.parameter}: {fault.message}", line, column))
    return ModelReport(document, errors, [] if errors else lint_document(document))
