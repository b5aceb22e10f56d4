"""Writes the document of a model as text in version 1.0, which says everything that JSON can say."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from magistrate.engine.text.document import (
    NEWEST_VERSION,
    ModelDocument,
    PolicyDeclaration,
    RelationDeclaration,
    RuleClause,
    TypeDeclaration,
)
from magistrate.engine.text.expressions import find_end, tidy_expression, write_expression
from magistrate.engine.text.parser import ParsedModel, TextLine
from magistrate.engine.text.statements import QUOTED, TOKEN

INDENT = "    "

_ACTION = re.compile(rf"action[ \t\r]*+{QUOTED.pattern}")
"""Matches a statement up to a name whose characters are not those of tokens."""
_NO_BLANK_BEFORE = frozenset(",])#:(.*")
_NO_BLANK_BEHIND = frozenset("[(#:.")


def format_model(parsed: ParsedModel) -> str:
    """Returns the text of a model without faults in the usual layout. Formatting the result changes nothing."""
    written = [line for line in parsed.lines if line.kind != "blank"]
    blanks = {line.number for line in parsed.lines if line.kind == "blank"}
    separate = _begin_declarations(parsed.text, written, blanks)
    output: list[str] = []
    for before, line in pairwise([None, *written]):
        assert line is not None
        if before is not None and _has_blank_line(before, line, blanks, separate):
            output.append("")
        output += _format_line(parsed.text, line)
    return "\n".join(output) + "\n" if output else ""


def _has_blank_line(before: TextLine, line: TextLine, blanks: set[int], separate: set[int]) -> bool:
    if line.number in separate:
        return True
    return line.number - 1 in blanks and line.level <= before.level


def _begin_declarations(text: str, written: Sequence[TextLine], blanks: set[int]) -> set[int]:
    """Returns the numbers of the lines with which types and policies begin: that of the first comment directly above
    one, or its own."""
    begins: set[int] = set()
    first: TextLine | None = None
    for line in written:
        is_comment = line.kind in ("comment", "description") and line.level == 0
        if first is None or line.number - 1 in blanks:
            first = line
        if is_comment:
            continue
        if line.level == 0 and text.startswith(("type", "policy"), line.start):
            begins.add(first.number)
        first = None
    return begins


def _format_line(text: str, line: TextLine) -> Iterator[str]:
    indent = INDENT * line.level
    if line.kind == "policy":
        yield from _format_policy(text, line)
    elif line.kind == "statement":
        yield from _format_statement(text, line, indent)
    else:
        yield indent + text[line.start : line.end]


def _format_statement(text: str, line: TextLine, indent: str) -> Iterator[str]:
    if text.startswith("source", line.start):
        yield f"{indent}source {text[line.start + len('source') : line.end].lstrip()}"
        return
    action = _ACTION.match(text, line.start, line.end)
    begin = line.start if action is None else action.end()
    tokens = [match[0] for match in TOKEN.finditer(text, begin, line.end)]
    if action is not None:
        yield f'{indent}action "{action[1]}" {join_tokens(tokens)}'
        return
    if tokens[0] == "inherit" and len(tokens) > 3 and not tokens[3].startswith("//"):
        yield indent + join_tokens(tokens[:3])
        yield indent + INDENT + join_tokens(tokens[3:])
    else:
        yield indent + join_tokens(tokens)


def _format_policy(text: str, line: TextLine) -> Iterator[str]:
    begin = text.index("{", line.start) + 1
    end = find_end(text, begin)
    assert end is not None  # a model without faults
    header = join_tokens([match[0] for match in TOKEN.finditer(text, line.start, begin)])
    expression = write_expression(tidy_expression(text_of_expression(text, begin, end)))
    comment = text[end + 1 : line.end].strip()
    yield header + expression + "}" + (f" {comment}" if comment else "")


def text_of_expression(text: str, begin: int, end: int) -> str:
    """Returns what is written between the brackets of a policy as a block has it."""
    written = text[begin:end]
    return written if written.startswith(("\n", "\r\n")) else f"\n{written}\n"


def join_tokens(tokens: Sequence[str]) -> str:
    """Returns the words and signs of a statement with the usual blanks between them."""
    pieces: list[str] = []
    before = ""
    for token in tokens:
        if pieces and before not in _NO_BLANK_BEHIND and token not in _NO_BLANK_BEFORE:
            pieces.append(" ")
        pieces.append(token)
        before = token
    return "".join(pieces)


def render_model(document: ModelDocument) -> str:
    """Returns the text of a model in the usual layout, with the types first and the policies behind them.

    The document is read as one of the newest version: see `exact_document` in document.py for others."""
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
    if declared.actions and (declared.relations or declared.source):
        yield ""
    for action in declared.actions.values():
        yield f'{INDENT}action "{action.name.text}" is {action.relation.text}'


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
        clause, depth = waiting.pop()
        yield f"{INDENT * depth}{render_clause(clause)}"
        waiting += [(inner, depth + 1) for inner in reversed(clause.rules)]


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
