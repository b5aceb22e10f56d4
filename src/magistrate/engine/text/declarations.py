"""Adds what statements declare to the document, and checks what can be seen only of several statements at once."""

from typing import Protocol

from magistrate.engine.names import nearest_name
from magistrate.engine.text.document import (
    NEWEST_VERSION,
    VERSIONS,
    ModelDocument,
    NameAt,
    PolicyDeclaration,
    RelationDeclaration,
    RuleClause,
    TypeDeclaration,
)
from magistrate.engine.text.faults import StatementRefusal
from magistrate.engine.text.statements import (
    LineReader,
    join_words,
    read_allowed,
    read_parameters,
    read_policy_name,
    read_relation_name,
    read_source,
    read_type_name,
    read_version,
)

MAX_DESCRIPTION_LENGTH = 2_000
"""Limits a description in characters."""


class ReportFault(Protocol):
    """Keeps a fault; its line is the one that is being read, if none is given."""

    def __call__(self, refusal: StatementRefusal, line: int | None = None) -> None: ...


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
            first = self.document.types[name.text].name.line
            message = f"type {name.text} is declared twice, first in line {first}"
            raise StatementRefusal("repeated_declaration", message, name.column)
        self.document.types[name.text] = declared
        reader.demand_end()

    def read_relation(self, of_type: TypeDeclaration, reader: LineReader) -> None:
        description = self._take_description()
        reader.advance()
        name = read_relation_name(reader)
        declared = RelationDeclaration(name, description=description)
        if name.text in of_type.relations:
            first = of_type.relations[name.text].name.line
            message = f"relation {name.text} is declared twice, first in line {first}"
            self.report(StatementRefusal("repeated_declaration", message, name.column))
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
            first = self.document.policies[name.text].name.line
            message = f"policy {name.text} is declared twice, first in line {first}"
            self.report(StatementRefusal("repeated_declaration", message, name.column))
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

    def _check_self(self, of_type: TypeDeclaration, rule: RuleClause) -> None:
        """Reports a rule that JSON could not distinguish from another: there, `self` is the relation of this name if
        the type has one."""
        if rule.kind == "self" and "self" in of_type.relations:
            message = f"type {of_type.name.text} has a relation self; `self` cannot mean the object"
            self.report(StatementRefusal("ambiguous_self", message, rule.column, "relation self"), rule.line)
        elif rule.kind == "computed" and "self" not in of_type.relations:
            message = f"relation self is not defined on {of_type.name.text}"
            self.report(StatementRefusal("unknown_relation", message, rule.relation.column, "self"), rule.line)
