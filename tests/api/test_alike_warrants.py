"""Warrants that are written alike mean the same as when each is decoded."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from magistrate.api.endpoints.check import CONTEXTUAL_LAST, CheckBody
from magistrate.api.endpoints.warrant_bodies import MAX_CHARACTERS, ContextualMember, read_alike_warrants
from magistrate.api.http.body_cache import KnownBodies
from magistrate.api.http.fast_path import MAX_KEPT_BYTES
from magistrate.api.http.request_values import decode_body
from magistrate.engine.warrants.plain_warrants import PlainRuns
from magistrate.errors import InvalidRequest

MOST, DEPTH = 100, 8
SUBJECT = '"subject":{"objectType":"user","objectId":"ann"}'
USUAL = f'{{"objectType":"team","objectId":"%s","relation":"member",{SUBJECT}}}'
ALIKE = (
    USUAL,
    USUAL.replace(":", " : ").replace(",", ",\n  "),
    f'{{{SUBJECT},"relation":"member","objectId":"%s","objectType":"team"}}',
    f'{{"objectId":"%s","objectType":"team","relation":"member",{SUBJECT[:-1]},"relation":"member"}}}}',
    USUAL.replace("{", '{"x":{"objectId":"y"},', 1),
    USUAL.replace("{", '{"x":"\u00e9",', 1),
)
"""Ways to write a warrant around the id of its object that are read without decoding each."""
OTHERS = (
    USUAL.replace("{", '{"x":[{},{"a":"\u00e9"}],', 1),
    USUAL.replace("ann", "*"),
    USUAL.replace("team", "no team"),
    USUAL.replace("member", "anyOf"),
    USUAL.replace('"relation"', '"objectId":"%s","relation"'),
    USUAL.replace('"relation"', '"relation":"viewer","relation"'),
    USUAL.replace('"relation"', '"policy":"1 == 1","relation"'),
    USUAL.replace('"relation"', '"policy":"","relation"'),
    USUAL.replace('"relation"', '"expiresAt":"2030-01-01T00:00:00Z","relation"'),
    USUAL.replace('"relation"', '"context":{"objectId":"%s"},"relation"'),
    USUAL.replace("objectId", "object\\u0049d"),
    USUAL.replace("{", '{"x":' + "[" * DEPTH + "]" * DEPTH + ",", 1),
    USUAL.replace("{", '{"x":"' + "x" * MAX_CHARACTERS + '",', 1),
    USUAL.replace('"%s"', "1"),
    USUAL.replace('"%s"', "null"),
    '{"objectId":"%s"}',
    '"%s"',
    "[%s]",
    "null",
)
IDS = (
    "a",
    "b",
    "team",
    "ann",
    "id-of-any-object",
    "a},{b",
    "a}},{",
    "*",
    ".",
    "..",
    "",
    "\\u0061",
    '"',
    "a b",
    "\u00e9",
)
SEPARATORS = (",", ", ", " ,\n\t", ",,", "", "},{")


def write(form: str, object_id: str) -> str:
    return form.replace("%s", object_id)


def read_whole(member: bytes) -> object:
    """What the member means, if it is plain, or what is wrong with it."""
    try:
        runs = decode_body(member, msgspec.json.Decoder(ContextualMember), DEPTH).read_plain()
        return None if runs is None else runs.runs
    except InvalidRequest as error:
        return type(error), str(error)


def read_alike(member: bytes) -> object:
    try:
        runs = CONTEXTUAL_LAST.read(member, DEPTH)
        return None if runs is None else runs.runs
    except InvalidRequest as error:
        return type(error), str(error)


@example([ALIKE[0]], ["a", "a},{b", "b"], ",", ("", ""), None)
@example([ALIKE[0]], ["a"], ",", ("", ""), None)
@example([ALIKE[0]], ["a"] * 100, ",", ("", ""), None)
@example([ALIKE[0]], ["a"] * 101, ",", ("", ""), None)
@example([ALIKE[0]], ["a", "b"], ",", ("", ""), 60)
@given(
    st.lists(st.sampled_from(ALIKE + OTHERS), min_size=1, max_size=2),
    st.lists(st.sampled_from(IDS) | st.text("ab-.", max_size=3), min_size=1, max_size=5),
    st.sampled_from(SEPARATORS),
    st.tuples(st.sampled_from(("", " ", "\n", ",", "{")), st.sampled_from(("", " ", "\n", ",", "]", "}"))),
    st.none() | st.integers(0, 400),
)
def test_warrants_mean_the_same_whether_each_is_decoded_or_not(
    forms: Sequence[str], ids: Sequence[str], separator: str, around: tuple[str, str], damaged: int | None
) -> None:
    elements = separator.join(write(forms[place % len(forms)], object_id) for place, object_id in enumerate(ids))
    opening, closing = around
    member = f'{{"contextualWarrants"{opening}:{opening}[{opening}{elements}{closing}]{closing}}}{closing}'.encode()
    if damaged is not None:
        at = damaged % len(member)
        member = member[:at] + b"\xff" + member[at + 1 :]

    assert read_alike(member) == read_whole(member)


@pytest.mark.parametrize("form", ALIKE)
@pytest.mark.parametrize("separator", [",", ", ", " ,\n\t"])
@pytest.mark.parametrize("number", [1, 2, MOST])
def test_warrants_that_are_written_alike_are_not_decoded(form: str, separator: str, number: int) -> None:
    text = "[" + separator.join(write(form, f"id-{place}") for place in range(number)) + "]"

    runs = read_alike_warrants(text, 0, len(text), MOST, DEPTH)

    assert isinstance(runs, PlainRuns)
    [(kind, ids)] = runs.runs
    assert kind[:3] == ("team", "member", "user")
    assert ids.object_ids == [f"id-{place}" for place in range(number)]
    assert ids.subject_ids == ["ann"] * number
    assert ids.objects_by_subject == {"ann": set(ids.object_ids)}


@pytest.mark.parametrize(
    ("depth", "is_read"), [(DEPTH - 1, False), (DEPTH, True)]
)  # the array, the warrant and six more levels in it
def test_the_array_may_nest_as_deep_as_is_allowed(depth: int, is_read: bool) -> None:
    form = USUAL.replace("{", '{"x":' + "[" * (DEPTH - 2) + "]" * (DEPTH - 2) + ",", 1)
    text = "[" + ",".join(write(form, f"id-{place}") for place in range(3)) + "]"

    assert (read_alike_warrants(text, 0, len(text), MOST, depth) is not None) is is_read


def test_a_body_with_a_few_new_warrants_is_not_decoded_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    known, decoder = KnownBodies(MAX_KEPT_BYTES), msgspec.json.Decoder(CheckBody)
    checked = b'{"warrants":[{"objectType":"document","objectId":"plan","relation":"viewer",' + SUBJECT.encode() + b"}]"
    decoded: list[bytes] = []

    def decode(body: bytes, decoder: msgspec.json.Decoder[Any], max_depth: int, is_strict: bool) -> Any:
        decoded.append(body)
        return decode_body(body, decoder, max_depth, is_strict)

    monkeypatch.setattr("magistrate.api.http.body_cache.decode_body", decode)
    for number in range(3):
        warrants = ",".join(write(USUAL, f"id-{number}-{place}") for place in range(2)).encode()
        known.decode(checked + b',"contextualWarrants":[' + warrants + b"]}", decoder, DEPTH, CONTEXTUAL_LAST)

    assert decoded == [checked + b"}"]
