"""Reads OpenFGA models in JSON: what its API answers, or what its tools write."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from magistrate.engine.foreign.names import Faults, ForeignName, ForeignRefusal, show_name
from magistrate.engine.foreign.schema import (
    ForeignCondition,
    ForeignModel,
    ForeignRelation,
    ForeignType,
    Restriction,
    Rewrite,
    RewriteKind,
    report_repeated_parameter,
)
from magistrate.engine.model_text.json_positions import JsonPositions
from magistrate.engine.model_text.parser import MAX_MODEL_CHARACTERS
from magistrate.engine.nesting import fold

_GROUPS: Mapping[str, RewriteKind] = {"union": "union", "intersection": "intersection"}
_SCHEMAS = ("1.1", "1.2")


def read_openfga_json(value: Any, text: str, file: str, faults: Faults) -> ForeignModel:
    """Returns the model that parsed JSON describes, which was written as this text."""
    if len(text) > MAX_MODEL_CHARACTERS:
        message = f"a model has at most {MAX_MODEL_CHARACTERS} characters; this one has {len(text)}"
        faults.report(ForeignName("", file, 1, 1), "model_too_large", message)
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
            if any(one.kind == "direct" for one in relation.rewrite.walk()):
                types = self._sequence(limit.get("directly_related_user_types"), at)
                relation.allowed = [self._read_restriction(one, at) for one in types]
            declared.relations[key] = relation

    def _read_restriction(self, value: Any, path: str) -> Restriction:
        value = self._mapping(value, path)
        of_type = self._name(value.get("type"), path)
        relation = self._name(value["relation"], path) if value.get("relation") else None
        condition = self._name(value["condition"], path) if value.get("condition") else None
        return Restriction(of_type, relation, value.get("wildcard") is not None, condition)

    def _read_rewrite(self, value: Any, path: str) -> Rewrite:
        def list_operands(one: Any) -> Sequence[Any]:
            kind, body = self._read_kind(one, path)
            if kind in _GROUPS:
                operands = self._sequence(body.get("child"), path)
                if not operands:
                    raise self._refuse(path, f"has a {kind} of nothing")
                return operands
            return (body.get("base"), body.get("subtract")) if kind == "difference" else ()

        def build(one: Any, operands: Sequence[Rewrite]) -> Rewrite:
            kind, body = self._read_kind(one, path)
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
        if kind == "computedUserset":
            return Rewrite("computed", at, (self._name(body.get("relation"), path),))
        if kind == "tupleToUserset":
            wanted = self._mapping(body.get("computedUserset"), path)
            link = self._mapping(body.get("tupleset"), path)
            names = (self._name(wanted.get("relation"), path), self._name(link.get("relation"), path))
            return Rewrite("arrow", at, names)
        raise self._refuse(path, f"has the unknown rewrite {show_name(kind)}")

    def _read_conditions(self, model: ForeignModel, value: Any) -> None:
        for key, condition in self._mapping(value, "conditions").items():
            path = f"conditions.{key}"
            condition = self._mapping(condition, path)
            parameters = self._mapping(condition.get("parameters"), path)
            types = {name: self._read_parameter_type(one, path) for name, one in parameters.items()}
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
