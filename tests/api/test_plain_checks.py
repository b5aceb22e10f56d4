"""Checks whose ids are validated together are refused with the same errors as those that are validated one by one."""

from itertools import product
from typing import Any

import pytest

from magistrate.api.endpoints.check import CheckBody, SingleCheckBody, read_checks
from magistrate.api.endpoints.warrants import SubjectBody
from magistrate.errors import MagistrateError

TEXTS = ("a", "*", ".", "", None, "a b", "A", "anyOf", "é")
MAX_BYTES = 1_000


def outcome(bodies: list[SingleCheckBody]) -> Any:
    try:
        return read_checks(CheckBody("batch", bodies), MAX_BYTES, None)
    except MagistrateError as error:
        return type(error), error.message


def body(place: int, text: str | None, context: dict[str, Any] | None) -> SingleCheckBody:
    """A valid one, but for the text at this place."""
    texts: list[str | None] = ["doc", "1", "viewer", "user", "ann", "member"]
    texts[place] = text
    return SingleCheckBody(texts[0], texts[1], texts[2], SubjectBody(*texts[3:]), context)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_at_any_place_means_the_same_beside_other_checks(text: str | None) -> None:
    """A check with a context of its own is not plain, so those beside it are validated one by one."""
    other = body(0, "doc", {"x": 1})
    for first, second in product(range(6), repeat=2):
        bodies = [body(first, text, None), body(second, text, None)]
        plain, one_by_one = outcome(bodies), outcome([*bodies, other])
        if isinstance(plain[1], str):
            assert plain == one_by_one
        else:
            assert plain[1] == one_by_one[1][:2]


def test_a_check_without_a_subject_is_refused() -> None:
    without = SingleCheckBody("doc", "1", "viewer", None)

    assert outcome([without]) == outcome([without, body(0, "doc", {"x": 1})])
    assert isinstance(outcome([without])[1], str)
