"""Keeps the blocks that are open while a text is read, and decides what a statement may be by the block it stands in.

A block is what is indented deeper than the statement that begins it. The words of a statement are looked up in
_STATEMENTS by the kind of the block: a new statement is a row there.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from magistrate.engine.model_text.declaring import Declarations, ReportFault
from magistrate.engine.model_text.document import GROUPS, NameAt, RuleClause, TypeDeclaration
from magistrate.engine.model_text.faults import StatementRefusal
from magistrate.engine.model_text.statements import RULE_WORDS, read_rule
from magistrate.engine.model_text.tokens import LineReader
from magistrate.engine.suggestions import nearest_name

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
        fitting = (one for one in reversed(self._blocks) if one.inner is not None and len(one.inner) <= width)
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
        word = reader.token
        if word in _STATEMENTS[block.kind]:
            _STATEMENTS[block.kind][word](self, block, indent, reader)
        elif word in _PLACES:
            self._read_misplaced(word, block, indent, reader)
        else:
            self._read_misspelled(block, indent, reader)

    def _read_misspelled(self, block: Block, indent: str, reader: LineReader) -> None:
        """Reports a word that no statement begins with, and reads the statement as if it began with the most similar
        word, so that what stands below it is not misunderstood."""
        words = _STATEMENTS[block.kind]
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
                words[meant](self, block, indent, reader)

    def _read_misplaced(self, word: str, block: Block, indent: str, reader: LineReader) -> None:
        """Reports a statement that stands in a block where it has no meaning, and reads it where it has one."""
        kind: BlockKind = "rules" if word == "policy" and "(" not in reader.remaining else _PLACES[word]
        if kind == "model":
            message = f"{word} must begin at the left margin"
            home: Block | None = self._blocks[0]
        elif kind == "type":
            message = f"{word} must stand directly below a type, indented"
            home = next((one for one in reversed(self._blocks) if one.kind == "type"), None) or self._reopen_type()
        else:
            message = f"the rule {word} must stand below `inherit … if`, indented deeper"
            home = None
            if word in GROUPS:  # what stands below it belongs to it
                begin = NameAt(word, reader.line, reader.column)
                self._open(Block("rules", indent, block.level + 1, begin, declared=block.declared, is_faulty=True))
        self._declarations.report(reader.refuse("misplaced_statement", message), reader.line)
        if home is not None:
            while kind == "model" and len(self._blocks) > 1:
                self._close_last()
            _STATEMENTS[kind][word](self, home, indent, reader)

    def _reopen_type(self) -> Block | None:
        declared = self._last_type
        return Block("type", "", 1, declared.name, declared=declared) if declared is not None else None

    def _open(self, block: Block) -> None:
        if block.level > MAX_NESTING:
            raise StatementRefusal("too_deep", f"blocks nest {MAX_NESTING} deep at most", block.begin.column)
        self._blocks.append(block)

    # What statements do

    def _read_version(self, block: Block, indent: str, reader: LineReader) -> None:
        self._declarations.read_version(reader)

    def _read_type(self, block: Block, indent: str, reader: LineReader) -> None:
        declared = self._last_type = TypeDeclaration(NameAt("", reader.line, reader.column))
        self._open(Block("type", indent, 1, NameAt("type", reader.line, reader.column), declared=declared))
        self._declarations.read_type(declared, reader)

    def _read_policy(self, block: Block, indent: str, reader: LineReader) -> None:
        self._declarations.read_policy(reader)

    def _read_relation(self, block: Block, indent: str, reader: LineReader) -> None:
        assert block.declared is not None
        self._declarations.read_relation(block.declared, reader)

    def _read_source(self, block: Block, indent: str, reader: LineReader) -> None:
        assert block.declared is not None
        self._declarations.read_source(block.declared, reader)

    def _read_inherit(self, block: Block, indent: str, reader: LineReader) -> None:
        """Reads `inherit R if`, behind which a rule may follow on the same line."""
        assert block.declared is not None
        begin = NameAt("inherit", reader.line, reader.column)
        inherited = Block("rules", indent, block.level + 1, begin, declared=block.declared, most=1, is_faulty=True)
        self._open(inherited)
        name = self._declarations.read_inherit(block.declared, inherited.rules, reader)
        inherited.begin, inherited.is_faulty = begin._replace(text=f"inherit {name.text} if"), False
        if reader.token:
            self._read_rule(inherited, indent, reader)

    def _read_rule(self, block: Block, indent: str, reader: LineReader) -> None:
        word = reader.token
        inner = Block("rules", indent, block.level + 1, NameAt(word, reader.line, reader.column), is_faulty=True)
        inner.declared = block.declared
        if word in GROUPS:
            self._open(inner)
        rule = self._read_only_rule(block, reader)
        inner.rules, inner.is_faulty = rule.rules, False
        if block.declared is not None:
            self._declarations.note_rule(block.declared, rule)

    def _read_only_rule(self, block: Block, reader: LineReader) -> RuleClause:
        """Returns the rule that is next, without those in it."""
        try:
            if block.most is not None and len(block.rules) >= block.most:
                message = f"{block.begin.text} has one rule; write any_of or all_of, and the rules below it"
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


Statement = Callable[[BlockStack, Block, str, LineReader], None]

_STATEMENTS: Mapping[BlockKind, Mapping[str, Statement]] = {
    "model": {
        "version": BlockStack._read_version,
        "type": BlockStack._read_type,
        "policy": BlockStack._read_policy,
    },
    "type": {
        "relation": BlockStack._read_relation,
        "inherit": BlockStack._read_inherit,
        "source": BlockStack._read_source,
    },
    "rules": dict.fromkeys(RULE_WORDS, BlockStack._read_rule),
}

_PLACES: Mapping[str, BlockKind] = {
    **dict.fromkeys(RULE_WORDS, "rules"),
    **dict.fromkeys(_STATEMENTS["type"], "type"),
    **dict.fromkeys(_STATEMENTS["model"], "model"),
}
"""Maps a word to the block where the statement that begins with it belongs, if it stands in another."""

_FOREIGN_WORDS = {"define": "relation", "permission": "relation", "definition": "type", "condition": "policy"}
"""Maps the words of other languages to ours, for suggestions."""
