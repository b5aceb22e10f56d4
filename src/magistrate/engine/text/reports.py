"""Reads a model in either form, text or JSON, and reports all that is wrong with it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import msgspec

from magistrate.engine.model.object_types import ObjectType
from magistrate.engine.model.stratification import find_negation_loop, render_loop
from magistrate.engine.names import RelationName, TypeName, nearest_name
from magistrate.engine.policy.environment import Environment
from magistrate.engine.policy.node import Refusal
from magistrate.engine.policy.policy import MAX_POLICY_LENGTH, compile_text
from magistrate.engine.policy.tokens import Token, read_tokens
from magistrate.engine.policy.types import ANY, ARRAY, BOOL, FLOAT, INT, MAP, STRING, StaticType
from magistrate.engine.text.document import ModelDocument, NameAt, PolicyDeclaration
from magistrate.engine.text.faults import MAX_FAULTS, ModelFault
from magistrate.engine.text.json_documents import read_body, read_members, render_body
from magistrate.engine.text.lint import lint_document, lint_text
from magistrate.engine.text.parser import MAX_MODEL_CHARACTERS, ParsedModel, parse_model
from magistrate.engine.text.positions import JsonPositions, position
from magistrate.engine.text.rule_clauses import build_rule

_TYPES: Mapping[str, StaticType] = {
    "string": STRING,
    "integer": INT,
    "boolean": BOOL,
    "float": FLOAT,
    "array": ARRAY,
    "map": MAP,
    "any": ANY,
}


def find_meaningless(document: ModelDocument) -> list[ModelFault]:
    """Returns at most MAX_FAULTS faults, all of which are errors: those of expressions, and one loop."""
    faults = [*_find_loop(document)]
    for policy in document.policies.values():
        if len(faults) == MAX_FAULTS:
            break
        faults += _check_expression(policy)
    return faults[:MAX_FAULTS]


def _check_expression(policy: PolicyDeclaration) -> Iterator[ModelFault]:
    """Yields what is wrong with an expression, if anything is."""
    if len(policy.expression.encode(errors="surrogatepass")) > MAX_POLICY_LENGTH:
        yield _at_offset(policy, 0, f"an expression has at most {MAX_POLICY_LENGTH} bytes")
        return
    environment = Environment({name: _TYPES[of_type] for name, of_type in policy.parameters.items()})
    try:
        compile_text(policy.expression, environment)
    except Refusal as refusal:
        yield _at_offset(policy, refusal.offset or 0, refusal.reason)
        return
    unknown = [name for name in environment.names if name not in policy.parameters]
    if unknown:
        message = f"{unknown[0][:64]} is not a parameter of policy {policy.name.text}"
        suggestion = nearest_name(unknown[0][:64], policy.parameters)
        yield _at_offset(policy, _find_variable(policy.expression, unknown[0]), message, suggestion)


def _find_variable(expression: str, name: str) -> int:
    """Returns the offset of the first use of a variable; a name behind a point is that of a member."""
    tokens = [*read_tokens(expression)]
    uses = (
        token.offset
        for before, token in pairwise([None, *tokens])
        if token and token.text == name and not _is_point(before)
    )
    return next(uses, 0)


def _is_point(token: Token | None) -> bool:
    return token is not None and token.kind in (".", "?.")


def _at_offset(policy: PolicyDeclaration, offset: int, message: str, suggestion: str = "") -> ModelFault:
    """Returns a fault at an offset of an expression; in JSON, at the name of its policy."""
    if not policy.at.line:
        return ModelFault("invalid_expression", message, policy.name.line, policy.name.column, suggestion=suggestion)
    at = position(policy.expression, offset)
    before = policy.at.first_column if at.line == 1 else policy.at.column
    return ModelFault(
        "invalid_expression", message, policy.at.line + at.line - 1, before + at.column - 1, suggestion=suggestion
    )


def _find_loop(document: ModelDocument) -> Iterator[ModelFault]:
    """Yields a loop through which a relation depends on its own negation, if there is one."""
    types = {
        TypeName(name): ObjectType(
            TypeName(name),
            {
                RelationName(relation.name.text): build_rule(relation.rule)
                for relation in declared.relations.values()
                if relation.rule is not None
            },
        )
        for name, declared in document.types.items()
    }
    loop = find_negation_loop(types.get, types)
    if loop is not None:
        source = loop[0].source
        relation = document.relation(source.type, source.relation)
        assert relation is not None
        at: NameAt = relation.inherit or relation.name
        message = f"a relation depends on its own negation: {render_loop(loop)}"
        yield ModelFault("negation_loop", message, at.line, at.column)


@dataclass(frozen=True, slots=True)
class ModelReport:
    """Holds a model and what is wrong with it as it is written. It can be converted if there are no `errors`. `parsed`
    is None for a model in JSON."""

    document: ModelDocument
    errors: list[ModelFault]
    parsed: ParsedModel | None = None

    def list_faults(self) -> list[ModelFault]:
        """Returns the errors, or if there are none what has no meaning (`find_meaningless`) and what lint finds."""
        if self.errors:
            return self.errors
        findings = lint_text(self.parsed) if self.parsed is not None else lint_document(self.document)
        return _sort([*find_meaningless(self.document), *findings])


def is_json(text: str) -> bool:
    """Returns whether a model is written in JSON; a model as text cannot begin with a bracket."""
    return text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[")


def report_text(text: str, max_characters: int = MAX_MODEL_CHARACTERS) -> ModelReport:
    """Returns the model of a text, which is not read if it has more characters than that."""
    parsed = parse_model(text, max_characters)
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
