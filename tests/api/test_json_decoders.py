"""Decoders of JSON let other threads run, and read numbers as the decoder without a hook does."""

import json
import math
import types
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import magistrate.api
from magistrate.api.http.json_values import MAX_DECIMAL_CHARACTERS, build_decoder, decode_json
from magistrate.api.http.request_values import decode_body
from magistrate.api.route_table import ROUTES
from magistrate.errors import InvalidParameter
from tests.calls import count_calls

API = Path(magistrate.api.__file__).parent
PLAIN = ("msgspec.json.Decoder(", "msgspec.json.decode(", "json.loads(", "json.load(")
ALLOWED = {
    ("http/json_values.py", "msgspec.json.Decoder("): "build_decoder makes the decoders that let others run",
    ("http/request_values.py", "json.loads("): "a name of a member, the rest of whose body is read otherwise",
    ("audit/chain.py", "msgspec.json.Decoder("): "a line of the audit log, read by a command that serves nobody",
}
"""Each plain decoder that is used in spite of that, by file, with the reason."""
ANYTHING = build_decoder(object)

digits = st.text("0123456789", min_size=1, max_size=90)
exponents = st.one_of(st.just(""), st.integers(-400, 400).map(lambda number: f"e{number}"))
decimals = st.builds(
    lambda sign, whole, fraction, exponent: f"{sign}{int(whole)}.{fraction}{exponent}",
    st.sampled_from(["", "-"]),
    st.text("0123456789", min_size=1, max_size=20),
    digits,
    exponents,
)


def test_only_the_decoders_that_let_others_run_are_used() -> None:
    texts = {str(path.relative_to(API)): path.read_text() for path in API.rglob("*.py")}
    uses = [(path, decoder) for path, text in texts.items() for decoder in PLAIN for _ in range(text.count(decoder))]

    assert sorted(uses) == sorted(ALLOWED)


def test_the_function_for_decimals_is_one_at_whose_calls_threads_change() -> None:
    """A function of the interpreter itself, such as `float`, is called without a look at the other threads."""
    assert isinstance(ANYTHING.float_hook, types.FunctionType)
    assert isinstance(build_decoder(dict[str, Any]).float_hook, types.FunctionType)


def test_each_decimal_of_a_body_is_a_call() -> None:
    body = json.dumps({"context": [0.1] * 100}).encode()

    _, calls = count_calls(lambda: decode_body(body, ANYTHING, 128))

    assert calls >= 100


@given(decimals)
def test_a_decimal_has_the_value_that_it_has_for_python(text: str) -> None:
    value = float(text)

    if math.isinf(value):
        with pytest.raises(msgspec.ValidationError):
            decode_json(text)
    else:
        assert decode_json(text) == value == msgspec.json.decode(text)
        assert math.copysign(1, decode_json(text)) == math.copysign(1, value)


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1.7976931348623159e308", "123456789.5e999"])
def test_a_decimal_out_of_range_is_refused_as_it_is_without_the_function(number: str) -> None:
    body = f'{{"a": [{{"b": {number}}}]}}'

    with pytest.raises(msgspec.ValidationError) as plain:
        msgspec.json.decode(body)
    with pytest.raises(msgspec.ValidationError) as hooked:
        decode_json(body)

    assert str(hooked.value) == str(plain.value)


@pytest.mark.parametrize(
    ("characters", "is_read"), [(MAX_DECIMAL_CHARACTERS, True), (MAX_DECIMAL_CHARACTERS + 1, False)]
)
def test_a_decimal_has_so_many_characters_at_most(characters: int, is_read: bool) -> None:
    text = "0." + "1" * (characters - 2)

    if is_read:
        assert decode_json(text) == float(text)
    else:
        with pytest.raises(InvalidParameter, match="has a number that is out of range"):
            decode_body(b'{"a": ' + text.encode() + b"}", ANYTHING, 128)


def test_whole_numbers_are_read_as_before() -> None:
    for text in ("0", "-1", "9223372036854775808", "123456789012345678901234567890"):
        assert decode_json(text) == json.loads(text) == msgspec.json.decode(text)


def test_no_body_of_a_route_has_members_that_are_decimals_by_their_type() -> None:
    """The function is called for values of any type only."""
    for route in ROUTES:
        for body in (route.body, route.typed_body):
            if body is not None:
                assert '"number"' not in json.dumps(msgspec.json.schema(body))
