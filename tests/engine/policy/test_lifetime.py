"""How long after the creation of its warrant a policy may hold: what renewal goes by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from magistrate.engine.policy.policy import read_policy
from tests.engine.policy.asking import CREATED_AT, HOUR, WARRANT


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ('expiresIn("2h")', 2),
        ('(expiresIn("2h"))', 2),
        ('expiresIn("2h") && vip', 2),
        ('vip and day == 1 and expiresIn("2h")', 2),
        ('expiresIn("2h") && expiresIn("1h")', 1),
        ('expiresIn("2h") || expiresIn("3h")', 3),
        ('(expiresIn("2h") || expiresIn("3h")) && (expiresIn("5h") || vip)', 3),
        ('true && expiresIn("2h")', 2),
        ('false || expiresIn("2h")', 2),
        ('expiresIn("2h") || vip', None),
        ('!expiresIn("2h")', None),
        ('expiresIn("2h") == false', None),
        ('vip ? expiresIn("2h") : true', None),
        ('let short = expiresIn("2h"); vip || short', None),
        ('any([1], expiresIn("2h"))', None),
        ("expiresIn(time)", None),
        ('expiresIn("0")', None),
        ('expiresIn("-2h")', None),
        ('expiresIn("soon")', None),
        ("false", None),
        ("vip", None),
    ],
)
def test_the_lifetime_of_a_policy(text: str, hours: int | None) -> None:
    assert read_policy(text).lifetime == (None if hours is None else hours * HOUR)


def test_a_fraction_of_a_microsecond_counts_as_a_whole_one() -> None:
    assert read_policy('expiresIn("1500ns")').lifetime == 2


parts = st.sampled_from(
    ["vip", "!vip", "amount < 3", "broken.x", "true", "false", 'expiresIn("1h")', 'expiresIn("2h")', '!expiresIn("1h")']
)
policies = st.recursive(
    parts, lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(["&&", "||"]), inner), max_leaves=6
)


@given(policies, st.integers(0, 3 * HOUR), st.booleans(), st.integers(1, 5))
def test_a_policy_never_holds_once_its_lifetime_is_over(text: str, later: int, vip: bool, amount: int) -> None:
    policy = read_policy(text)
    if policy.lifetime is not None:
        warrant = replace(WARRANT, created_at=CREATED_AT)
        context = {"vip": vip, "amount": amount, "broken": {}}
        assert policy.outcome(context, warrant, CREATED_AT + policy.lifetime + later).value is not True
