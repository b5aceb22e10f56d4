"""From bytes to checked values: JSON bodies, query parameters, and the words for what is wrong with them.

msgspec decodes and checks the JSON types in one pass; only when it refuses are its messages read, to answer with
those of contract section 1.0. It does not see members given twice, or nesting that is deep but legal: `decode_body`
looks for these."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import parse_qsl

import msgspec

from magistrate.errors import InvalidParameter, InvalidRequest

T = TypeVar("T")
B = TypeVar("B")

MAX_BATCH = 100
"""Elements of an array body (contract section 0, decision 7)."""
MAX_QUERY_PARAMETERS = 100

INVALID_BODY = "Invalid request body"

_MUST_BE = {
    "str": "must be a string",
    "bool": "must be true or false",
    "int": "must be a number",
    "float": "must be a decimal",
    "object": "must be an object",
    "array": "must be an array",
    "object | array": "must be an object or an array",
}

_POSITION = re.compile(r"\(byte (\d+)\)")
_TYPE_FAULT = re.compile(r"Expected `(?P<wanted>[^`]*)`, got `(?P<given>[^`]*)`(?: - at `(?P<path>[^`]*)`)?")
_PATH = re.compile(r" - at `(?P<path>[^`]*)`")
_INDEX = re.compile(r"\[(?:\d+|\.\.\.)\]")
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_ALL_CURLY = bytes.maketrans(b"[]", b"{}")


def decode_body(body: bytes, decoder: msgspec.json.Decoder[T], max_depth: int) -> T:
    """The value of a JSON body.

    Raises InvalidRequest if it is no JSON, nests deeper than `max_depth` arrays and objects, or has an object with
    one member twice; InvalidParameter for a member of the wrong JSON type, with its dotted path, array indices and
    map keys left out."""
    if not body.strip():
        raise InvalidRequest("Request body must not be empty")
    try:
        text = body.decode()
        value = decoder.decode(text)
    except UnicodeDecodeError as error:
        raise _malformed(error.start) from None
    except msgspec.ValidationError as error:
        raise _type_fault(str(error), body) from None
    except msgspec.DecodeError as error:
        raise _syntax_fault(str(error)) from None
    except RecursionError:
        raise _too_deep(max_depth) from None
    if not _nests_within(body, max_depth):
        raise _too_deep(max_depth)
    # Numbers are of no interest here, and Python refuses to make integers of more than 4300 digits.
    json.loads(text, object_pairs_hook=_refuse_repeated_members, parse_int=len, parse_float=len)
    return value


def read_parameters(query_string: bytes) -> dict[str, str]:
    """The parameters of a query string. A repeated one: the first counts. Raises InvalidRequest if there are too
    many."""
    try:
        pairs = parse_qsl(
            query_string.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_QUERY_PARAMETERS
        )
    except ValueError:
        raise InvalidRequest(f"a request can have at most {MAX_QUERY_PARAMETERS} query parameters") from None
    return dict(reversed(pairs))


def read_batch(bodies: list[B], read: Callable[[B], T]) -> list[T]:
    """Every element, checked in order. Raises InvalidRequest unless there are 1 to MAX_BATCH; a fault in an element
    names its parameter with the index before it, as in `[3].objectId`."""
    if not 1 <= len(bodies) <= MAX_BATCH:
        raise InvalidRequest(f"an array must have 1 to {MAX_BATCH} elements, not {len(bodies)}")
    values = []
    for index, body in enumerate(bodies):
        with _within(f"[{index}]."):
            values.append(read(body))
    return values


@contextmanager
def _within(prefix: str) -> Iterator[None]:
    try:
        yield
    except InvalidParameter as error:
        raise error.within(prefix) from None


def _syntax_fault(message: str) -> InvalidRequest:
    position = _POSITION.search(message)
    if "trailing characters" in message:
        return InvalidRequest("Request must only contain one JSON object")
    if position is None:
        return InvalidRequest("Request contains malformed JSON")
    return _malformed(int(position[1]))


def _malformed(offset: int) -> InvalidRequest:
    return InvalidRequest(f"Request contains malformed JSON (at position {offset + 1})")


def _too_deep(max_depth: int) -> InvalidRequest:
    return InvalidRequest(f"Request contains JSON nested deeper than {max_depth} levels")


def _type_fault(message: str, body: bytes) -> InvalidRequest:
    fault = _TYPE_FAULT.match(message)
    if fault is None:
        path = _PATH.search(message)
        return InvalidParameter(
            _member_path(path["path"] if path else "$"), "must be a number in the range of a double"
        )
    if fault["path"] is None and body.strip() == b"null":
        return InvalidRequest(INVALID_BODY)
    wanted = fault["wanted"].removesuffix(" | null")
    return InvalidParameter(_member_path(fault["path"] or "$"), _MUST_BE.get(wanted, f"must be {wanted}"))


def _member_path(path: str) -> str:
    """`$[3].relations[...].inheritIf` becomes `[3].relations.inheritIf`: the index of a batch element stays."""
    element = re.match(r"\$(\[\d+\])?", path)
    assert element is not None, path
    index = element[1] or ""
    members = _INDEX.sub("", path[element.end() :]).lstrip(".")
    return f"{index}.{members}" if index and members else index + members


def _nests_within(body: bytes, max_depth: int) -> bool:
    """Whether no more than `max_depth` arrays and objects lie within each other in this valid JSON.

    All in C: without its strings and everything but brackets, each pass takes the innermost pairs away, one level.
    """
    if body.count(b"{") + body.count(b"[") <= max_depth:
        return True
    brackets = _STRING.sub(b"", body).translate(_ALL_CURLY, _NOT_BRACKETS)
    for _ in range(max_depth):
        if not brackets:
            return True
        brackets = brackets.replace(b"{}", b"")
    return not brackets


def _refuse_repeated_members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Two readers of one text must not see two different requests: which of two equal members counts is anyone's
    guess."""
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidRequest(f"Request contains the member {json.dumps(twice)} more than once in one object")
    return members
