"""Reads the text of OpenFGA models: schema 1.1, and the modules of schema 1.2, whose files are read one by one."""

import re
from typing import NamedTuple

from magistrate.engine.foreign.cel.tokens import find_cel_end
from magistrate.engine.foreign.names import Faults, ForeignName, ForeignRefusal, show_name
from magistrate.engine.foreign.openfga_rewrites import read_rewrite
from magistrate.engine.foreign.schema import (
    ForeignCondition,
    ForeignModel,
    ForeignRelation,
    ForeignType,
    add_parameter,
)
from magistrate.engine.foreign.tokens import ForeignTokens, read_parameter_type
from magistrate.engine.model_text.faults import MAX_FAULTS
from magistrate.engine.model_text.parser import MAX_MODEL_CHARACTERS

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
        if len(text) > MAX_MODEL_CHARACTERS:
            message = f"a model has at most {MAX_MODEL_CHARACTERS} characters; this one has {len(text)}"
            self._faults.report(ForeignName("", file, line, column), "model_too_large", message)
            return
        tokens = ForeignTokens(text, file, _TOKENS, line, column)
        _StatementReader(self.model, self._extensions, self._faults, tokens).read_all()

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


class _StatementReader:
    def __init__(
        self, model: ForeignModel, extensions: list[_Extension], faults: Faults, tokens: ForeignTokens
    ) -> None:
        self._model = model
        self._extensions = extensions
        self._faults = faults
        self._tokens = tokens
        self._relations: dict[str, ForeignRelation] | None = None

    def read_all(self) -> None:
        while self._tokens.token and self._faults.errors < MAX_FAULTS:
            try:
                self._read_statement()
            except ForeignRefusal as refusal:
                self._faults.report(refusal.at, refusal.code, refusal.message)
                self._skip()

    def _skip(self) -> None:
        """Goes to the next line that begins like a statement."""
        tokens = self._tokens
        while tokens.token and not (tokens.starts_line and tokens.token in _STATEMENTS):
            tokens.advance()

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
                self._read_condition()

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
        rewrite, allowed = read_rewrite(tokens)
        if tokens.token and not tokens.starts_line:
            raise tokens.refuse("unexpected_token", f"expected the end of the line, found {tokens.show_next()}")
        _add_relation(self._relations, ForeignRelation(name, rewrite, allowed), self._faults)

    def _read_condition(self) -> None:
        tokens = self._tokens
        self._relations = None
        name = tokens.take_name("the name of a condition")
        self._model.unread.add(name.text)
        tokens.demand("(", "behind the name of the condition")
        parameters: dict[str, str] = {}
        places: dict[str, ForeignName] = {}
        while not tokens.accept(")"):
            parameter = tokens.take_name("the name of a parameter")
            tokens.demand(":", "behind the name of the parameter")
            add_parameter(parameters, places, parameter, read_parameter_type(tokens), self._faults)
            if tokens.token != ")":
                tokens.demand(",", "between parameters")
        begin, end = tokens.offset + 1, find_cel_end(tokens.text, tokens.offset + 1)
        if tokens.token != "{" or end is None:
            raise tokens.refuse("unexpected_token", "expected the expression of the condition in { }")
        written = tokens.text[begin:end]
        expression = written.strip()
        at = tokens.locate(begin + len(written) - len(written.lstrip()))
        tokens.skip_to(end + 1)
        if name.text in self._model.conditions:
            raise ForeignRefusal(name, "repeated_declaration", f"condition {show_name(name.text)} is declared twice")
        condition = ForeignCondition(name, parameters, expression, at, "", tokens.margin, places, requires_all=True)
        self._model.conditions[name.text] = condition
        self._model.unread.discard(name.text)
