"""Writes the text of a model in the usual layout: four blanks for each block, one statement a line, one blank line at
most. Comments stay where they are, and declarations keep their order."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from magistrate.engine.model_text.expressions import find_end, tidy_expression, write_expression
from magistrate.engine.model_text.lines import TextLine
from magistrate.engine.model_text.parser import ParsedModel
from magistrate.engine.model_text.tokens import TOKEN

INDENT = "    "

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
    tokens = [found[0] for found in TOKEN.finditer(text, line.start, line.end)]
    if tokens[0] == "inherit" and len(tokens) > 3 and not tokens[3].startswith("//"):
        yield indent + join_tokens(tokens[:3])
        yield indent + INDENT + join_tokens(tokens[3:])
    else:
        yield indent + join_tokens(tokens)


def _format_policy(text: str, line: TextLine) -> Iterator[str]:
    begin = text.index("{", line.start) + 1
    end = find_end(text, begin)
    assert end is not None  # a model without faults
    header = join_tokens([found[0] for found in TOKEN.finditer(text, line.start, begin)])
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
