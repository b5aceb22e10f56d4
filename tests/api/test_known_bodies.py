"""Bodies and members that come again are not decoded again, and mean the same as when they are decoded as a whole."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from magistrate.api.endpoints.check import CONTEXTUAL_LAST, CheckBody
from magistrate.api.endpoints.warrant_bodies import ContextualMember
from magistrate.api.http.body_cache import MAX_BODY_BYTES, MAX_MEMBER_BYTES, KnownBodies, LastMember
from magistrate.api.http.fast_path import MAX_KEPT_BYTES
from magistrate.api.http.request_values import decode_body
from magistrate.errors import InvalidRequest

DECODER = msgspec.json.Decoder(CheckBody)
DEPTH = 32
SUBJECT = b'{"objectType":"user","objectId":"ann"}'
CHECKED = b'"warrants":[{"objectType":"document","objectId":"plan","relation":"viewer","subject":' + SUBJECT + b"}]"


def list_groups(number: int, first: int = 0) -> bytes:
    """The member with this many contextual warrants."""
    each = b'{"objectType":"team","objectId":"team-%d","relation":"member","subject":' + SUBJECT + b"}"
    return b'"contextualWarrants":[' + b",".join(each % one for one in range(first, first + number)) + b"]"


def describe(value: CheckBody) -> object:
    """All that is read of a body: its members, and the contextual warrants."""
    contextual = value.plain_contextual if value.is_contextual else None
    members = msgspec.structs.asdict(value)
    del members["contextual_warrants"]
    members.pop("known_runs", None)
    return members, value.is_contextual, value.plain_checks, contextual and contextual.ids_by_kind


def read_whole(body: bytes) -> object:
    try:
        return describe(decode_body(body, DECODER, DEPTH))
    except InvalidRequest as error:
        return type(error), str(error)


def read_known(known: KnownBodies, body: bytes) -> object:
    try:
        return describe(known.decode(body, DECODER, DEPTH, CONTEXTUAL_LAST))
    except InvalidRequest as error:
        return type(error), str(error)


MEMBERS = (
    CHECKED,
    list_groups(8),
    list_groups(8, first=4),
    b'"contextualWarrants":[]',
    b'"contextualWarrants":null',
    b'"contextualWarrants":[' + b'{"objectType":"team"},' * 40 + b"1]",
    list_groups(8).replace(SUBJECT, b'{"objectType":"user","objectId":"*"}'),
    b'"op":"anyOf"',
    b'"op":1',
    b'"context":{"a":1}',
    b'"unknown":"%s"' % (b"x" * MAX_BODY_BYTES),
    b'"unknown":",\\"contextualWarrants\\":[' + b"{}," * 300 + b']"',
    b'"unknown":",\\"contextualWarrants"',
    b'"unknown":{"a":1,"contextualWarrants":[' + b'{"objectType":"team"},' * 40 + b"{}]}",
    b'"strict":true',
    b"",
    b"}",
    b'"',
)
SEPARATORS = (b",", b" ,\n ", b"", b",,", b"}{")


@example([b"", list_groups(8)], b",", b"{", b"}")
@example([CHECKED, list_groups(8), list_groups(8)], b",", b"{", b"}")
@example([CHECKED, b'"contextualWarrants":null', list_groups(8)], b",", b"{", b"}")
@example([CHECKED, b'"contextualWarrant\\u0073":null', list_groups(8)], b",", b"{", b"}")
@example([CHECKED, list_groups(8), b""], b",", b"{", b"}")
@given(
    st.lists(st.sampled_from(MEMBERS), min_size=1, max_size=4),
    st.sampled_from(SEPARATORS),
    st.sampled_from((b"{", b" {\t", b"[", b"", b"{{")),
    st.sampled_from((b"}", b" }\n", b"]", b"", b"}}")),
)
def test_a_body_means_the_same_whether_its_last_member_is_known_or_not(
    members: Sequence[bytes], separator: bytes, opening: bytes, closing: bytes
) -> None:
    known, body = KnownBodies(MAX_KEPT_BYTES), opening + separator.join(members) + closing

    first, again, known_now = (read_known(known, body) for _ in range(3))

    assert first == again == known_now == read_whole(body)


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        (b'{"a":1,"b":[2]}', (b'{"a":1}', b'{"b":[2]}')),
        (b'{"a":1 , "b" :2} ', (b'{"a":1 }', b'{"b" :2} ')),
        (b'{"a":1}', None),
        (b'{"b":2}', None),
        (b'{,"b":2}', None),
        (b'{ ,"b":2}', None),
        (b'{"a":1 "b":2}', None),
        (b'{"b":1,"b":2}', None),
        (b'{"\\u0062":1,"b":2}', None),
        (b'"b"', None),
        (b"", None),
    ],
)
def test_a_last_member_is_taken_off_if_it_is_certain_that_it_is_one(
    body: bytes, parts: tuple[bytes, bytes] | None
) -> None:
    member: LastMember[object, object, object] = LastMember("b", object, lambda one: one, lambda others, _: others)

    assert member.split(body) == parts


@pytest.mark.parametrize("members", [*permutations((CHECKED, list_groups(8), b'"op":"anyOf"'))])
def test_members_may_have_any_order(members: Sequence[bytes]) -> None:
    known, body = KnownBodies(MAX_KEPT_BYTES), b"{" + b",".join(members) + b"}"

    assert read_known(known, body) == read_known(known, body) == read_whole(body)


class Reading:
    """Counts how often contextual warrants are read."""

    def __init__(self) -> None:
        self.count = 0
        self.member: LastMember[Any, ContextualMember, Any] = LastMember(
            "contextualWarrants", ContextualMember, self.read, CONTEXTUAL_LAST.join
        )

    def read(self, member: ContextualMember) -> object:
        self.count += 1
        return member.read_plain()


def test_the_groups_of_a_user_are_read_once_more_and_then_kept_for_many_checks() -> None:
    known, reading = KnownBodies(MAX_KEPT_BYTES), Reading()

    for number in range(20):
        checked = CHECKED.replace(b"plan", b"plan-%d" % number)
        body = b"{" + checked + b", " + list_groups(100) + b"}"
        value = known.decode(body, DECODER, DEPTH, reading.member)
        assert value.plain_checks[1][0].object.id == f"plan-{number}"
        assert value.plain_contextual.size == 100

    assert reading.count == 2


def test_groups_that_come_once_are_not_kept() -> None:
    known = KnownBodies(MAX_KEPT_BYTES)

    for number in range(20):
        known.decode(
            b"{" + CHECKED + b"," + list_groups(90, first=100 * number) + b"}", DECODER, DEPTH, CONTEXTUAL_LAST
        )

    assert known.members == {}


def test_members_with_the_same_ends_are_not_mistaken_for_each_other() -> None:
    known = KnownBodies(MAX_KEPT_BYTES)
    bodies = [
        b"{" + CHECKED + b"," + list_groups(90).replace(b'"team-47"', b'"team-%s"' % name) + b"}"
        for name in (b"ab", b"cd", b"ab", b"ab")
    ]

    assert [read_known(known, body) for body in bodies] == [read_whole(body) for body in bodies]
    assert len(known.members) == 1


@pytest.mark.parametrize(("blanks", "is_kept"), [(0, True), (MAX_MEMBER_BYTES, False)])
def test_a_very_large_member_is_not_kept(blanks: int, is_kept: bool) -> None:
    known = KnownBodies(MAX_KEPT_BYTES)

    for _ in range(2):
        known.decode(b"{" + CHECKED + b"," + list_groups(90) + b" " * blanks + b"}", DECODER, DEPTH, CONTEXTUAL_LAST)

    assert bool(known.members) == is_kept
