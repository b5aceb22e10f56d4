"""Finds where the expression of a policy ends in a text, and converts between an expression and how it is written.

An expression is written in a block, each line indented below the line of the policy, or directly behind the bracket:

    policy business_hours(hour integer) {
        hour >= 9 && hour < 17
    }

    policy business_hours(hour integer) { hour >= 9 && hour < 17 }

Blanks mean nothing in expressions. JSON keeps them all the same, so an expression whose blanks a block would change is
written directly behind the bracket, where all but the first and the last blank are kept.
"""

import re
from typing import NamedTuple

from magistrate.engine.text.document import ExpressionPosition

MAX_WRITTEN_EXPRESSION = 65_536
"""Limits the characters in which the end of an expression is searched: one has at most 4 KiB, and indentation."""

# An unterminated string or comment takes all that follows with it, so that nothing is scanned more than twice.
_STEP = re.compile(
    r'"(?:\\.|[^"\\\n])*+"?+' + r"|'(?:\\.|[^'\\\n])*+'?+" + r"|//[^\n]*+|/\*(?:[\s\S]*?\*/|[\s\S]*)|[{}]"
)
_INDENT = "    "
_BLANKS = " \t\r"


class WrittenExpression(NamedTuple):
    """Holds an expression, and where it was written relative to the bracket before it."""

    expression: str
    at: ExpressionPosition


def find_end(text: str, start: int, step: re.Pattern[str] = _STEP) -> int | None:
    """Returns the offset of the bracket that ends the expression that begins at an offset, or None. The step matches a
    curly bracket, and whatever may contain one that is no bracket, such as a string."""
    depth = 0
    for match in step.finditer(text, start, start + MAX_WRITTEN_EXPRESSION):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            if not depth:
                return match.start()
            depth -= 1
    return None


def read_expression(written: str, line: int, column: int) -> WrittenExpression:
    """Returns the expression in what is written between the brackets, which begins at this position."""
    if not _is_block(written):
        skipped = 1 if written[:1] in (" ", "\n") else 0
        inner = written[skipped:]
        inner = inner[:-1] if inner[-1:] in (" ", "\n") else inner
        return WrittenExpression(inner, ExpressionPosition(line, column + skipped, 1))
    lines = written.split("\n")[1:]
    if lines and not lines[-1].strip(_BLANKS):
        lines.pop()
    else:
        lines[-1:] = [last.rstrip(_BLANKS) for last in lines[-1:]]
    margin = _margin(lines)
    kept = [line_text[margin:] if line_text.strip(_BLANKS) else "" for line_text in lines]
    first = next((place for place, line_text in enumerate(kept) if line_text), 0)
    while kept and not kept[-1]:
        kept.pop()
    return WrittenExpression("\n".join(kept[first:]), ExpressionPosition(line + 1 + first, margin + 1, margin + 1))


def _is_block(written: str) -> bool:
    return written.startswith(("\n", "\r\n"))


def _margin(lines: list[str]) -> int:
    """Returns how many blanks all lines begin with that have anything else."""
    indents = [text[: len(text) - len(text.lstrip(" \t"))] for text in lines if text.strip(_BLANKS)]
    if not indents:
        return 0
    least, greatest = min(indents), max(indents)
    common = 0
    while common < min(len(least), len(greatest)) and least[common] == greatest[common]:
        common += 1
    return common


def write_expression(expression: str) -> str:
    """Returns what stands between the brackets and reads as exactly this expression."""
    block = _write_block(expression)
    if read_expression(block, 1, 1).expression == expression:
        return block
    # A comment at the end would take the bracket with it.
    last_line = expression.rpartition("\n")[2]
    return f" {expression}\n" if "//" in last_line else f" {expression} "


def tidy_expression(expression: str) -> str:
    """Returns the expression as a block has it: without blanks at the ends of lines, or around all of it."""
    lines = "\n".join(line.rstrip(_BLANKS) for line in expression.split("\n"))
    return read_expression(f"\n{lines}\n", 1, 1).expression


def _write_block(expression: str) -> str:
    lines = (f"{_INDENT}{line}" if line else "" for line in expression.split("\n"))
    return "\n" + "\n".join(lines) + "\n"
