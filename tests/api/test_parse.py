"""JSON bodies that are written in unusual ways."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magistrate.api import parse
from magistrate.api.parse import LARGE_BODY_BYTES, UNPAUSED_SECONDS, decode_body
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
@settings(max_examples=200)
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


@pytest.mark.parametrize("filling", [b" ", rb"\u00e9", rb"\\", rb"\""])
def test_a_large_body_is_read_like_a_small_one(filling: bytes) -> None:
    text = filling * (LARGE_BODY_BYTES // len(filling) + 1)
    body = b'  {"a":"' + text + rb'","\u0062":[[],{"a":1}]}  '

    assert decode_body(body, ANYTHING, DEPTH) == json.loads(body)


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
