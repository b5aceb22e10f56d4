"""Reads single statements: relations with their brackets, rules, and the heads of policies. What they declare is added
to the document, and what can be seen only of several of them is checked at the end."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from magistrate.engine.model.actions import describe_action_fault
from magistrate.engine.names import nearest_name
from magistrate.engine.rules import RULE_OPERATORS
from magistrate.engine.terms import KEYWORDS, MAX_DESCRIPTION_LENGTH, MAX_NAME_LENGTH
from magistrate.engine.text.document import (
    NEWEST_VERSION,
    PARAMETER_TYPES,
    VERSIONS,
    ActionDeclaration,
    AllowedClause,
    ModelDocument,
    NameAt,
    PolicyDeclaration,
    RelationDeclaration,
    RuleClause,
    TypeDeclaration,
)
from magistrate.engine.text.faults import StatementRefusal

TOKEN = re.compile(r"[A-Za-z0-9_-]++|//[^\n]*+|[^ \t\r\n]")
"""Matches a word, a comment, or any other character."""

_WORD = re.compile(r"[A-Za-z0-9_-]+")
QUOTED = re.compile(r'"([^"\n]*+)"')
"""Matches the name of an action. It has no escapes, because no name contains a quote."""


class LineReader:
    """Reads a line of a text from left to right. `token` is the next word or sign, empty at the end of the line, and
    `column` is where it begins, from 1."""

    __slots__ = ("_end", "_line_end", "_start", "_text", "_tokens", "column", "line", "token")

    def __init__(self, text: str, line: int, start: int, offset: int, line_end: int) -> None:
        """`start` is the offset of the line, `offset` that of its first word."""
        self.line = line
        self._text = text
        self._start = start
        self._line_end = line_end
        self._tokens = TOKEN.finditer(text, offset, line_end)
        self._end = offset
        self.advance()

    def advance(self) -> None:
        """Goes to the next token. A comment is where the line ends."""
        match = next(self._tokens, None)
        if match is None:
            self._end_here()
            return
        self.token = match[0]
        if self.token.startswith("//"):
            self._end_here()
            return
        self.column = match.start() - self._start + 1
        self._end = match.end()

    def _end_here(self) -> None:
        self.token = ""
        self.column = self._end - self._start + 1

    def take(self, token: str) -> bool:
        """Goes past a token, if it is the next one; returns whether it was."""
        is_next = self.token == token
        if is_next:
            self.advance()
        return is_next

    def demand(self, token: str, context: str) -> None:
        """Goes past a token. Raises StatementRefusal if another one is next."""
        if not self.take(token):
            raise self.refuse("unexpected_token", f"expected {token} {context}, found {self.next_token}")

    def take_name(self, kind: str) -> NameAt:
        """Returns the next word. Raises StatementRefusal if no word is next; `kind` says what it would be."""
        if not _WORD.match(self.token):
            raise self.refuse("missing_name", f"expected {kind}, found {self.next_token}")
        name = NameAt(self.token, self.line, self.column)
        self.advance()
        return name

    def take_quoted(self, kind: str) -> NameAt:
        """Returns what is in double quotes, which are next. Raises StatementRefusal if they are not."""
        match = QUOTED.match(self._text, self._start + self.column - 1, self._line_end) if self.token else None
        if match is None:
            raise self.refuse("missing_name", f"expected {kind} in double quotes, found {self.next_token}")
        name = NameAt(match[1], self.line, self.column)
        self._tokens = TOKEN.finditer(self._text, match.end(), self._line_end)
        self._end = match.end()
        self.advance()
        return name

    def demand_end(self) -> None:
        """Raises StatementRefusal unless the line ends here."""
        if self.token:
            raise self.refuse("unexpected_token", f"expected the end of the line, found {self.next_token}")

    @property
    def remaining(self) -> str:
        """Returns the line from the next token on."""
        return self._text[self._start + self.column - 1 : self._line_end]

    def find_last(self, sign: str) -> int:
        """Returns the column of the last such character of the line, or 0."""
        return max(0, self._text.rfind(sign, self._start, self._line_end) - self._start + 1)

    @property
    def next_token(self) -> str:
        """Returns the next token as messages show it."""
        if not self.token:
            return "the end of the line"
        if self.token.isprintable():
            return f"'{self.token[:64]}'"
        return f"the character U+{ord(self.token[0]):04X}"

    def refuse(self, code: str, message: str, suggestion: str = "") -> StatementRefusal:
        """Returns the error at the next token."""
        return StatementRefusal(code, message, self.column, suggestion)


Require = Callable[[str, str, int], None]
"""Checks that the version of a text has something: takes the version, what it is, and its column."""

_TYPE_NAME = re.compile(r"[a-z0-9_-]+")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_version(reader: LineReader) -> str:
    """Returns the version, which is next."""
    written = reader.remaining.partition("//")[0].strip()
    if not written:
        raise reader.refuse("unknown_version", f"expected a version: {', '.join(VERSIONS)}")
    if written not in VERSIONS:
        message = f"version '{written[:64]}' is not known; the versions are {', '.join(VERSIONS)}"
        raise reader.refuse("unknown_version", message, nearest_name(written, VERSIONS))
    return written


def read_type_name(reader: LineReader, kind: str = "the name of a type") -> NameAt:
    name = reader.take_name(kind)
    if not _TYPE_NAME.fullmatch(name.text):
        message = f"the name of a type has lower-case letters, digits, - and _; '{name.text[:64]}' has others"
        raise StatementRefusal("invalid_name", message, name.column, name.text.lower()[:64])
    return _check_length(name)


def read_relation_name(reader: LineReader, kind: str = "the name of a relation") -> NameAt:
    name = reader.take_name(kind)
    if name.text in KEYWORDS:
        message = f"'{name.text}' is a keyword and cannot be the name of a relation"
        raise StatementRefusal("invalid_name", message, name.column)
    return _check_length(name)


def read_policy_name(reader: LineReader) -> NameAt:
    return _check_length(reader.take_name("the name of a policy"))


def _check_length(name: NameAt) -> NameAt:
    if len(name.text) > MAX_NAME_LENGTH:
        message = f"a name has at most {MAX_NAME_LENGTH} characters; this one has {len(name.text)}"
        raise StatementRefusal("invalid_name", message, name.column)
    return name


def read_allowed(reader: LineReader, require: Require) -> list[AllowedClause]:
    """Returns what stands in the brackets of a relation, the first of which is next."""
    require("0.2", "brackets behind a relation", reader.column)
    reader.demand("[", "before the allowed types")
    if reader.take("]"):
        return []
    allowed: dict[str, AllowedClause] = {}
    while not allowed or reader.take(","):
        column = reader.column
        clause = _read_allowed_type(reader, require)
        if clause.text in allowed:
            raise StatementRefusal("repeated_type", f"{clause.text} stands in the brackets twice", column)
        allowed[clause.text] = clause
    reader.demand("]", "behind the allowed types")
    return [*allowed.values()]


def _read_allowed_type(reader: LineReader, require: Require) -> AllowedClause:
    clause = AllowedClause(read_type_name(reader, "a type"))
    if reader.token == ":":
        require("1.0", "a wildcard in brackets", reader.column)
        reader.advance()
        reader.demand("*", "behind the colon")
        clause.is_wildcard = True
    if reader.take("#"):
        clause.relation = read_relation_name(reader)
    return clause


def read_rule(reader: LineReader, require: Require) -> RuleClause:
    """Returns the rule that begins at the next word; a group has no rules yet."""
    line, column, word = reader.line, reader.column, reader.token
    words = list_rule_words()
    if word not in words:
        message = f"expected a rule ({', '.join(words)}), found {reader.next_token}"
        raise reader.refuse("unknown_keyword", message, nearest_name(word, words) if word else "")
    reader.advance()
    rule = _READERS[word](reader, word, column, require) if word in _READERS else RuleClause(word)
    rule.line, rule.column = line, column
    reader.demand_end()
    return rule


def _read_relation_rule(reader: LineReader, word: str, column: int, require: Require) -> RuleClause:
    relation = read_relation_name(reader)
    if reader.token == "for":
        require("1.0", "`for all`", reader.column)
        reader.advance()
        reader.demand("all", "behind for")
        link, types = _read_link(reader, "for all")
        if len(types) > 1:
            message = "`for all` has one type in its brackets; write a rule for each type"
            raise StatementRefusal("several_types", message, types[1].column)
        return RuleClause("for_all", (relation, link, *types))
    if reader.take("on"):
        link, types = _read_link(reader, "on")
        return RuleClause("arrow", (relation, link, *types))
    if reader.token:
        message = f"expected on or the end of the line, found {reader.next_token}"
        raise reader.refuse("unexpected_token", message, nearest_name(reader.token, ("on", "for all")))
    return RuleClause("computed", (relation,))


def _read_link(reader: LineReader, word: str) -> tuple[NameAt, list[NameAt]]:
    link = read_relation_name(reader, f"the name of a relation behind {word}")
    reader.demand("[", f"behind {word} {link.text[:64]}, with the types of the related objects")
    types: dict[str, NameAt] = {}
    while not types or reader.take(","):
        name = read_type_name(reader, "a type")
        if name.text in types:
            raise StatementRefusal("repeated_type", f"{name.text} stands in the brackets twice", name.column)
        types[name.text] = name
    if reader.token in ("#", ":"):
        message = f"the brackets behind {word} hold types of objects only, without {reader.token}"
        raise reader.refuse("unexpected_token", message)
    reader.demand("]", "behind the types")
    return link, [*types.values()]


def _read_policy_rule(reader: LineReader, word: str, column: int, require: Require) -> RuleClause:
    require("0.3", "policies", column)
    return RuleClause("policy", (read_policy_name(reader),))


def _read_self(reader: LineReader, word: str, column: int, require: Require) -> RuleClause:
    require("1.0", f"`{word}`", column)
    return RuleClause("self" if word == "self" else "nobody")


_READERS: Mapping[str, Callable[[LineReader, str, int, Require], RuleClause]] = {
    "relation": _read_relation_rule,
    "policy": _read_policy_rule,
    "self": _read_self,
    "nobody": _read_self,
}


def join_words() -> str:
    """Returns the words that join several rules to one."""
    return " or ".join(operator.words.text for operator in RULE_OPERATORS.values() if operator.is_associative)


def list_rule_words() -> Sequence[str]:
    """Returns the words that a rule can begin with: those of operators begin a group."""
    return (*_READERS, *(operator.words.text for operator in RULE_OPERATORS.values()))


def read_parameters(reader: LineReader) -> dict[str, str]:
    """Returns the parameters of a policy, whose first bracket is next."""
    reader.demand("(", "behind the name of a policy")
    parameters: dict[str, str] = {}
    if reader.take(")"):
        return parameters
    while not parameters or reader.take(","):
        name = reader.take_name("the name of a parameter")
        if not _PARAMETER.fullmatch(name.text):
            message = f"the name of a parameter has letters, digits and _, and begins with no digit: '{name.text[:64]}'"
            raise StatementRefusal("invalid_name", message, name.column)
        if name.text in parameters:
            raise StatementRefusal("repeated_parameter", f"parameter {name.text[:64]} is there twice", name.column)
        parameters[name.text] = _read_parameter_type(reader, name.text)
    reader.demand(")", "behind the parameters")
    return parameters


def _read_parameter_type(reader: LineReader, name: str) -> str:
    of_type = reader.take_name(f"the type of parameter {name[:64]}")
    if of_type.text not in PARAMETER_TYPES:
        message = f"'{of_type.text[:64]}' is not the type of a parameter; the types are {', '.join(PARAMETER_TYPES)}"
        suggestion = nearest_name(of_type.text, PARAMETER_TYPES)
        raise StatementRefusal("unknown_parameter_type", message, of_type.column, suggestion)
    return of_type.text


_DECODER = json.JSONDecoder()


def read_source(reader: LineReader) -> str:
    """Returns the text of the JSON object that is next. Raises StatementRefusal."""
    written = reader.remaining
    try:
        value, end = _DECODER.raw_decode(written)
    except (ValueError, RecursionError):
        value, end = None, 0
    if not isinstance(value, dict):
        raise reader.refuse("invalid_source", "expected a JSON object behind source, on the same line")
    if written[end:].partition("//")[0].strip():
        message = "expected the end of the line behind the object"
        raise StatementRefusal("unexpected_token", message, reader.column + end)
    return written[:end]


class ReportFault(Protocol):
    """Keeps a fault; its line is the one that is being read, if none is given."""

    def __call__(self, refusal: StatementRefusal, line: int | None = None) -> None: ...


def _refuse_repeated(noun: str, name: NameAt, first: NameAt) -> StatementRefusal:
    message = f"{noun} {name.text} is declared twice, first in line {first.line}"
    return StatementRefusal("repeated_declaration", message, name.column)


class Declarations:
    """Holds the document that is being read. `policy` is the one whose expression begins at the column `bracket` of the
    line, until the parser has read it."""

    def __init__(self, report: ReportFault) -> None:
        self.document = ModelDocument()
        self.policy: PolicyDeclaration | None = None
        self.bracket = 0
        self.strays: list[NameAt] = []
        self.report = report
        self._has_version = False
        self._misses_version = False
        self._description: list[str] = []
        self._description_at = NameAt("///")
        self._required: set[str] = set()
        self._self_rules: list[tuple[TypeDeclaration, RuleClause]] = []

    def describe(self, description: str, line: int, column: int) -> None:
        """Adds a line to the description of what the next statement declares."""
        if "\0" in description:
            refusal = StatementRefusal("invalid_description", "a description cannot have the character U+0000", column)
            self.report(refusal, line)
        self._description.append(description)
        self._description_at = NameAt("///", line, column)

    def end_statement(self) -> None:
        """Keeps the place of a description that described nothing."""
        if self._description:
            self.strays.append(self._description_at)
            self._description.clear()

    def _take_description(self) -> str:
        description = "\n".join(self._description)
        self._description.clear()
        if len(description) > MAX_DESCRIPTION_LENGTH:
            message = f"a description has at most {MAX_DESCRIPTION_LENGTH} characters; this one has {len(description)}"
            at = self._description_at
            self.report(StatementRefusal("invalid_description", message, at.column), at.line)
        return description

    def require(self, version: str, what: str, column: int) -> None:
        """Reports a fault, once, if the version of the text is older than this one."""
        written = self.document.version
        if VERSIONS.index(written) < VERSIONS.index(version) and what not in self._required:
            self._required.add(what)
            message = f"{what} came with version {version} of the language; this text has version {written}"
            self.report(StatementRefusal("needs_version", message, column, f"version {version}"))

    def read_version(self, reader: LineReader) -> None:
        if self._has_version:
            raise reader.refuse("repeated_version", "the version is written twice")
        self._has_version = True
        if self._misses_version:
            self.report(reader.refuse("misplaced_version", "the version must be the first statement"))
        reader.advance()
        self.document.version = read_version(reader)

    def _begin_declaration(self, reader: LineReader) -> None:
        if not self._has_version and not self._misses_version:
            self._misses_version = True
            self.report(
                reader.refuse(
                    "missing_version", "a model begins with the version of its language", f"version {NEWEST_VERSION}"
                )
            )

    def read_type(self, declared: TypeDeclaration, reader: LineReader) -> None:
        self._begin_declaration(reader)
        declared.description = self._take_description()
        reader.advance()
        name = declared.name = read_type_name(reader)
        if name.text in self.document.types:
            raise _refuse_repeated("type", name, self.document.types[name.text].name)
        self.document.types[name.text] = declared
        reader.demand_end()

    def read_relation(self, of_type: TypeDeclaration, reader: LineReader) -> None:
        description = self._take_description()
        reader.advance()
        name = read_relation_name(reader)
        declared = RelationDeclaration(name, description=description)
        if name.text in of_type.relations:
            self.report(_refuse_repeated("relation", name, of_type.relations[name.text].name))
        else:
            of_type.relations[name.text] = declared
        if reader.token:
            if reader.token != "[":
                message = f"expected [ or the end of the line, found {reader.next_token}"
                raise reader.refuse("unexpected_token", message)
            declared.allowed = read_allowed(reader, self.require)
            reader.demand_end()

    def read_inherit(self, of_type: TypeDeclaration, rules: list[RuleClause], reader: LineReader) -> NameAt:
        """Reads `inherit R if`, whose rules will be added to the list, and returns R."""
        reader.advance()
        name = read_relation_name(reader)
        if name.text in of_type.inherits:
            first = of_type.inherits[name.text][0].line
            message = f"relation {name.text} has two rules, the first in line {first}; join them with {join_words()}"
            self.report(StatementRefusal("repeated_declaration", message, name.column))
        else:
            of_type.inherits[name.text] = (name, rules)
        reader.demand("if", f"behind inherit {name.text[:64]}")
        return name

    def read_action(self, of_type: TypeDeclaration, reader: LineReader) -> None:
        self.require("1.0", "`action`", reader.column)
        reader.advance()
        name = reader.take_quoted("the name of an action")
        reader.demand("is", "behind the name of an action")
        action = ActionDeclaration(name, read_relation_name(reader))
        reader.demand_end()
        if name.text in of_type.actions:
            raise _refuse_repeated("action", name, of_type.actions[name.text].name)
        of_type.actions[name.text] = action

    def read_source(self, of_type: TypeDeclaration, reader: LineReader) -> None:
        self.require("1.0", "`source`", reader.column)
        if of_type.source:
            raise reader.refuse("repeated_declaration", "the source of a type is written twice")
        reader.advance()
        of_type.source = read_source(reader)

    def read_policy(self, reader: LineReader) -> None:
        """Reads a policy up to the bracket behind which its expression begins."""
        self._begin_declaration(reader)
        self.require("0.3", "policies", reader.column)
        description = self._take_description()
        declared = PolicyDeclaration(NameAt("", reader.line, reader.column), description=description)
        try:
            self._read_signature(declared, reader)
        except StatementRefusal as refusal:
            # The expression is skipped all the same, or each of its lines would be a fault.
            self.report(refusal)
            bracket = reader.find_last("{")
            if bracket:
                self.policy, self.bracket = declared, bracket

    def _read_signature(self, declared: PolicyDeclaration, reader: LineReader) -> None:
        reader.advance()
        name = declared.name = read_policy_name(reader)
        if name.text in self.document.policies:
            self.report(_refuse_repeated("policy", name, self.document.policies[name.text].name))
        else:
            self.document.policies[name.text] = declared
        declared.parameters = read_parameters(reader)
        bracket = reader.column
        reader.demand("{", "behind the parameters")
        self.policy, self.bracket = declared, bracket

    def note_rule(self, of_type: TypeDeclaration, rule: RuleClause) -> None:
        """Keeps a rule whose meaning depends on whether its type has a relation called `self`."""
        if rule.kind == "self" or (rule.kind == "computed" and rule.relation.text == "self"):
            self._self_rules.append((of_type, rule))

    def finish(self, last_line: int) -> None:
        """Connects the rules with their relations, and reports the faults of the whole text."""
        if not self._has_version and not self._misses_version:
            message = "a model begins with the version of its language"
            self.report(StatementRefusal("missing_version", message, 1, f"version {NEWEST_VERSION}"), 1)
        for declared in self.document.types.values():
            for name, rules in declared.inherits.values():
                self._connect(declared, name, rules)
            for action in declared.actions.values():
                self._check_action(declared, action)
        for of_type, rule in self._self_rules:
            self._check_self(of_type, rule)

    def _connect(self, declared: TypeDeclaration, name: NameAt, rules: list[RuleClause]) -> None:
        relation = declared.relations.get(name.text)
        if relation is None:
            message = f"type {declared.name.text} declares no relation {name.text}"
            suggestion = nearest_name(name.text, declared.relations)
            self.report(StatementRefusal("undeclared_relation", message, name.column, suggestion), name.line)
        elif rules:
            relation.inherit, relation.rule = name, rules[0]

    def _check_action(self, declared: TypeDeclaration, action: ActionDeclaration) -> None:
        name, relation = action
        if fault := describe_action_fault(name.text, declared.relations):
            self.report(StatementRefusal("invalid_action", fault, name.column), name.line)
        elif relation.text not in declared.relations:
            message = f"type {declared.name.text} declares no relation {relation.text}"
            suggestion = nearest_name(relation.text, declared.relations)
            self.report(StatementRefusal("undeclared_relation", message, relation.column, suggestion), relation.line)

    def _check_self(self, of_type: TypeDeclaration, rule: RuleClause) -> None:
        """Reports a rule that JSON could not distinguish from another: there, `self` is the relation of this name if
        the type has one."""
        if rule.kind == "self" and "self" in of_type.relations:
            message = f"type {of_type.name.text} has a relation self; `self` cannot mean the object"
            self.report(StatementRefusal("ambiguous_self", message, rule.column, "relation self"), rule.line)
        elif rule.kind == "computed" and "self" not in of_type.relations:
            message = f"relation self is not defined on {of_type.name.text}"
            self.report(StatementRefusal("unknown_relation", message, rule.relation.column, "self"), rule.line)
