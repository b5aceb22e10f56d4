"""Reads the text of OpenFGA models: schema 1.1, and the modules of schema 1.2, whose files are read one by one."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from magistrate.engine.importers.names import Faults, ForeignName, ForeignRefusal, show_name
from magistrate.engine.importers.schema import (
    ForeignCondition,
    ForeignModel,
    ForeignRelation,
    ForeignType,
    Restriction,
    Rewrite,
    RewriteKind,
    report_repeated_parameter,
)
from magistrate.engine.importers.tokens import ForeignTokens, StatementReader, is_short_enough
from magistrate.engine.nesting import fold
from magistrate.engine.text.positions import JsonPositions

_OPERATORS: dict[str, RewriteKind] = {"or": "union", "and": "intersection", "but": "exclusion"}


_TOKENS = re.compile(
    r"(?P<blank>\s+)|(?P<comment>(?<!\S)#[^\n]*)|(?P<word>[^\s\[\](),:#*{}<>]+)|(?P<sign>[\[\](),:#*{}<>])"
)
_SCHEMAS = ("1.1", "1.2")
_STATEMENTS = frozenset({"model", "module", "type", "extend", "relations", "define", "condition"})
_RESERVED_RELATIONS = frozenset({"self", "this"})


class _Extension(NamedTuple):
    name: ForeignName
    relations: dict[str, ForeignRelation]


class OpenFgaModelReader:
    """Reads the files of a model, one after another, into `model`; what is wrong is reported."""

    def __init__(self, faults: Faults) -> None:
        self.model = ForeignModel()
        self._faults = faults
        self._extensions: list[_Extension] = []

    def read_text(self, text: str, file: str, line: int = 1, column: int = 1) -> None:
        """Adds what a text declares, which begins in its file at this line and column."""
        if is_short_enough(text, "a model", ForeignName("", file, line, column), self._faults):
            tokens = ForeignTokens(text, file, _TOKENS, line=line, column=column)
            _OpenFgaStatementReader(self.model, self._extensions, self._faults, tokens).read_all()

    def finish(self) -> ForeignModel:
        """Returns the model, once all files are read."""
        for name, relations in self._extensions:
            declared = self.model.types.get(name.text)
            if declared is None:
                self._faults.report(name, "unknown_type", f"type {show_name(name.text)} is not defined")
                continue
            for relation in relations.values():
                _add_relation(declared.relations, relation, self._faults)
        if not self.model.types and not self._faults.errors:
            self._faults.report(ForeignName(""), "empty_model", "the model has no type")
        return self.model


def _add_relation(relations: dict[str, ForeignRelation], relation: ForeignRelation, faults: Faults) -> None:
    name = relation.name
    if name.text in relations:
        faults.report(name, "repeated_declaration", f"relation {show_name(name.text)} is declared twice")
    else:
        relations[name.text] = relation


class _OpenFgaStatementReader(StatementReader):
    keywords = _STATEMENTS
    operators = _OPERATORS
    ends_with_line = True

    def __init__(
        self, model: ForeignModel, extensions: list[_Extension], faults: Faults, tokens: ForeignTokens
    ) -> None:
        super().__init__(model, faults, tokens)
        self._extensions = extensions
        self._relations: dict[str, ForeignRelation] | None = None
        self._restrictions: list[Restriction] = []

    def _read_statement(self) -> None:
        tokens = self._tokens
        keyword = tokens.token
        if keyword not in _STATEMENTS or not tokens.starts_line:
            expected = ", ".join(sorted(_STATEMENTS))
            raise tokens.refuse("unknown_keyword", f"expected one of {expected}, found {tokens.show_next()}")
        tokens.advance()
        match keyword:
            case "model":
                self._read_schema()
            case "module":
                tokens.take_name("the name of the module")
            case "type":
                self._read_type()
            case "extend":
                tokens.demand("type", "behind extend")
                extension = _Extension(tokens.take_name("the name of a type"), {})
                self._extensions.append(extension)
                self._relations = extension.relations
            case "relations":
                if self._relations is None:
                    raise tokens.refuse("misplaced_statement", "relations are those of a type")
            case "define":
                self._read_relation()
            case _:
                self._relations = None
                self._read_condition("condition", ":", requires_all=True)

    def _read_schema(self) -> None:
        tokens = self._tokens
        tokens.demand("schema", "behind model")
        if tokens.token not in _SCHEMAS:
            raise tokens.refuse("unknown_schema", f"expected schema 1.1 or 1.2, found {tokens.show_next()}")
        tokens.advance()

    def _read_type(self) -> None:
        name = self._tokens.take_name("the name of a type")
        declared = ForeignType(name)
        self._relations = declared.relations
        if name.text in self._model.types:
            raise ForeignRefusal(name, "repeated_declaration", f"type {show_name(name.text)} is declared twice")
        self._model.types[name.text] = declared

    def _read_relation(self) -> None:
        tokens = self._tokens
        name = tokens.take_name("the name of a relation")
        if self._relations is None:
            raise ForeignRefusal(name, "misplaced_statement", "a relation is defined in a type")
        if name.text in _RESERVED_RELATIONS:
            raise ForeignRefusal(name, "invalid_name", f"a relation cannot be called {name.text}")
        tokens.demand(":", "behind the name of the relation")
        self._restrictions = []
        rewrite = self._read_expression()
        if tokens.token and not tokens.starts_line:
            raise tokens.refuse("unexpected_token", f"expected the end of the line, found {tokens.show_next()}")
        _add_relation(self._relations, ForeignRelation(name, rewrite, self._restrictions), self._faults)

    def _read_operator(self, before: str) -> None:
        tokens = self._tokens
        operator = tokens.token
        if before and (operator != before or operator == "but"):
            raise tokens.refuse("mixed_operators", "put brackets around one of the operations")
        tokens.advance()
        if operator == "but":
            tokens.demand("not", "behind but")

    def _read_operand(self) -> Rewrite:
        tokens = self._tokens
        at = tokens.at
        if tokens.accept("["):
            if self._restrictions:
                raise tokens.refuse("repeated_brackets", "a relation has one list of types in brackets")
            self._restrictions = self._read_restrictions("type", ",")
            tokens.demand("]", "or , behind a type")
            return Rewrite("direct", at)
        name = tokens.take_name("the name of a relation, [ or (")
        if tokens.token == "from" and not tokens.starts_line:
            tokens.advance()
            return Rewrite("arrow", at, (name, tokens.take_name("the name of the linking relation")))
        return Rewrite("computed", at, (name,))

    def _read_limits(self) -> tuple[ForeignName | None, bool]:
        return self._tokens.take_name("the name of a condition"), False


_GROUPS: Mapping[str, RewriteKind] = {"union": "union", "intersection": "intersection"}


def read_openfga_json(value: Any, text: str, file: str, faults: Faults) -> ForeignModel:
    """Returns the model that parsed JSON describes, which was written as this text."""
    if not is_short_enough(text, "a model", ForeignName("", file, 1, 1), faults):
        return ForeignModel()
    return _JsonReader(JsonPositions(text), file, faults).read(value)


def find_model_json(value: Any) -> Any:
    """Returns the model in what a file holds: itself, or the answer of the API; None if it holds none."""
    if isinstance(value, dict) and "authorization_model" in value:
        value = value["authorization_model"]
    return value if isinstance(value, dict) and "type_definitions" in value else None


class _JsonReader:
    def __init__(self, positions: JsonPositions, file: str, faults: Faults) -> None:
        self._positions = positions
        self._file = file
        self._faults = faults

    def _name(self, value: Any, path: str) -> ForeignName:
        """Returns a name. Raises ForeignRefusal if it is no text, or empty."""
        at = ForeignName("", self._file, *self._positions.locate(path))
        if not isinstance(value, str) or not value:
            raise ForeignRefusal(at, "invalid_member", f"{path} must be a text")
        return at._replace(text=value)

    def _refuse(self, path: str, message: str) -> ForeignRefusal:
        at = ForeignName("", self._file, *self._positions.locate(path))
        return ForeignRefusal(at, "invalid_member", f"{path} {message}")

    def _mapping(self, value: Any, path: str) -> Mapping[str, Any]:
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._refuse(path, "must be an object")
        return value

    def _sequence(self, value: Any, path: str) -> Sequence[Any]:
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self._refuse(path, "must be an array")
        return value

    def read(self, value: Any) -> ForeignModel:
        model = ForeignModel()
        self._attempt(partial(self._check_schema, value))
        self._attempt(partial(self._read_types, model, value["type_definitions"]))
        self._attempt(partial(self._read_conditions, model, value.get("conditions")))
        if not model.types and not self._faults.errors:
            self._faults.report(ForeignName("", self._file, 1, 1), "empty_model", "the model has no type")
        return model

    def _attempt(self, read: Callable[[], None]) -> None:
        try:
            read()
        except ForeignRefusal as refusal:
            self._faults.report(refusal.at, refusal.code, refusal.message)

    def _check_schema(self, value: Any) -> None:
        if value.get("schema_version") not in _SCHEMAS:
            raise self._refuse("schema_version", "must be 1.1 or 1.2")

    def _read_types(self, model: ForeignModel, definitions: Any) -> None:
        for place, definition in enumerate(self._sequence(definitions, "type_definitions")):
            self._attempt(partial(self._read_type, model, definition, f"type_definitions[{place}]"))

    def _read_type(self, model: ForeignModel, definition: Any, path: str) -> None:
        definition = self._mapping(definition, path)
        name = self._name(definition.get("type"), f"{path}.type")
        if name.text in model.types:
            raise ForeignRefusal(name, "repeated_declaration", f"type {show_name(name.text)} is declared twice")
        declared = model.types[name.text] = ForeignType(name)
        metadata = self._mapping(definition.get("metadata"), f"{path}.metadata")
        limits = self._mapping(metadata.get("relations"), f"{path}.metadata.relations")
        for key, rewrite in self._mapping(definition.get("relations"), f"{path}.relations").items():
            at = f"{path}.relations.{key}"
            relation = ForeignRelation(self._name(key, at), self._read_rewrite(rewrite, at))
            limit = self._mapping(limits.get(key), at)
            if any(operand.kind == "direct" for operand in relation.rewrite.walk()):
                types = self._sequence(limit.get("directly_related_user_types"), at)
                relation.allowed = [self._read_restriction(written, at) for written in types]
            declared.relations[key] = relation

    def _read_restriction(self, value: Any, path: str) -> Restriction:
        value = self._mapping(value, path)
        of_type = self._name(value.get("type"), path)
        relation = self._name(value["relation"], path) if value.get("relation") else None
        condition = self._name(value["condition"], path) if value.get("condition") else None
        return Restriction(of_type, relation, value.get("wildcard") is not None, condition)

    def _read_rewrite(self, value: Any, path: str) -> Rewrite:
        def list_operands(userset: Any) -> Sequence[Any]:
            kind, body = self._read_kind(userset, path)
            if kind in _GROUPS:
                operands = self._sequence(body.get("child"), path)
                if not operands:
                    raise self._refuse(path, f"has a {kind} of nothing")
                return operands
            return (body.get("base"), body.get("subtract")) if kind == "difference" else ()

        def build(userset: Any, operands: Sequence[Rewrite]) -> Rewrite:
            kind, body = self._read_kind(userset, path)
            at = self._name("rewrite", path)
            if kind in _GROUPS:
                return Rewrite(_GROUPS[kind], at, (), [*operands]) if len(operands) > 1 else operands[0]
            return Rewrite("exclusion", at, (), [*operands]) if operands else self._build_leaf(kind, body, path)

        rewrite: Rewrite = fold(value, list_operands, build)
        return rewrite

    def _read_kind(self, value: Any, path: str) -> tuple[str, Mapping[str, Any]]:
        members = self._mapping(value, path)
        if len(members) != 1:
            raise self._refuse(path, "must have one member in each rewrite")
        [(kind, body)] = members.items()
        return kind, self._mapping(body, path)

    def _build_leaf(self, kind: str, body: Mapping[str, Any], path: str) -> Rewrite:
        at = self._name("rewrite", path)
        if kind == "this":
            return Rewrite("direct", at)
        if kind in ("computedUserset", "computed_userset"):
            return Rewrite("computed", at, (self._name(body.get("relation"), path),))
        if kind in ("tupleToUserset", "tuple_to_userset"):
            computed = self._mapping(body.get("computedUserset") or body.get("computed_userset"), path)
            link = self._mapping(body.get("tupleset"), path)
            names = (self._name(computed.get("relation"), path), self._name(link.get("relation"), path))
            return Rewrite("arrow", at, names)
        raise self._refuse(path, f"has the unknown rewrite {show_name(kind)}")

    def _read_conditions(self, model: ForeignModel, value: Any) -> None:
        for key, condition in self._mapping(value, "conditions").items():
            path = f"conditions.{key}"
            condition = self._mapping(condition, path)
            parameters = self._mapping(condition.get("parameters"), path)
            types = {name: self._read_parameter_type(of_type, path) for name, of_type in parameters.items()}
            name, expression = self._name(key, path), self._name(condition.get("expression"), path)
            places = {name: self._name(name, f"{path}.parameters.{name}") for name in parameters}
            for parameter in parameters:
                self._report_repeated(parameter, f"{path}.parameters.{parameter}")
            model.conditions[key] = ForeignCondition(
                name, types, expression.text, ForeignName(""), places=places, requires_all=True
            )

    def _report_repeated(self, parameter: str, path: str) -> None:
        """Reports a parameter that is written twice; of the two, reading JSON keeps the last."""
        offset = self._positions.repeated.get(path)
        if offset is not None:
            at = ForeignName(parameter, self._file, *self._positions.locate_offset(offset))
            report_repeated_parameter(at, self._faults)

    def _read_parameter_type(self, value: Any, path: str) -> str:
        words: list[str] = []
        while True:
            members = self._mapping(value, path)
            words.append(self._name(members.get("type_name"), path).text.removeprefix("TYPE_NAME_").lower())
            generic = self._sequence(members.get("generic_types"), path)
            if not generic:
                return "<".join(words) + ">" * (len(words) - 1)
            value = generic[0]
