"""Parses the text of a model (docs/models.md): statements by line, blocks by indentation, without recursion.

A statement that cannot be read is one fault, and parsing continues after it. The part that can be read is kept, so that
one mistake is reported once. See docs/decisions/0053 why this is no generated parser.
"""

import re
from typing import NamedTuple

from magistrate.engine.model_text.blocks import BlockStack
from magistrate.engine.model_text.declaring import Declarations
from magistrate.engine.model_text.document import ModelDocument, NameAt
from magistrate.engine.model_text.expressions import find_end, read_expression
from magistrate.engine.model_text.faults import MAX_FAULTS, ModelFault, StatementRefusal
from magistrate.engine.model_text.lines import LineKind, TextLine
from magistrate.engine.model_text.tokens import LineReader

MAX_MODEL_CHARACTERS = 4_194_304
"""Limits the text of a model in characters (4 Mi)."""

_BLANKS = " \t\r"
_DECLARATION = re.compile(r"\n(?=(?:type|policy)[ \t])")


class ParsedModel(NamedTuple):
    """Holds what was read: the document has all that could be understood. `faults` are in written order, and `text` is
    what the positions of `lines` refer to. `strays` are the descriptions of nothing."""

    document: ModelDocument
    faults: tuple[ModelFault, ...]
    text: str
    lines: list[TextLine]
    strays: list[NameAt]


def parse_model(text: str, most_characters: int = MAX_MODEL_CHARACTERS) -> ParsedModel:
    """Returns the model of a text. Its faults are those of the language; lint.py finds the others."""
    if len(text) > most_characters:
        message = f"a model has at most {most_characters} characters; this one has {len(text)}"
        return ParsedModel(ModelDocument(), (ModelFault("model_too_large", message, 1, 1),), "", [], [])
    return _ModelParser(_normalize(text)).parse()


def _normalize(text: str) -> str:
    """Returns the text without a byte order mark, and with line feeds if its first line ends with CR LF; elsewhere a
    carriage return is a blank."""
    text = text.removeprefix("\ufeff")
    end = text.find("\n")
    return text.replace("\r\n", "\n") if end > 0 and text[end - 1] == "\r" else text


class _ModelParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._lines: list[TextLine] = []
        self._faults: list[ModelFault] = []
        self._declarations = Declarations(self._report)
        self._stack = BlockStack(self._declarations)
        self._offset = 0
        self._number = 0
        self._comments: list[tuple[TextLine, int]] = []

    def parse(self) -> ParsedModel:
        while self._offset <= len(self._text) and len(self._faults) < MAX_FAULTS:
            self._number += 1
            end = self._text.find("\n", self._offset)
            end = len(self._text) if end < 0 else end
            start = self._read_line(self._offset, end)
            self._offset = start
        if len(self._faults) < MAX_FAULTS:
            self._measure_comments()
            self._place_comments("", 0)
            self._stack.close()
            self._declarations.finish(self._number)
        else:
            message = f"there are more than {MAX_FAULTS - 1} errors; the others are not shown"
            self._faults[MAX_FAULTS - 1 :] = [ModelFault("too_many_errors", message, self._number, 1)]
        faults = sorted(self._faults, key=lambda fault: (fault.line, fault.column))
        declared = self._declarations
        return ParsedModel(declared.document, tuple(faults), self._text, self._lines, declared.strays)

    def _read_line(self, offset: int, end: int) -> int:
        """Reads a line, and returns the offset at which the next one begins."""
        written = self._text[offset:end].strip(_BLANKS)
        if not written:
            self._add("blank", offset, offset, offset)
            return end + 1
        start = self._text.index(written[0], offset)
        if written.startswith("//"):
            self._read_comment(offset, start, end, written)
            return end + 1
        indent = self._text[offset:start]
        return self._read_statement(offset, start, end, indent)

    def _add(self, kind: LineKind, offset: int, start: int, end: int) -> TextLine:
        line = TextLine(kind, self._number, offset, start, end, self._number)
        self._lines.append(line)
        return line

    def _read_comment(self, offset: int, start: int, end: int, written: str) -> None:
        if written.startswith("///") and not written.startswith("////"):
            line = self._add("description", offset, start, end)
            description = self._text[start + 3 : end].removeprefix(" ")
            self._declarations.describe(description, self._number, start - offset + 1)
        else:
            line = self._add("comment", offset, start, start + len(written))
        self._comments.append((line, start - offset))

    def _read_statement(self, offset: int, start: int, end: int, indent: str) -> int:
        reader = LineReader(self._text, self._number, offset, start, end)
        line = self._add("statement", offset, start, start + len(self._text[start:end].rstrip(_BLANKS)))
        self._measure_comments()
        try:
            block = self._stack.find_parent(indent, reader, self._report)
            self._place_comments(indent, block.level)
            line.level = block.level
            self._stack.read(block, indent, reader)
        except StatementRefusal as refusal:
            self._report(refusal, reader.line)
        self._declarations.end_statement()
        return self._read_body(line, reader, end) if self._declarations.policy is not None else end + 1

    def _read_body(self, line: TextLine, reader: LineReader, end: int) -> int:
        """Reads the expression of the policy that begins on a line, and returns where the next line begins."""
        policy, self._declarations.policy = self._declarations.policy, None
        assert policy is not None
        bracket = self._declarations.bracket
        close = find_end(self._text, line.offset + bracket)
        if close is None:
            refusal = StatementRefusal("unclosed_policy", f"policy {policy.name.text} has no closing }}", bracket)
            self._report(refusal, line.number)
            return self._skip_policy(end)
        written = self._text[line.offset + bracket : close]
        policy.expression, policy.at = read_expression(written, line.number, bracket + 1)
        if not policy.expression.strip():
            refusal = StatementRefusal("missing_expression", f"policy {policy.name.text} has no expression", bracket)
            self._report(refusal, line.number)
        self._number += written.count("\n")
        line.kind, line.last = "policy", self._number
        begin = self._text.rfind("\n", 0, close) + 1
        end = self._text.find("\n", close)
        end = len(self._text) if end < 0 else end
        line.end = close + 1 + len(self._text[close + 1 : end].rstrip(_BLANKS))
        behind = LineReader(self._text, self._number, begin, close + 1, end)
        if behind.token:
            self._report(behind.refuse("unexpected_token", f"expected the end of the line, found {behind.next_token}"))
        return end + 1

    def _skip_policy(self, end: int) -> int:
        """Returns where the next declaration begins, behind a policy whose own end is not known."""
        found = _DECLARATION.search(self._text, end)
        start = found.end() if found is not None else len(self._text) + 1
        self._number += self._text.count("\n", end + 1, start)
        return start

    def _measure_comments(self) -> None:
        """Gives the comments before a statement the level of the block before it to which they are indented."""
        for line, width in self._comments:
            line.level = self._stack.level_of(width)

    def _place_comments(self, indent: str, level: int) -> None:
        """Gives the comments before a statement its level, unless they are indented deeper."""
        for line, width in self._comments:
            line.level = max(line.level, level) if width > len(indent) else level
        self._comments.clear()

    def _report(self, refusal: StatementRefusal, line: int | None = None) -> None:
        fault = ModelFault(
            refusal.code, refusal.message, self._number if line is None else line, refusal.column, refusal.suggestion
        )
        self._faults.append(fault)
