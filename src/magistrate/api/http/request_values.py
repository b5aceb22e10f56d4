"""Reads bytes into checked values: JSON bodies, query parameters, and the messages for invalid ones.

msgspec decodes and checks the JSON types in one pass; its messages are read only when it refuses, to answer with those
of docs/compatibility.md#errors. It does not detect repeated members or nesting that is deep but legal: `decode_body`
checks for these."""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar, get_args
from urllib.parse import parse_qsl

import msgspec
import msgspec.inspect

from magistrate.api.http import json_values
from magistrate.api.http.json_values import build_decoder, decode_json
from magistrate.api.http.ticket_parameter import TICKET
from magistrate.api.http.unknown_members import has_known_names_only, has_ours, list_types, require_known_members
from magistrate.engine.byte_sizes import DICT_BYTES, CacheBytes, measure_texts
from magistrate.engine.cache.segments import CacheSegment, Capacity
from magistrate.engine.names import suggest_name
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.text.reports import is_json
from magistrate.errors import InvalidParameter, InvalidRequest

T = TypeVar("T")
B = TypeVar("B")

MAX_BATCH = 100
"""Limits the elements of an array body (docs/compatibility.md#batches)."""
LARGE_BODY_BYTES = 65_536
"""Bounds the bodies that are decoded in the event loop (64 KiB). Larger ones take milliseconds and are decoded in a
thread, so that other requests do not wait."""
MAX_VALUES = 100_000
"""Limits the values, arrays and objects in one body, at any depth. They are counted before decoding, because decoding
holds the interpreter lock, in a thread as well, for up to half a microsecond per value."""
MAX_ENCODED_ESCAPES = 100_000
"""Limits the escapes in a large body that is compared with its value, encoded again. Encoding them takes up to three
times as long as any other pass, and reading the members one by one as long as both together."""

INVALID_BODY = "Invalid request body"
JSON_TYPE = "application/json"

_MUST_BE = {
    "str": "must be a string",
    "bool": "must be true or false",
    "int": "must be a number",
    "float": "must be a decimal",
    "object": "must be an object",
    "array": "must be an array",
    "object | array": "must be an object or an array",
}

MAX_KEPT_QUERY_BYTES, MAX_PARAMETERS_BYTES = 256, 2_097_152
"""Limit each query string whose parameters are kept, and what all of them take in memory (2 MiB)."""
PAUSE_SECONDS = 0.002
"""Sets the pause between passes over a large body. A pass may hold the interpreter lock for some hundredths of a
second; without a pause, the event loop would wait for one of them each time that it needs the lock."""
UNPAUSED_SECONDS = 0.002
"""Sets the processor time that passes over a large body take together before a pause. All passes over the body of a
write of 1,000 warrants take a millisecond."""

_POSITION = re.compile(r"\(byte (\d+)\)")
_TYPE_FAULT = re.compile(r"Expected `(?P<wanted>[^`]*)`, got `(?P<given>[^`]*)`(?: - at `(?P<path>[^`]*)`)?")
_UNKNOWN_MEMBER = re.compile(r"Object contains unknown field `(?P<name>.*?)`(?: - at `(?P<path>[^`]*)`)?", re.DOTALL)
_PATH = re.compile(r" - at `(?P<path>[^`]*)`")
_INDEX = re.compile(r"\[(?:\d+|\.\.\.)\]")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_NOT_BRACKETS_OR_MARKS = _NOT_BRACKETS.replace(b'"', b"")
_AS_BRACES = bytes.maketrans(b"[]", b"{}")


def decode_body(body: bytes, decoder: msgspec.json.Decoder[T], max_depth: int, is_strict: bool = False) -> T:
    """Returns the value of a JSON body. If `is_strict`, and the body does not say otherwise, all its members must be
    known; otherwise those that are not are ignored, unless they are misspelled ones of ours.

    Raises InvalidRequest if it is not JSON, nests deeper than `max_depth` arrays and objects, has more than MAX_VALUES
    values, or repeats a member in an object. Raises InvalidParameter for a member of the wrong JSON type, with its
    dotted path, without array indices and map keys."""
    begins_at, ends_at = json_values.find_edges(body)
    body = body[begins_at:ends_at]
    if not body or body.isspace():
        raise InvalidRequest("Request body must not be empty")
    pacing = _Pacing() if len(body) > LARGE_BODY_BYTES else None
    _check_values(body)
    _pause(pacing)
    try:
        value = decoder.decode(body.decode())
    except UnicodeDecodeError as error:
        raise _build_syntax_error(begins_at + error.start) from None
    except msgspec.ValidationError as error:
        raise _type_fault(str(error), body, decoder.type) from None
    except msgspec.DecodeError as error:
        raise _syntax_fault(str(error), begins_at) from None
    except RecursionError:
        raise _too_deep(max_depth) from None
    _check_nesting(body, max_depth)
    has_many_escapes = _has_many_escapes(body)
    if has_many_escapes or not _is_written_alike(body, value, decoder, pacing):
        if has_many_escapes or not _has_each_member_once(body, pacing):
            _check_members(body)
        _check_names(body, decoder.type, is_strict if (said := getattr(value, "strict", None)) is None else said)
    return value


def _check_names(body: bytes, of_type: type, is_strict: bool) -> None:
    """Raises InvalidParameter if valid JSON has a member that is misspelled or, if the request `is_strict`, unknown."""
    if not is_strict and (not has_ours(of_type) or (b"\\" not in body and has_known_names_only(body, of_type))):
        return
    try:
        value = decode_json(body)
    except msgspec.MsgspecError:
        return  # a number that no value has, in a member that is ignored
    require_known_members(value, of_type, is_strict)


class _Pacing:
    """Paces the passes over a large body, which is decoded in a thread, so that other threads run in between."""

    __slots__ = ("_began_at",)

    def __init__(self) -> None:
        self._began_at = time.thread_time()

    def pause(self) -> None:
        """Lets other threads run before the next pass if those since the last pause have taken long."""
        if time.thread_time() - self._began_at >= UNPAUSED_SECONDS:
            time.sleep(PAUSE_SECONDS)
            self._began_at = time.thread_time()


def _pause(pacing: _Pacing | None) -> None:
    if pacing is not None:
        pacing.pause()


def require_json_type(content_type: str | None) -> None:
    """Raises InvalidRequest unless a Content-Type is that of JSON, perhaps with parameters."""
    if (content_type or "").partition(";")[0].strip().lower() != JSON_TYPE:
        raise InvalidRequest(f"Content-Type must be {JSON_TYPE}")


def decode_element(raw: msgspec.Raw, decoder: msgspec.json.Decoder[T]) -> T:
    """Returns the value of a part of a body that `decode_body` has left as it is. Raises InvalidParameter like it."""
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        raise _type_fault(str(error), bytes(raw), decoder.type) from None


def read_parameters(query_string: bytes) -> dict[str, str]:
    """Returns the parameters of a query string. The first value of a repeated parameter counts. A query string with a
    secret is not kept, wherever it was sent to."""
    if len(query_string) > MAX_KEPT_QUERY_BYTES:
        return _parse_parameters(query_string)
    parameters = _KEPT_PARAMETERS.young.get(query_string) or _KEPT_PARAMETERS.find(query_string)
    if parameters is None:
        parameters = _parse_parameters(query_string)
        if TICKET not in parameters:
            _KEPT_PARAMETERS.keep(query_string, parameters)
    return parameters.copy()


def _parse_parameters(query_string: bytes) -> dict[str, str]:
    return dict(reversed(parse_qsl(query_string.decode("utf-8", "replace"), keep_blank_values=True)))


def list_values(query: bytes, parameter: str) -> list[str]:
    """Returns all values of a parameter that may be repeated."""
    pairs = parse_qsl(query.decode("utf-8", "replace"), keep_blank_values=True)
    return [value for name, value in pairs if name == parameter]


def _weigh_parameters(parameters: dict[str, str]) -> int:
    return DICT_BYTES + measure_texts(parameters) + measure_texts(parameters.values())


# Parsing takes a tenth of a list that is cached.
_CAPACITY = Capacity(MAX_PARAMETERS_BYTES)
_KEPT_PARAMETERS: CacheSegment[dict[str, str]] = CacheSegment(_CAPACITY, _weigh_parameters)


def measure_parameters() -> CacheBytes:
    """Returns how many bytes the parameters take that are kept, and the limit on them."""
    return _CAPACITY.measure("parameters")


def read_boolean(parameters: Mapping[str, str], name: str, default: bool = False) -> bool:
    """Returns a parameter that is `true` or `false`. Raises InvalidParameter."""
    text = parameters.get(name)
    if text not in ("true", "false", None):
        raise InvalidParameter(name, "must be true or false")
    return default if text is None else text == "true"


def read_batch(bodies: list[B], read: Callable[[B], T]) -> list[T]:
    """Reads every element, in order. Raises InvalidRequest unless there are 1 to MAX_BATCH; an error in an element
    names its parameter with the index before it, as in `[3].objectId`."""
    if not 1 <= len(bodies) <= MAX_BATCH:
        raise InvalidRequest(f"an array must have 1 to {MAX_BATCH} elements, not {len(bodies)}")
    return read_elements(bodies, read)


def read_elements(bodies: Sequence[B], read: Callable[[B], T], name: str = "", first: int = 0) -> list[T]:
    """Reads the elements of the array of this name from the index `first` on. An error in one names its parameter with
    both before it, as in `create.warrants[3].objectId`."""
    values = []
    for index, body in enumerate(bodies, first):
        try:
            values.append(read(body))
        except InvalidParameter as error:
            raise error.within(f"{name}[{index}].") from None
    return values


def document_pattern(pattern: str) -> msgspec.Meta:
    """Returns a pattern for the OpenAPI document only: engine/terms.py defines the checks and their messages."""
    return msgspec.Meta(extra_json_schema={"pattern": pattern})


def _syntax_fault(message: str, begins_at: int) -> InvalidRequest:
    position = _POSITION.search(message)
    if "trailing characters" in message:
        return InvalidRequest("Request must only contain one JSON object")
    if position is None:
        return InvalidRequest("Request contains malformed JSON")
    return _build_syntax_error(begins_at + int(position[1]))


def _build_syntax_error(offset: int) -> InvalidRequest:
    return InvalidRequest(f"Request contains malformed JSON (at position {offset + 1})")


def _too_deep(max_depth: int) -> InvalidRequest:
    return InvalidRequest(f"Request contains JSON nested deeper than {max_depth} levels")


def _type_fault(message: str, body: bytes, kind: Any) -> InvalidRequest:
    fault = _TYPE_FAULT.match(message)
    unknown = _UNKNOWN_MEMBER.fullmatch(message)
    if unknown is not None:
        return _unknown_member_fault(unknown["name"], unknown["path"] or "$", kind)
    if fault is None:
        path = _PATH.search(message)
        return InvalidParameter(_member_path(path["path"] if path else "$"), "has a number that is out of range")
    if fault["path"] is None and body.strip() == b"null":
        return InvalidRequest(INVALID_BODY)
    expected = fault["wanted"].removesuffix(" | null")
    return InvalidParameter(_member_path(fault["path"] or "$"), _MUST_BE.get(expected, f"must be {expected}"))


def _unknown_member_fault(name: str, path: str, kind: Any) -> InvalidParameter:
    """Returns the error for a member of the object at this path of a body, which is of this type."""
    struct = _struct_at(kind, path)
    hint = suggest_name(name, [field.encode_name for field in msgspec.structs.fields(struct)])
    parent = _member_path(path)
    if struct is RuleDefinition:
        return InvalidParameter(parent, f"has a rule with the unknown member {name}{hint}")
    return InvalidParameter(f"{parent}.{name}" if parent else name, f"is not a member of this request{hint}")


def _struct_at(kind: Any, path: str) -> type[msgspec.Struct]:
    """Returns the type of the objects at a path within a body of this type."""
    [struct] = _structs_in(kind)
    for member in re.findall(r"\.(\w+)", path):
        types = {field.encode_name: field.type for field in msgspec.structs.fields(struct)}
        [struct] = _structs_in(types[member])
    return struct


def _structs_in(kind: Any) -> list[type[msgspec.Struct]]:
    """Returns the type of objects in a type, such as that of the elements of an array."""
    kinds, structs = [kind], []
    while kinds:
        inner = kinds.pop()
        if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            structs.append(inner)
        kinds += get_args(inner)
    return list(dict.fromkeys(structs))


def _member_path(path: str) -> str:
    """Converts `$[3].relations[...].inheritIf` to `[3].relations.inheritIf`: the index of a batch element stays."""
    element = re.match(r"\$(\[\d+\])?", path)
    assert element is not None, path
    index = element[1] or ""
    members = _INDEX.sub("", path[element.end() :]).lstrip(".")
    return f"{index}.{members}" if index and members else index + members


def _check_values(body: bytes) -> None:
    """Raises InvalidRequest if the body, which need not be JSON, has more than MAX_VALUES values.

    Each value begins with a bracket or follows a comma, except for the first in an array or object, which is counted by
    the bracket before it."""
    if len(body) <= MAX_VALUES:
        return
    pieces = json_values.split(body)
    if sum(piece.count(b",") + piece.count(b"[") + piece.count(b"{") for piece in pieces) <= MAX_VALUES:
        return
    for counted, _ in enumerate(json_values.find_beginnings(body), 1):
        if counted > MAX_VALUES:
            raise InvalidRequest(f"Request contains more than {MAX_VALUES} values, arrays and objects")


def _check_nesting(body: bytes, max_depth: int) -> None:
    """Raises InvalidRequest if this valid JSON nests arrays and objects too deeply."""
    if body.count(b"{") + body.count(b"[") <= max_depth:
        return  # each level begins with a bracket
    brackets = _find_brackets(body).translate(_AS_BRACES)
    if len(brackets) <= 2 * max_depth:
        return
    for _ in range(max_depth):  # each round takes the innermost level away
        if not brackets:
            return
        brackets = brackets.replace(b"{}", b"")
    if brackets:
        raise _too_deep(max_depth)


def _find_brackets(body: bytes) -> bytes:
    """Returns the brackets of valid JSON, without those in strings."""
    if b"\\" in body:
        body = b"".join(piece.replace(b"\\\\", b"").replace(b'\\"', b"") for piece in json_values.split(body))
    # Without escaped ones, every second quotation mark ends a string; most strings have no brackets.
    marked = body.translate(None, _NOT_BRACKETS_OR_MARKS).replace(b'""', b"")
    return b"".join(marked.split(b'"')[::2]) if b'"' in marked else marked


def _is_written_alike(body: bytes, value: object, decoder: msgspec.json.Decoder[Any], pacing: _Pacing | None) -> bool:
    """Returns whether a body equals its decoded value, encoded again, blanks left out. No member is then repeated,
    because the value has each once. It is so for the bodies of clients that send members in the documented order and
    none without a value, and takes a quarter of the time of `_check_members`."""
    if _has_raw_parts(decoder):
        return False
    _pause(pacing)
    again = msgspec.json.encode(value)
    return again == body or (
        len(again) < len(body) and again.translate(None, json_values.BLANKS) == body.translate(None, json_values.BLANKS)
    )


@lru_cache(maxsize=1_024)  # decoders are made at start
def _has_raw_parts(decoder: msgspec.json.Decoder[Any]) -> bool:
    """Returns whether values of a decoder may have parts of a body as they are, which may repeat members."""
    of_type: type = decoder.type
    return any(isinstance(part, msgspec.inspect.RawType) for part in list_types(of_type))


def _has_many_escapes(body: bytes) -> bool:
    if len(body) <= LARGE_BODY_BYTES or b"\\" not in body:
        return False
    return sum(piece.count(b"\\") for piece in json_values.split(body)) > MAX_ENCODED_ESCAPES


def _has_each_member_once(body: bytes, pacing: _Pacing | None) -> bool:
    """Returns whether this valid JSON is seen not to repeat a member: it equals its value, which has each member once,
    encoded again, blanks left out."""
    _pause(pacing)
    try:
        value = decode_json(body)
        _pause(pacing)
        again = msgspec.json.encode(value)
    except msgspec.MsgspecError:
        return False
    if again == body:
        return True
    _pause(pacing)
    return again.translate(None, json_values.BLANKS) == body.translate(None, json_values.BLANKS)


def _check_members(body: bytes) -> None:
    """Raises InvalidRequest if an object of this valid JSON repeats a member: two parsers of one text could read two
    different requests, because it is not defined which of two equal members counts.

    The members are read one by one, between which other threads can run."""
    open_objects: list[set[str]] = []
    for token in json_values.find_names_and_braces(body):
        if token == b"{":
            open_objects.append(set())
        elif token == b"}":
            open_objects.pop()
        else:
            name = json.loads(token) if b"\\" in token else token[1:-1].decode()
            if name in open_objects[-1]:
                raise InvalidRequest(f"Request contains the member {json.dumps(name)} more than once in one object")
            open_objects[-1].add(name)


_ANYTHING: msgspec.json.Decoder[object] = build_decoder(object)


class WrittenBody(NamedTuple):
    """Holds the text of a body, and if it is JSON, its value, or what is wrong with it."""

    text: str
    is_json: bool
    value: object = None
    fault: InvalidRequest | None = None


def read_written_body(raw: bytes, max_depth: int) -> WrittenBody:
    """Returns a body. Raises InvalidRequest only if it is not UTF-8: what else is wrong with JSON is its `fault`, so
    that a handler can report it."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"Request is not valid UTF-8 (at position {error.start + 1})") from None
    if not is_json(text):
        return WrittenBody(text, False)
    try:
        return WrittenBody(text, True, decode_body(raw, _ANYTHING, max_depth))
    except InvalidRequest as fault:
        return WrittenBody(text, True, None, fault)
