"""Parses the text of a model (docs/models.md): statements by line, blocks by indentation, without recursion.

A statement that cannot be read is one fault, and parsing continues after it. The part that can be read is kept, so that
one mistake is reported once. See docs/decisions/0053 why this is no generated parser.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from magistrate.engine.names import nearest_name
from magistrate.engine.rules import find_operator
from magistrate.engine.text.document import ModelDocument, NameAt, RuleClause, TypeDeclaration
from magistrate.engine.text.expressions import find_end, read_expression
from magistrate.engine.text.faults import MAX_FAULTS, ModelFault, StatementRefusal
from magistrate.engine.text.statements import (
    Declarations,
    LineReader,
    ReportFault,
    join_words,
    list_rule_words,
    read_rule,
)

MAX_NESTING = 200
"""Limits the blocks in each other."""

BlockKind = Literal["model", "type", "rules"]


@dataclass(slots=True)
class Block:
    """Represents a block. `level` is the depth of its statements; `indent` has the blanks before the statement that
    begins it, and `inner` those before its statements, None before the first. `rules` are those in it, `most` how many
    it may have; `is_faulty` if one of them was refused."""

    kind: BlockKind
    indent: str
    level: int
    begin: NameAt
    inner: str | None = None
    declared: TypeDeclaration | None = None
    rules: list[RuleClause] = field(default_factory=list)
    most: int | None = None
    is_faulty: bool = False


class BlockStack:
    """Reads statements into the declarations, and opens and closes blocks."""

    def __init__(self, declarations: Declarations) -> None:
        self._declarations = declarations
        self._blocks = [Block("model", "", 0, NameAt(""), inner="")]
        self._last_type: TypeDeclaration | None = None

    def find_parent(self, indent: str, reader: LineReader, report: ReportFault) -> Block:
        """Closes the blocks that end before a statement of this indentation, and returns the block it stands in."""
        while len(self._blocks) > 1 and len(indent) <= len(self._blocks[-1].indent):
            self._close_last()
        block = self._blocks[-1]
        if block.inner is None:
            if not indent.startswith(block.indent):
                report(
                    reader.refuse("mixed_indentation", "this line is indented by other blanks than the block around")
                )
            block.inner = indent
        elif indent != block.inner and (block.kind != "model" or reader.token in _STATEMENTS["model"]):
            expected = f"the lines before it in this block by {_count_blanks(block.inner)}"
            if block.kind == "model":
                expected = f"and {reader.token} must begin at the left margin"
            message = f"this line is indented by {_count_blanks(indent)}, {expected}"
            report(reader.refuse("wrong_indentation", message))
        return block

    def level_of(self, width: int) -> int:
        """Returns the level of the innermost open block that is indented by this many blanks or less."""
        fitting = (block for block in reversed(self._blocks) if block.inner is not None and len(block.inner) <= width)
        return next(fitting).level

    def close(self) -> None:
        """Closes all blocks."""
        while len(self._blocks) > 1:
            self._close_last()

    def _close_last(self) -> None:
        block = self._blocks.pop()
        if block.kind == "rules" and not block.rules and not block.is_faulty:
            message = f"{block.begin.text} has no rule; write it in the next line, indented deeper"
            self._declarations.report(StatementRefusal("missing_rule", message, block.begin.column), block.begin.line)

    def read(self, block: Block, indent: str, reader: LineReader) -> None:
        """Reads a statement in a block. Raises StatementRefusal."""
        if reader.token in _list_statements(block.kind):
            self._read_statement(block, indent, reader)
        elif (place := _find_place(reader.token)) is not None:
            self._read_misplaced(place, block, indent, reader)
        else:
            self._read_misspelled(block, indent, reader)

    def _read_misspelled(self, block: Block, indent: str, reader: LineReader) -> None:
        """Reports a word that no statement begins with, and reads the statement as if it began with the most similar
        word, so that what stands below it is not misunderstood."""
        words = _list_statements(block.kind)
        meant = _FOREIGN_WORDS.get(reader.token, "")
        meant = meant if meant in words else nearest_name(reader.token, words)
        message = f"expected {', '.join(words)}, found {reader.next_token}"
        is_relation = block.kind == "rules" and block.declared is not None and reader.token in block.declared.relations
        suggestion = f"relation {reader.token}" if is_relation and not meant else meant
        self._declarations.report(reader.refuse("unknown_keyword", message, suggestion), reader.line)
        block.is_faulty = True
        if meant:
            reader.token = meant
            with suppress(StatementRefusal):  # one fault for a statement is enough
                self._read_statement(block, indent, reader)

    def _read_misplaced(self, place: BlockKind, block: Block, indent: str, reader: LineReader) -> None:
        """Reports a statement that stands in a block where it has no meaning, and reads it where it has one."""
        word = reader.token
        kind: BlockKind = "rules" if word == "policy" and "(" not in reader.remaining else place
        if kind == "model":
            message = f"{word} must begin at the left margin"
            home: Block | None = self._blocks[0]
        elif kind == "type":
            message = f"{word} must stand directly below a type, indented"
            home = (
                next((outer for outer in reversed(self._blocks) if outer.kind == "type"), None) or self._reopen_type()
            )
        else:
            message = f"the rule {word} must stand below `inherit … if`, indented deeper"
            home = None
            if find_operator(word) is not None:  # what stands below it belongs to it
                begin = NameAt(word, reader.line, reader.column)
                self._open(Block("rules", indent, block.level + 1, begin, declared=block.declared, is_faulty=True))
        self._declarations.report(reader.refuse("misplaced_statement", message), reader.line)
        if home is not None:
            while kind == "model" and len(self._blocks) > 1:
                self._close_last()
            self._read_statement(home, indent, reader)

    def _reopen_type(self) -> Block | None:
        declared = self._last_type
        return Block("type", "", 1, declared.name, declared=declared) if declared is not None else None

    def _open(self, block: Block) -> None:
        if block.level > MAX_NESTING:
            raise StatementRefusal("too_deep", f"blocks nest {MAX_NESTING} deep at most", block.begin.column)
        self._blocks.append(block)

    # What statements do

    def _read_statement(self, block: Block, indent: str, reader: LineReader) -> None:
        """Reads a statement that begins with one of the words of the block."""
        declarations, declared = self._declarations, block.declared
        if block.kind == "rules":
            self._read_rule(block, indent, reader)
        elif reader.token == "version":
            declarations.read_version(reader)
        elif reader.token == "policy":
            declarations.read_policy(reader)
        elif reader.token == "type":
            self._read_type(indent, reader)
        elif declared is not None and reader.token == "relation":
            declarations.read_relation(declared, reader)
        elif declared is not None and reader.token == "source":
            declarations.read_source(declared, reader)
        elif declared is not None and reader.token == "action":
            declarations.read_action(declared, reader)
        elif declared is not None:
            self._read_inherit(block, declared, indent, reader)

    def _read_type(self, indent: str, reader: LineReader) -> None:
        declared = self._last_type = TypeDeclaration(NameAt("", reader.line, reader.column))
        self._open(Block("type", indent, 1, NameAt("type", reader.line, reader.column), declared=declared))
        self._declarations.read_type(declared, reader)

    def _read_inherit(self, block: Block, declared: TypeDeclaration, indent: str, reader: LineReader) -> None:
        """Reads `inherit R if`, behind which a rule may follow on the same line."""
        begin = NameAt("inherit", reader.line, reader.column)
        inherited = Block("rules", indent, block.level + 1, begin, declared=declared, most=1, is_faulty=True)
        self._open(inherited)
        name = self._declarations.read_inherit(declared, inherited.rules, reader)
        inherited.begin, inherited.is_faulty = begin._replace(text=f"inherit {name.text} if"), False
        if reader.token:
            self._read_rule(inherited, indent, reader)

    def _read_rule(self, block: Block, indent: str, reader: LineReader) -> None:
        word = reader.token
        inner = Block("rules", indent, block.level + 1, NameAt(word, reader.line, reader.column), is_faulty=True)
        inner.declared = block.declared
        if find_operator(word) is not None:
            self._open(inner)
        rule = self._read_only_rule(block, reader)
        inner.rules, inner.is_faulty = rule.rules, False
        if block.declared is not None:
            self._declarations.note_rule(block.declared, rule)

    def _read_only_rule(self, block: Block, reader: LineReader) -> RuleClause:
        """Returns the rule that is next, without those in it."""
        try:
            if block.most is not None and len(block.rules) >= block.most:
                message = f"{block.begin.text} has one rule; write {join_words()}, and the rules below it"
                raise reader.refuse("several_rules", message)
            rule = read_rule(reader, self._declarations.require)
        except StatementRefusal:
            block.is_faulty = True
            raise
        block.rules.append(rule)
        return rule


def _count_blanks(indent: str) -> str:
    kind = "tab" if indent and not indent.strip("\t") else "blank"
    return f"{len(indent)} {kind}{'' if len(indent) == 1 else 's'}" if indent else "nothing"


_STATEMENTS: Mapping[BlockKind, Sequence[str]] = {
    "model": ("version", "type", "policy"),
    "type": ("relation", "inherit", "source", "action"),
}


def _list_statements(kind: BlockKind) -> Sequence[str]:
    """Returns the words with which the statements of a block begin."""
    return _STATEMENTS[kind] if kind in _STATEMENTS else list_rule_words()


def _find_place(word: str) -> BlockKind | None:
    """Returns the block where the statement that begins with a word belongs, if it stands in another."""
    kinds: Sequence[BlockKind] = ("model", "type", "rules")
    return next((kind for kind in kinds if word in _list_statements(kind)), None)


_FOREIGN_WORDS = {"define": "relation", "permission": "relation", "definition": "type", "condition": "policy"}
"""Maps the words of other languages to ours, for suggestions."""


LineKind = Literal["blank", "comment", "description", "statement", "policy"]


@dataclass(slots=True)
class TextLine:
    """Represents a line of a text; a policy takes several, up to `last`.

    `level` is how deep it is nested. `offset` is where the line begins in the text, `start` and `end` are where what is
    written on it does, without blanks around."""

    kind: LineKind
    number: int
    offset: int
    start: int
    end: int
    last: int
    level: int = 0


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


def parse_model(text: str, max_characters: int = MAX_MODEL_CHARACTERS) -> ParsedModel:
    """Returns the model of a text. Its faults are those of the language; lint.py finds the others."""
    if len(text) > max_characters:
        message = f"a model has at most {max_characters} characters; this one has {len(text)}"
        return ParsedModel(ModelDocument(), (ModelFault("model_too_large", message, 1, 1),), "", [], strays=[])
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
        return ParsedModel(declared.document, tuple(faults), self._text, self._lines, strays=declared.strays)

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
        line = TextLine(kind, self._number, offset, start, end=end, last=self._number)
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
        reader = LineReader(self._text, self._number, offset, start, line_end=end)
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
        behind = LineReader(self._text, self._number, begin, close + 1, line_end=end)
        if behind.token:
            self._report(behind.refuse("unexpected_token", f"expected the end of the line, found {behind.next_token}"))
        return end + 1

    def _skip_policy(self, end: int) -> int:
        """Returns where the next declaration begins, behind a policy whose own end is not known."""
        declaration = _DECLARATION.search(self._text, end)
        start = declaration.end() if declaration is not None else len(self._text) + 1
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
        self._faults.append(refusal.fault._replace(line=self._number if line is None else line))
