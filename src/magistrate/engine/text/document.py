"""Defines the document that the text of a model is read into: declarations in written order, with their positions.

A document says exactly what the JSON of a model says (json_documents.py converts between them); its positions are for
messages. Comments are kept by the lines of a text (parser.py), not here.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from magistrate.errors import InvalidParameter

VERSIONS = ("0.1", "0.2", "0.3", "1.0")
"""Lists the versions of the language, the oldest first (docs/models.md#versions)."""
NEWEST_VERSION = VERSIONS[-1]

RuleKind = str
"""Is computed, arrow, for_all, self, nobody or policy; for a group, the word of its operator in texts."""

PARAMETER_TYPES = ("string", "integer", "boolean", "float", "array", "map", "any")
"""Lists the types that a parameter of a policy can have."""


class NameAt(NamedTuple):
    """Holds a name and where it was written, both counted from 1; 0 if it was written in JSON."""

    text: str
    line: int = 0
    column: int = 0


@dataclass(slots=True)
class AllowedClause:
    """Represents one element of the brackets of a relation: `user`, `user:*`, `group#member` or `group:*#member`."""

    type: NameAt
    is_wildcard: bool = False
    relation: NameAt | None = None

    @property
    def text(self) -> str:
        """Returns the element as JSON has it."""
        wildcard = ":*" if self.is_wildcard else ""
        return f"{self.type.text}{wildcard}{f'#{self.relation.text}' if self.relation else ''}"


@dataclass(slots=True)
class RuleClause:
    """Represents a rule.

    `names` are the relation of a computed rule; the relation, the linking relation and the types of an arrow or of
    `for all`; or the name of a policy. `rules` are those of a group. `line` and `column` are where it begins."""

    kind: RuleKind
    names: tuple[NameAt, ...] = ()
    rules: "list[RuleClause]" = field(default_factory=list)
    line: int = 0
    column: int = 0

    @property
    def relation(self) -> NameAt:
        """Returns the relation that a computed rule, an arrow or `for all` requires."""
        return self.names[0]

    @property
    def link(self) -> NameAt:
        """Returns the relation through which an arrow or `for all` finds related objects."""
        return self.names[1]

    @property
    def types(self) -> tuple[NameAt, ...]:
        """Returns the types of the related objects of an arrow or of `for all`."""
        return self.names[2:]


@dataclass(slots=True)
class RelationDeclaration:
    """Represents a relation. `allowed` is None if its warrants may have any subject. `rule` is None if only warrants
    give it; `inherit` is then meaningless, and otherwise the name behind `inherit`."""

    name: NameAt
    allowed: list[AllowedClause] | None = None
    rule: RuleClause | None = None
    description: str = ""
    inherit: NameAt | None = None


class ActionDeclaration(NamedTuple):
    """Represents the name of an action, and the relation that it stands for."""

    name: NameAt
    relation: NameAt


@dataclass(slots=True)
class TypeDeclaration:
    """Represents an object type. `source` is the text of a JSON object, or empty. `inherits` has the rules of relations
    as they were written, by relation, until the whole text has been read. `actions` are by name."""

    name: NameAt
    relations: dict[str, RelationDeclaration] = field(default_factory=dict)
    description: str = ""
    source: str = ""
    inherits: dict[str, tuple[NameAt, list[RuleClause]]] = field(default_factory=dict)
    actions: dict[str, ActionDeclaration] = field(default_factory=dict)


class ExpressionPosition(NamedTuple):
    """Says where an expression was written: its first line, the column at which that line begins, and the column at
    which all others begin."""

    line: int
    first_column: int
    column: int


NOWHERE = ExpressionPosition(0, 1, 1)


@dataclass(slots=True)
class PolicyDeclaration:
    """Represents a named policy; `parameters` are the types by name."""

    name: NameAt
    parameters: dict[str, str] = field(default_factory=dict)
    expression: str = ""
    description: str = ""
    at: ExpressionPosition = NOWHERE


@dataclass(slots=True)
class ModelDocument:
    """Represents a whole model."""

    version: str = NEWEST_VERSION
    types: dict[str, TypeDeclaration] = field(default_factory=dict)
    policies: dict[str, PolicyDeclaration] = field(default_factory=dict)

    def relation(self, of_type: str, relation: str) -> RelationDeclaration | None:
        """Returns the declaration of a relation, or None."""
        declared = self.types.get(of_type)
        return declared.relations.get(relation) if declared is not None else None


MAX_ADDED_TYPES = 100_000
"""Limits the elements that are added to all brackets of a model."""


def exact_document(document: ModelDocument) -> ModelDocument:
    """Returns the document in the newest version.

    Up to version 0.3, `[group]` also allows all usersets of groups if the brackets have none of them; in version 1.0
    each is written down. Raises InvalidParameter if that makes the model much too large."""
    if document.version == NEWEST_VERSION:
        return document
    usersets = {name: [*map(NameAt, declared.relations)] for name, declared in document.types.items()}
    budget = MAX_ADDED_TYPES
    types: dict[str, TypeDeclaration] = {}
    for name, declared in document.types.items():
        relations: dict[str, RelationDeclaration] = {}
        for relation, declaration in declared.relations.items():
            allowed = declaration.allowed
            if allowed:
                allowed = _add_usersets(allowed, usersets, budget)
                budget -= len(allowed)
            relations[relation] = replace(declaration, allowed=allowed)
        types[name] = replace(declared, relations=relations)
    return ModelDocument(NEWEST_VERSION, types, document.policies)


def _add_usersets(allowed: list[AllowedClause], usersets: dict[str, list[NameAt]], budget: int) -> list[AllowedClause]:
    restricted = {clause.type.text for clause in allowed if clause.relation is not None}
    exact: list[AllowedClause] = []
    for clause in allowed:
        exact.append(clause)
        if clause.relation is None and clause.type.text not in restricted:
            relations = usersets.get(clause.type.text, [])
            if len(exact) + len(relations) > budget:
                raise InvalidParameter("model", "has too many relations to write down all usersets; use version 1.0")
            exact += [AllowedClause(clause.type, relation=relation) for relation in relations]
    return exact
