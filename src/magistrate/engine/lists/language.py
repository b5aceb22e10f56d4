"""Parses the query language (docs/compatibility.md#query) and describes syntax errors.

A query selects objects or subjects; `of type` says which. See docs/query-language.md.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from itertools import takewhile
from typing import Any, TypeVar, cast

from lark import Lark, Token, Transformer, UnexpectedToken

from magistrate.engine.byte_sizes import CacheBytes
from magistrate.engine.cache.segments import CacheSegment, Capacity
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName, unquote_id
from magistrate.engine.subjects import join_subject_type
from magistrate.engine.terms import ObjectRef, object_id, relation_name, type_name
from magistrate.engine.text.positions import Position, position
from magistrate.errors import InvalidParameter

MAX_QUERY_LENGTH = 4_096
"""Limits a query in characters, blanks included."""

MAX_PARSED_BYTES = 8_388_608
"""Limits the parsed queries that are kept (8 MiB), those that were used most recently. Parsing takes a tenth of a
millisecond."""
_BYTES_OF_A_QUERY, _BYTES_OF_A_CHARACTER = 600, 30
"""Count a parsed query: names of one letter, with a comma after each, take the most for their length."""

_SHOWN_OF_A_WORD = 64
"""Limits the characters of a word that a message quotes; the line below the message shows the rest."""

Name = TypeVar("Name", TypeName, RelationName, ObjectId)


@dataclass(frozen=True, slots=True)
class ObjectCondition:
    """Represents `and subject is relations`, or `and not` if it `is_negated`: an object meets it if the subject has one
    of the relations on it, or has none of them."""

    subject: ObjectRef
    relations: tuple[RelationName, ...] | None
    is_negated: bool


@dataclass(frozen=True, slots=True)
class ObjectsQuery:
    """Represents `select [explicit] types where subject is relations and …`. None in place of names is `*`.

    Each name occurs once, in the order in which it was first written. Rows are those of the first condition on the
    objects that meet all `further` ones. With `subject_relation` the subject is a userset, which tests of models may
    have and the language does not: each object is checked."""

    subject: ObjectRef
    relations: tuple[RelationName, ...] | None
    types: tuple[TypeName, ...] | None
    is_explicit: bool
    further: tuple[ObjectCondition, ...] = ()
    subject_relation: str = ""

    def list_further(self) -> "list[ObjectsQuery]":
        """Returns a query of its own for each further condition, as if none were negated."""
        return [
            ObjectsQuery(condition.subject, condition.relations, self.types, self.is_explicit)
            for condition in self.further
        ]


@dataclass(frozen=True, slots=True)
class SubjectsQuery:
    """Represents `select [explicit] relations of type types for object`. Names are as in ObjectsQuery, and a type is a
    subject type: that of a userset is `team#member`. Unless it `demands_types`, a type that is not defined has no
    subjects but those that warrants name."""

    object: ObjectRef
    relations: tuple[RelationName, ...] | None
    types: tuple[TypeName, ...] | None
    is_explicit: bool
    demands_types: bool = True


Query = ObjectsQuery | SubjectsQuery


def hide_undefined_types(query: Query, visible: frozenset[str] | None) -> Query:
    """Returns the query for a caller that may see some object types only: it does not say whether others are defined.
    The objects of a query have types that its caller may see."""
    if visible is None or not isinstance(query, SubjectsQuery) or visible.issuperset(query.types or ()):
        return query
    return replace(query, demands_types=False)


def _weigh_parsed(parsed: tuple[int, Query]) -> int:
    return _BYTES_OF_A_QUERY + _BYTES_OF_A_CHARACTER * parsed[0]


_CAPACITY = Capacity(MAX_PARSED_BYTES)
_PARSED: CacheSegment[tuple[int, Query]] = CacheSegment(_CAPACITY, _weigh_parsed)
"""Holds each parsed query with the length of its text."""


def measure_queries() -> CacheBytes:
    """Returns how many bytes the parsed queries take, and the limit on them."""
    return _CAPACITY.measure("queries")


def read_query(text: str) -> Query:
    """Returns the query that a text expresses, like `parse_query`, whose result is kept."""
    parsed = _PARSED.young.get(text) or _PARSED.find(text)
    if parsed is None:
        parsed = (len(text), parse_query(text))
        _PARSED.keep(text, parsed)
    return parsed[1]


def parse_query(text: str) -> Query:
    """Returns the query that a text expresses. It does not look at whether the types and relations exist.

    Raises InvalidParameter, parameter `q`, for any other text. The message names the line and the column, both from 1,
    and shows the line."""
    if len(text) > MAX_QUERY_LENGTH:
        raise InvalidParameter("q", f"must be at most {MAX_QUERY_LENGTH} characters long")
    try:
        return cast(Query, _parser().parse(text))  # Lark's types say it returns a tree; with a transformer it does not
    except UnexpectedToken as error:
        raise InvalidParameter("q", _describe_unexpected(text, error.token)) from error
    except _QuerySyntaxError as refusal:
        raise InvalidParameter("q", _describe_error(text, refusal.reason, refusal.offset)) from refusal


def render_query(query: Query) -> str:
    """Returns a text that `read_query` reads as this query."""
    explicit = "explicit " if query.is_explicit else ""
    relations, types = ("*" if names is None else ", ".join(names) for names in (query.relations, query.types))
    if isinstance(query, ObjectsQuery):
        further = "".join(map(_render_condition, query.further))
        return f"select {explicit}{types} where {_render_reference(query.subject)} is {relations}{further}"
    return f"select {explicit}{relations} of type {types} for {_render_reference(query.object)}"


def _render_condition(condition: ObjectCondition) -> str:
    relations = "*" if condition.relations is None else ", ".join(condition.relations)
    return f" and {'not ' * condition.is_negated}{_render_reference(condition.subject)} is {relations}"


def _render_reference(ref: ObjectRef) -> str:
    return f'{ref.type}:"{ref.id}"' if "," in ref.id else f"{ref.type}:{ref.id}"


def read_grammar() -> None:
    """Loads the grammar. This takes a hundredth of a second, which the first query does not wait for if it was done
    before."""
    _parser()


@cache
def _parser() -> Lark:
    grammar = resources.files("magistrate.engine.lists").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="basic", transformer=_Reader())


class _QuerySyntaxError(Exception):
    """Reports a word that cannot stand where it does. `offset` is its position in the text, in characters from 0."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


class _Reader(Transformer[Token, Any]):
    """Transforms each rule of the grammar into its part of a query. Lark calls these methods while it parses; words are
    read last, from the left."""

    def objects(self, words: list[Any]) -> ObjectsQuery:
        _, explicit, type_words, _, reference, _, relation_words, *conditions = words
        types = _read_names(type_words, type_name, "a type")
        subject = _read_reference(reference)
        relations = _read_names(relation_words, relation_name, "a relation")
        further = tuple(_read_condition(condition) for condition in conditions)
        return ObjectsQuery(subject, relations, types, explicit is not None, further=further)

    def condition(self, words: list[Any]) -> list[Any]:
        return words

    def subjects(self, words: list[Any]) -> SubjectsQuery:
        _, explicit, relation_words, _, type_words, _, reference = words
        relations = _read_names(relation_words, relation_name, "a relation")
        types = _read_names(type_words, _read_subject_type, "a type")
        return SubjectsQuery(_read_reference(reference), relations, types, explicit is not None)

    def names(self, words: list[Token]) -> list[Token]:
        return words[::2]  # every second item is a comma


def _read_condition(words: list[Any]) -> ObjectCondition:
    _, negation, reference, _, relation_words = words
    relations = _read_names(relation_words, relation_name, "a relation")
    return ObjectCondition(_read_reference(reference), relations, negation is not None)


def _read_subject_type(text: str, parameter: str) -> TypeName:
    of_type, hash_sign, relation = text.partition("#")
    if hash_sign and not (of_type and relation):
        raise InvalidParameter(parameter, "groups are written like team#member")
    name = type_name(of_type, parameter)
    return join_subject_type(name, relation_name(relation, parameter)) if hash_sign else name


def _read_names(words: list[Token], read: Callable[[str, str], Name], kind: str) -> tuple[Name, ...] | None:
    if words[0].type == "ALL":
        return None
    return tuple(dict.fromkeys(_read(word.value, read, kind, _offset(word)) for word in words))


def _read_reference(word: Token) -> ObjectRef:
    of_type, colon, written_id = word.value.partition(":")
    unquoted_id = unquote_id(written_id)
    start = _offset(word)
    id_start = start + len(of_type + colon)
    if "#" in word:
        raise _QuerySyntaxError(
            f"{_quote_word(word)} is a group; a query is about one object, type:id", start + word.index("#")
        )
    if unquoted_id == WILDCARD:
        raise _QuerySyntaxError("'*' cannot be used here; a query is about one object, type:id", id_start)
    return ObjectRef(_read(of_type, type_name, "a type", start), _read(unquoted_id, object_id, "an id", id_start))


def _read(word: str, read: Callable[[str, str], Name], kind: str, offset: int) -> Name:
    try:
        return read(word, "q")
    except InvalidParameter as error:
        raise _QuerySyntaxError(f"cannot read {_quote_word(word)} as {kind}: {error.message}", offset) from error


def _offset(word: Token) -> int:
    return word.start_pos or 0


_WRITTEN = {
    "SELECT": "'select'",
    "EXPLICIT": "'explicit'",
    "NAME": "a name",
    "ALL": "'*'",
    "COMMA": "','",
    "OF_TYPE": "'of type'",
    "WHERE": "'where'",
    "FOR": "'for'",
    "REFERENCE": "type:id",
    "IS": "'is'",
    "AND": "'and'",
    "NOT": "'not'",
    "$END": "the end",
}
"""Maps the words of the grammar to what messages call them, in the order in which they are listed."""

_KEYWORDS = frozenset({"SELECT", "EXPLICIT", "OF_TYPE", "WHERE", "FOR", "IS", "AND", "NOT"})

_INCOMPLETE = "incomplete 'select' clause"
_COMBINED = "'where' and 'for' clauses cannot be combined"

FAULTS: Mapping[str, str] = {
    "SELECT $END": _INCOMPLETE,
    "SELECT WHERE": _INCOMPLETE,
    "SELECT FOR": _INCOMPLETE,
    "SELECT OF_TYPE": "must select one or more relations for subjects to match on the object",
    "SELECT NAME $END": "must contain a 'where' clause",
    "SELECT NAME FOR": "a 'for' clause cannot be used when selecting objects",
    "SELECT NAME OF_TYPE NAME $END": "must contain a 'for' clause",
    "SELECT NAME OF_TYPE NAME WHERE": "a 'where' clause cannot be used when selecting subjects",
    "SELECT NAME WHERE REFERENCE FOR": _COMBINED,
    "SELECT NAME WHERE REFERENCE IS NAME FOR": _COMBINED,
    "SELECT NAME OF_TYPE NAME FOR REFERENCE WHERE": _COMBINED,
}
"""Maps the outline of a query (kinds of words up to the one that cannot follow) to its message. Clients know these
texts."""


def _describe_unexpected(text: str, refused: Token) -> str:
    is_end = refused.type == "$END"
    offset = len(text.rstrip()) if is_end else _offset(refused)
    # What the failed parser would accept is less than what could stand there: it may have closed a list already. The
    # whole text is read again, because some words are keywords only before certain others.
    parser = _parser().parse_interactive(text)
    before = [token.type for token in takewhile(lambda token: _offset(token) < offset, parser.iter_parse())]
    fault = FAULTS.get(_outline([*before, refused.type]))
    if fault is not None:
        return _describe_error(text, fault, offset)
    description = "end of input" if is_end else f"token {_quote_word(refused)}"
    expected = _describe_expected(parser.accepts(), refused.type)  # type: ignore[no-untyped-call]  # Lark leaves it without types
    at = position(text, offset)
    return f"error parsing query: {at}: unexpected {description} ({expected}){_render_position(at)}"


def _outline(kinds: list[str]) -> str:
    """Returns the outline of a query, in which a list counts as one name and `explicit` is left out."""
    return re.sub("NAME COMMA (?=NAME)|EXPLICIT ", "", " ".join(kinds).replace("ALL", "NAME"))


def _describe_expected(accepted: set[str], refused: str) -> str:
    *others, last = (written for kind, written in _WRITTEN.items() if kind in accepted)
    listed = f"{', '.join(others)} or {last}" if others else last
    hint = "; a keyword cannot be a name" if "NAME" in accepted and refused in _KEYWORDS else ""
    return f"expected {listed}{hint}"


def _describe_error(text: str, reason: str, offset: int) -> str:
    at = position(text, offset)
    return f"{reason} ({at}){_render_position(at)}"


def _render_position(at: Position) -> str:
    return at.mark_in(_printable(at.text).rstrip())


def _quote_word(word: str) -> str:
    shown = _printable(word[:_SHOWN_OF_A_WORD])
    return f'"{shown}"' if len(word) <= _SHOWN_OF_A_WORD else f'"{shown}..."'


def _printable(text: str) -> str:
    """Returns the text with each unprintable character replaced by one character, so that positions stay. A lone
    surrogate could not even be sent back."""
    return "".join(
        character if character.isprintable() else " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )
