"""Defines what a model of OpenFGA or SpiceDB says, with the original names."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from magistrate.engine.importers.names import Faults, ForeignName, show_name
from magistrate.engine.nesting import walk

RewriteKind = Literal["direct", "computed", "arrow", "for_all", "self", "nobody", "union", "intersection", "exclusion"]

RelationKey = tuple[str, str]
"""Holds the original names of a type and one of its relations."""


@dataclass(slots=True)
class Rewrite:
    """Represents how a relation is computed.

    `names` are the relation of `computed`, or the relation and the linking relation of an arrow or of `for_all`.
    `operands` are those of a union, an intersection or an exclusion, which has two."""

    kind: RewriteKind
    at: ForeignName
    names: tuple[ForeignName, ...] = ()
    operands: "list[Rewrite]" = field(default_factory=list)

    def walk(self) -> "Iterator[Rewrite]":
        """Returns this and all that is nested in it."""
        return walk(self, lambda rewrite: rewrite.operands)


class Restriction(NamedTuple):
    """Represents subjects that the relationships of a relation may have: `user`, `user:*` or `group#member`, perhaps
    only with a condition, and in SpiceDB perhaps only with an expiration."""

    type: ForeignName
    relation: ForeignName | None = None
    is_wildcard: bool = False
    condition: ForeignName | None = None
    expires: bool = False

    def describe(self) -> str:
        """Returns the restriction as it is written, without its condition."""
        relation = f"#{self.relation.text}" if self.relation else ""
        return f"{self.type.text}{':*' if self.is_wildcard else ''}{relation}"


@dataclass(slots=True)
class ForeignRelation:
    """Represents a relation, or a permission of SpiceDB."""

    name: ForeignName
    rewrite: Rewrite
    allowed: list[Restriction] = field(default_factory=list)
    description: str = ""


@dataclass(slots=True)
class ForeignType:
    """Represents a type of OpenFGA, or a definition of SpiceDB."""

    name: ForeignName
    relations: dict[str, ForeignRelation] = field(default_factory=dict)
    description: str = ""


@dataclass(slots=True)
class ForeignCondition:
    """Represents a condition of OpenFGA, or a caveat of SpiceDB: `parameters` are the types by name, as written, and
    `at` is where its expression begins, or nowhere if it is written as a text in JSON. `places` are those of the
    parameters, as far as they are known. With `requires_all`, it has no value unless all parameters have one."""

    name: ForeignName
    parameters: dict[str, str]
    expression: str
    at: ForeignName
    description: str = ""
    margin: int = 0
    places: dict[str, ForeignName] = field(default_factory=dict)
    requires_all: bool = False

    def locate(self, offset: int) -> ForeignName:
        """Returns the place of an offset in the expression; `margin` columns are before each further line of it."""
        if not self.at.line:
            return self.name
        skipped = self.expression.count("\n", 0, offset)
        if not skipped:
            return self.at._replace(column=self.at.column + offset)
        column = offset - self.expression.rfind("\n", 0, offset) + self.margin
        return self.at._replace(line=self.at.line + skipped, column=column)


@dataclass(slots=True)
class ForeignModel:
    """Represents a model. Types and conditions are in written order. `unread` has the names of conditions that could
    not be read."""

    types: dict[str, ForeignType] = field(default_factory=dict)
    conditions: dict[str, ForeignCondition] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)


def report_repeated_parameter(name: ForeignName, faults: Faults) -> None:
    """Reports a parameter that is declared already."""
    faults.report(name, "repeated_declaration", f"parameter {show_name(name.text)} is declared twice")
