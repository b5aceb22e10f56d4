"""Reads the schemas of SpiceDB: definitions with relations and permissions, and caveats."""

import re
from collections.abc import Iterable, Iterator
from functools import partial

from magistrate.engine.importers.names import Faults, ForeignName, ForeignRefusal, show_name
from magistrate.engine.importers.relationships import ForeignRelationship, Placed, RelationshipRefusal, read_context
from magistrate.engine.importers.schema import (
    ForeignModel,
    ForeignRelation,
    ForeignType,
    Rewrite,
    RewriteKind,
)
from magistrate.engine.importers.tokens import ForeignTokens, StatementReader, is_short_enough
from magistrate.engine.names import WILDCARD

_OPERATORS: dict[str, RewriteKind] = {"+": "union", "&": "intersection", "-": "exclusion"}
_TIGHTNESS: dict[str, int] = {"+": 3, "&": 2, "-": 1}
_FUNCTIONS: dict[str, RewriteKind] = {"any": "arrow", "all": "for_all"}
_NOBODY = ("nil", "_nil")
_ITSELF = "..."


_TOKENS = re.compile(
    r"(?P<blank>[\s;]+)|(?P<remark>/\*\*[\s\S]*?\*/)|(?P<comment>//[^\n]*|/\*[\s\S]*?\*/)"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*(?:/[A-Za-z0-9_]+)*)|(?P<sign>->|\.\.\.|[^\s])"
)
_FEATURES = ("expiration", "typechecking", "self")
_STATEMENTS = ("definition", "caveat", "use", "import", "partial")
_MEMBERS = ("relation", "permission")
_DECORATION = re.compile(r"(?m)^[ \t]*\*?[ \t]?|[ \t]+$")


def read_spicedb_schema(text: str, file: str, faults: Faults, line: int = 1, column: int = 1) -> ForeignModel:
    """Returns the model of a schema, and reports what is wrong. `line` and `column` are where the text begins in its
    file, each line of it in the same column."""
    model = ForeignModel()
    at = ForeignName("", file, line, column)
    if is_short_enough(text, "a schema", at, faults):
        _SchemaReader(model, faults, ForeignTokens(text, file, _TOKENS, line=line, column=column)).read_all()
        if not model.types and not faults.total:
            faults.report(at, "empty_model", "the schema has no definition")
    return model


class _SchemaReader(StatementReader):
    keywords = _STATEMENTS
    operators = _OPERATORS

    def _read_statement(self) -> None:
        tokens = self._tokens
        keyword, at, description = tokens.token, tokens.at, _read_remark(tokens.remark)
        tokens.advance()
        match keyword:
            case "definition":
                self._read_definition(description)
            case "caveat":
                self._read_condition("caveat", "", description, requires_all=False)
            case "use":
                feature = tokens.take_name("the name of a feature")
                if feature.text not in _FEATURES:
                    message = f"feature {show_name(feature.text)} cannot be expressed"
                    raise ForeignRefusal(feature, "unknown_feature", message)
            case "import" | "partial":
                message = "schemas of several files cannot be read; give the composed schema"
                raise ForeignRefusal(at, "unknown_feature", message)
            case _:
                message = f"expected definition, caveat or use, found '{show_name(keyword)}'"
                raise ForeignRefusal(at, "unknown_keyword", message)

    def _read_definition(self, description: str) -> None:
        tokens = self._tokens
        declared = ForeignType(tokens.take_name("the name of a definition"), description=description)
        if declared.name.text in self._model.types:
            name = declared.name
            raise ForeignRefusal(name, "repeated_declaration", f"{show_name(name.text)} is defined twice")
        self._model.types[declared.name.text] = declared
        tokens.demand("{", "behind the name of the definition")
        while not tokens.accept("}"):
            self._read_member(declared)
        for relation in declared.relations.values():
            _name_self(declared, relation.rewrite)

    def _read_member(self, declared: ForeignType) -> None:
        tokens = self._tokens
        keyword, description = tokens.token, _read_remark(tokens.remark)
        if keyword not in _MEMBERS:
            raise tokens.refuse("unknown_keyword", f"expected relation, permission or }}, found {tokens.show_next()}")
        tokens.advance()
        name = tokens.take_name(f"the name of a {keyword}")
        if keyword == "relation":
            tokens.demand(":", "behind the name of the relation")
            relation = ForeignRelation(
                name, Rewrite("direct", name), self._read_restrictions("definition", "|"), description
            )
        else:
            if tokens.accept(":"):
                self._read_restrictions("definition", "|")  # a type annotation, which SpiceDB has checked
            tokens.demand("=", "behind the name of the permission")
            relation = ForeignRelation(name, self._read_expression(), [], description)
        if name.text in declared.relations:
            raise ForeignRefusal(name, "repeated_declaration", f"{show_name(name.text)} is declared twice")
        declared.relations[name.text] = relation

    def _read_operator(self, before: str) -> None:
        tokens = self._tokens
        if before and _TIGHTNESS[tokens.token] > _TIGHTNESS[before]:
            message = f"put brackets around the operation with {tokens.token}, which binds tighter than {before}"
            raise tokens.refuse("mixed_operators", message)
        tokens.advance()

    def _read_operand(self) -> Rewrite:
        tokens = self._tokens
        name = tokens.take_name("the name of a relation or permission, or (")
        if name.text in _NOBODY:
            return Rewrite("nobody", name)
        if tokens.accept("->"):
            return Rewrite("arrow", name, (tokens.take_name("the name of a relation or permission"), name))
        if not tokens.accept("."):
            return Rewrite("computed", name, (name,))
        function = tokens.take_name("any or all")
        if function.text not in _FUNCTIONS:
            raise tokens.refuse("unexpected_token", f"expected any or all behind '.', found '{function.text}'")
        tokens.demand("(", f"behind {function.text}")
        relation = tokens.take_name("the name of a relation or permission")
        tokens.demand(")", "behind the name")
        return Rewrite(_FUNCTIONS[function.text], name, (relation, name))

    def _read_userset(self) -> ForeignName | None:
        return None if self._tokens.accept(_ITSELF) else super()._read_userset()

    def _read_limits(self) -> tuple[ForeignName | None, bool]:
        limit = self._tokens.take_name("the name of a caveat, or expiration")
        if limit.text == "expiration":
            return None, True
        expires = self._tokens.accept("and")
        if expires:
            self._tokens.demand("expiration", "behind and")
        return limit, expires


def _name_self(declared: ForeignType, rewrite: Rewrite) -> None:
    """Makes `self` the object itself, unless the definition has a relation of this name."""
    if "self" not in declared.relations:
        for operand in rewrite.walk():
            if operand.kind == "computed" and operand.names[0].text == "self":
                operand.kind, operand.names = "self", ()


def _read_remark(remark: str) -> str:
    """Returns the text of a comment `/** … */`."""
    lines = _DECORATION.sub("", remark.removeprefix("/**").removesuffix("*/")).split("\n")
    return "\n".join(line.rstrip() for line in lines).strip()


_RELATIONSHIP = re.compile(
    r"([^:#@\s]+):([^#@\s]+)#([^#@\s]+)@([^:#@\s]+):([^#\[\s]+)(?:#([^\[\s]+))?"
    r"(?:\[(?!expiration:)([^:\]\s]+)(?::(\{.*\}))?\])?(?:\[expiration:([^\]\s]+)\])?"
)
_ID = re.compile(r"[A-Za-z0-9/_|=+-]{1,1024}")
"""Matches every id that SpiceDB has, apart from the wildcard."""


def is_relationship(line: str) -> bool:
    """Returns whether a line is a relationship."""
    return _RELATIONSHIP.fullmatch(line.strip()) is not None


def read_relationships(lines: Iterable[str], file: str, line: int = 1, column: int = 1) -> Iterator[Placed]:
    """Yields the relationships of the lines, of which the first is at this place in the file; blank lines and comments
    are skipped."""
    for number, written in enumerate(lines, line):
        text = written.strip()
        if text and not text.startswith("//"):
            yield partial(ForeignName, "", file, line=number, column=column), _read_relationship(text)


def _read_relationship(text: str) -> ForeignRelationship | RelationshipRefusal:
    match = _RELATIONSHIP.fullmatch(text)
    if match is None:
        message = f"'{show_name(text)}' is no relationship; expected document:plan#viewer@user:ann"
        return RelationshipRefusal("invalid_relationship", message)
    object_type, object_id, relation, subject_type, subject_id, userset, caveat, context, expires_at = match.groups("")
    userset = "" if userset == _ITSELF else userset
    for written_id in (object_id, subject_id):
        if not _ID.fullmatch(written_id) and not (written_id == WILDCARD and written_id is subject_id):
            message = f"id {show_name(written_id)}: SpiceDB has ids of 1 to 1,024 letters, digits, and / _ | - = +"
            return RelationshipRefusal("invalid_id", message)
    try:
        values = read_context(context, "invalid_relationship")
    except RelationshipRefusal as refusal:
        return refusal
    return ForeignRelationship(
        object_type,
        object_id,
        relation,
        subject_type,
        subject_id=subject_id,
        subject_relation=userset,
        condition=caveat,
        context=values,
        expires_at=expires_at,
    )
