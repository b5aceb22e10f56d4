"""JSON bodies that are written in unusual ways."""

import json
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.api.http import json_values
from magistrate.api.http import request_values as parse
from magistrate.api.http.json_values import MAX_ESCAPES, PIECE_BYTES, find_edges
from magistrate.api.http.request_values import (
    LARGE_BODY_BYTES,
    MAX_ENCODED_ESCAPES,
    MAX_KEPT_QUERY_BYTES,
    MAX_VALUES,
    UNPAUSED_SECONDS,
    decode_body,
    read_parameters,
)
from magistrate.errors import InvalidRequest

ANYTHING = msgspec.json.Decoder(object)
DEPTH = 128

names = st.sampled_from(["a", "b", '"', "\\", "{", "}", ":", "é", "a,b"])


def escape(name: str) -> str:
    return '"' + "".join(f"\\u{ord(letter):04x}" for letter in name) + '"'


written_names = names.flatmap(lambda name: st.sampled_from([json.dumps(name), escape(name)]))
blanks = st.sampled_from(["", " ", "\n\t"])


def written_object(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    member = st.builds("{}{}:{}{}".format, written_names, blanks, blanks, values)
    return st.lists(member, max_size=4).map(lambda members: "{" + ",".join(members) + "}")


written_values = st.recursive(
    st.one_of(written_names, st.sampled_from(["1", "1.50", "true", "null"])),
    lambda values: st.one_of(
        written_object(values), st.lists(values, max_size=3).map(lambda one: f"[{','.join(one)}]")
    ),
    max_leaves=12,
)


def repeats_a_member(text: str) -> bool:
    repeated = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        repeated.append(len({name for name, _ in pairs}) < len(pairs))

    json.loads(text, object_pairs_hook=note)
    return any(repeated)


@given(written_values)
def test_a_body_is_refused_if_and_only_if_an_object_repeats_a_member(text: str) -> None:
    if repeats_a_member(text):
        with pytest.raises(InvalidRequest, match="more than once in one object"):
            decode_body(text.encode(), ANYTHING, DEPTH)
    else:
        assert decode_body(text.encode(), ANYTHING, DEPTH) == json.loads(text)


@pytest.mark.parametrize(
    ("body", "depth"),
    [
        pytest.param(rb'{"a":"\\","b":"[[[[[[\"[[[[","c":["\\\""]}', 2, id="brackets in strings with escapes"),
        pytest.param(rb'["\\\\",["\"]",[]]]', 3, id="nested beside escapes"),
    ],
)
def test_only_brackets_outside_of_strings_count_as_nesting(body: bytes, depth: int) -> None:
    assert decode_body(body, ANYTHING, depth) == json.loads(body)
    with pytest.raises(InvalidRequest, match=f"deeper than {depth - 1} levels"):
        decode_body(body, ANYTHING, depth - 1)


class Inner(msgspec.Struct):
    text: str | None = None
    open: Any = None


class Outer(msgspec.Struct):
    inner: list[Inner] | None = None
    again: "Outer | None" = None


@pytest.mark.parametrize(
    "beside",
    [
        pytest.param('"inner":[{"open":%s}]', id="in a member of any type"),
        pytest.param('"inner":[{"open" :%s}]', id="with a blank before the colon"),
        pytest.param('"inner":[{"\\u006fpen":%s}]', id="in a member with an escaped name"),
        pytest.param('"inner":[{"unknown":%s}]', id="in a member that is ignored"),
        pytest.param('"unknown":%s', id="in a member that is ignored, outside"),
    ],
)
@pytest.mark.parametrize("depth", [8, 128])
def test_nesting_is_limited_wherever_it_is(beside: str, depth: int) -> None:
    decoder = msgspec.json.Decoder(Outer)
    around = beside.count("{") + beside.count("[") + 1
    body = [f"{{{beside % ('[' * levels + ']' * levels)}}}".encode() for levels in range(depth - around, 900, 99)]

    decode_body(body[0], decoder, depth)
    for one in [body[0].replace(b"[]", b"[[]]"), *body[1:]]:
        with pytest.raises(InvalidRequest, match=f"deeper than {depth} levels"):
            decode_body(one, decoder, depth)


@pytest.mark.parametrize("depth", [8, 128])
def test_nesting_of_a_type_that_contains_itself_is_limited(depth: int) -> None:
    decoder = msgspec.json.Decoder(Outer)

    def nested(levels: int) -> bytes:
        return b'{"again":' * (levels - 1) + b"{}" + b"}" * (levels - 1)

    decode_body(nested(depth), decoder, depth)
    with pytest.raises(InvalidRequest, match=f"deeper than {depth} levels"):
        decode_body(nested(depth + 1), decoder, depth)


def test_the_position_of_an_error_counts_the_blanks_before_the_body() -> None:
    with pytest.raises(InvalidRequest, match="at position 106"):
        decode_body(b" \n" * 50 + b'{"a":}', ANYTHING, DEPTH)
    with pytest.raises(InvalidRequest, match="at position 103"):
        decode_body(b" \n" * 50 + b'{"\xff":1}', ANYTHING, DEPTH)


@pytest.mark.parametrize("content", [b"", b"{}", b"\f{}\v", b"{" + b" " * PIECE_BYTES + b"}"])
@pytest.mark.parametrize("before", [0, 1, PIECE_BYTES - 1, PIECE_BYTES, 2 * PIECE_BYTES + 1])
@pytest.mark.parametrize("after", [0, 1, PIECE_BYTES - 1, PIECE_BYTES, 2 * PIECE_BYTES + 1])
def test_white_space_around_a_body_is_passed_over_in_pieces(content: bytes, before: int, after: int) -> None:
    body = b"\n" * before + content + b" " * after

    start, end = find_edges(body)

    assert body[start:end] == content
    assert start == (before if content else len(body))


@pytest.mark.parametrize("filling", [b" ", rb"\u00e9", rb"\\", rb"\""])
def test_a_large_body_is_read_like_a_small_one(filling: bytes) -> None:
    text = filling * (LARGE_BODY_BYTES // len(filling) + 1)
    body = b'  {"a":"' + text + rb'","\u0062":[[],{"a":1}]}  '

    assert decode_body(body, ANYTHING, DEPTH) == json.loads(body)


ESCAPED_AT_LENGTH = rb"\n" * (max(MAX_ESCAPES, MAX_ENCODED_ESCAPES) + 1)
"""More escapes than are passed over at once, and than are encoded again."""


@pytest.mark.parametrize("ending", [b"", b":", rb"\":", b"{", rb"\\"])
def test_names_with_very_many_escapes_are_compared(ending: bytes) -> None:
    name, other = ESCAPED_AT_LENGTH + ending, ESCAPED_AT_LENGTH + b"x" + ending
    body = b'{"a":{"%s" :1,"%s":{}},"b":["%s"]}'

    assert decode_body(body % (name, other, name), ANYTHING, DEPTH) == json.loads(body % (name, other, name))
    with pytest.raises(InvalidRequest, match="more than once in one object"):
        decode_body(body % (name, name, other), ANYTHING, DEPTH)


@pytest.mark.parametrize("ending", [rb'"', rb"\\", rb"\"", b""])
def test_a_string_with_very_many_escapes_is_one_value(ending: bytes) -> None:
    commas = b"," * (MAX_VALUES + 1)
    body = b'["%s%s"]' % (ESCAPED_AT_LENGTH, commas)

    assert decode_body(body, ANYTHING, DEPTH) == json.loads(body)
    with pytest.raises(InvalidRequest, match="malformed"):
        decode_body(b'["%s%s%s' % (ESCAPED_AT_LENGTH, commas, ending), ANYTHING, DEPTH)


@pytest.mark.parametrize("place", range(PIECE_BYTES - 4, PIECE_BYTES + 2))
@pytest.mark.parametrize("escape", [rb"\"", rb"\\\"", rb"\\\\"])
def test_no_escape_is_divided(place: int, escape: bytes) -> None:
    body = b'{"a":"%s%s[[[["}' % (b"x" * (place - len(b'{"a":"')), escape)

    assert decode_body(body, ANYTHING, 1) == json.loads(body)


@pytest.mark.parametrize("piece", [rb"\u00e9", rb"\n", rb"\"", rb",\n", rb"\"["])
def test_other_threads_can_run_while_very_many_escapes_are_read(piece: bytes) -> None:
    """Threads change between two lines of Python. One match of a regular expression over 8 MiB took 50 ms."""
    steps = 40
    body = b'{"a":"%s"}' % (piece * (steps * MAX_ESCAPES))

    assert count_lines("_find_end_of_string", lambda: decode_body(body, ANYTHING, DEPTH)) >= steps


def test_other_threads_can_run_while_values_and_members_are_looked_for() -> None:
    """The search for the next one took 75 ms over 8 MiB of blanks."""
    steps = 40
    blanks = b" " * steps * LARGE_BODY_BYTES
    values, members = b"[%s%s" % (b"0," * MAX_VALUES, blanks), b"{%s}" % blanks

    assert count_lines("find_beginnings", lambda: list(json_values.find_beginnings(values))) >= MAX_VALUES + steps
    assert count_lines("find_names_and_braces", lambda: list(json_values.find_names_and_braces(members))) >= steps


def count_lines(function: str, do: Callable[[], object]) -> int:
    """Returns the number of lines of this function in api/http/json_values.py that are run."""
    lines = 0

    def count_line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return count_line

    def count_call(frame: FrameType, event: str, argument: Any) -> Any:
        is_counted = frame.f_code.co_filename == json_values.__file__ and frame.f_code.co_name == function
        return count_line if is_counted else None

    before = sys.gettrace()
    sys.settrace(count_call)
    try:
        do()
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("length", [20, MAX_KEPT_QUERY_BYTES, MAX_KEPT_QUERY_BYTES + 1])
def test_the_parameters_of_a_request_are_its_own(length: int) -> None:
    """Those of the last requests are kept."""
    query = b"limit=5&limit=7&q=%C3%A9+x"
    query += b"a" * max(0, length - len(query))
    wanted = {"limit": "5", "q": "é x" + "a" * max(0, length - 26)}

    read_parameters(query)["limit"] = "1"

    assert read_parameters(query) == wanted


class ProcessorClock:
    """A clock of which each look takes some processor time; it counts the pauses that are made meanwhile."""

    def __init__(self, seconds_a_look: float) -> None:
        self.pauses = 0
        self._now = 0.0
        self._seconds_a_look = seconds_a_look

    def thread_time(self) -> float:
        self._now += self._seconds_a_look
        return self._now

    def sleep(self, seconds: float) -> None:
        self.pauses += 1


@pytest.mark.parametrize(
    ("bytes_more", "seconds_a_pass", "pauses"),
    [
        (1, UNPAUSED_SECONDS, 5),
        (1, UNPAUSED_SECONDS * 0.6, 2),
        (1, UNPAUSED_SECONDS * 0.15, 0),
        (0, UNPAUSED_SECONDS, 0),
    ],
)
def test_a_large_body_is_paused_over_when_its_passes_take_long(
    monkeypatch: pytest.MonkeyPatch, bytes_more: int, seconds_a_pass: float, pauses: int
) -> None:
    clock = ProcessorClock(seconds_a_pass)
    monkeypatch.setattr(parse, "time", clock)
    body = rb'{"a":"\u0062'
    body += b"b" * (LARGE_BODY_BYTES + bytes_more - len(body) - 2) + b'"}'  # the escape makes it need every pass

    decode_body(body, ANYTHING, DEPTH)

    assert clock.pauses == pauses
