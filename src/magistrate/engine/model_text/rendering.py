"""Writes the document of a model as text in version 1.0, which says everything that JSON can say."""

from collections.abc import Iterator

from magistrate.engine.model_text.document import (
    NEWEST_VERSION,
    ModelDocument,
    PolicyDeclaration,
    RelationDeclaration,
    RuleClause,
    TypeDeclaration,
)
from magistrate.engine.model_text.expressions import write_expression
from magistrate.engine.model_text.formatter import INDENT


def render_model(document: ModelDocument) -> str:
    """Returns the text of a model in the usual layout, with the types first and the policies behind them.

    The document is read as one of the newest version: see `exact_document` in versions.py for others."""
    blocks = [f"version {NEWEST_VERSION}"]
    blocks += ["\n".join(_render_type(declared)) for declared in document.types.values()]
    blocks += ["\n".join(_render_policy(policy)) for policy in document.policies.values()]
    return "\n\n".join(blocks) + "\n"


def _render_description(description: str, indent: str) -> Iterator[str]:
    if description:
        for line in description.split("\n"):
            yield f"{indent}/// {line}" if line else f"{indent}///"


def _render_type(declared: TypeDeclaration) -> Iterator[str]:
    yield from _render_description(declared.description, "")
    yield f"type {declared.name.text}"
    if declared.source:
        yield f"{INDENT}source {declared.source}"
    has_rule_before = bool(declared.source)
    for place, relation in enumerate(declared.relations.values()):
        has_rule = relation.rule is not None
        if (place or declared.source) and (has_rule or has_rule_before):
            yield ""
        yield from _render_relation(relation)
        has_rule_before = has_rule


def _render_relation(relation: RelationDeclaration) -> Iterator[str]:
    yield from _render_description(relation.description, INDENT)
    allowed = f" [{', '.join(clause.text for clause in relation.allowed)}]" if relation.allowed is not None else ""
    yield f"{INDENT}relation {relation.name.text}{allowed}"
    if relation.rule is not None:
        yield f"{INDENT}inherit {relation.name.text} if"
        yield from _render_rules(relation.rule, 2)


def _render_rules(rule: RuleClause, level: int) -> Iterator[str]:
    waiting = [(rule, level)]
    while waiting:
        one, depth = waiting.pop()
        yield f"{INDENT * depth}{render_clause(one)}"
        waiting += [(inner, depth + 1) for inner in reversed(one.rules)]


def render_clause(rule: RuleClause) -> str:
    """Returns a rule as it is written, without the rules in it."""
    names = [name.text for name in rule.names]
    types = ", ".join(names[2:])
    match rule.kind:
        case "computed":
            return f"relation {names[0]}"
        case "arrow":
            return f"relation {names[0]} on {names[1]} [{types}]"
        case "for_all":
            return f"relation {names[0]} for all {names[1]} [{types}]"
        case "policy":
            return f"policy {names[0]}"
        case _:
            return rule.kind


def _render_policy(policy: PolicyDeclaration) -> Iterator[str]:
    yield from _render_description(policy.description, "")
    parameters = ", ".join(f"{name} {of_type}" for name, of_type in policy.parameters.items())
    yield f"policy {policy.name.text}({parameters}) {{{write_expression(policy.expression)}}}"
