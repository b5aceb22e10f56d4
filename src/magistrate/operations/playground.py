"""Loads the model and the warrants of a test file into a store that is made for them."""

from collections.abc import Iterator

from magistrate.engine.model_tests.suite import ModelSuite
from magistrate.operations.context import Context
from magistrate.operations.examples import ACTOR, build_new_warrant
from magistrate.operations.warrants import create_warrants
from magistrate.operations.whole_model import put_whole_model
from magistrate.store.contract import NewWarrant

WARRANTS_AT_ONCE = 1_000
"""Limits the warrants of one write."""


async def load_suite(ctx: Context, suite: ModelSuite) -> int:
    """Makes the model of the suite that of the store, creates its warrants, and returns how many were left out because
    they have expired. Raises InvalidParameter for what could not be written over HTTP either."""
    await put_whole_model(ctx, suite.types, suite.policies, ctx.stamp(ACTOR))
    now = ctx.now()
    current = [one for one in suite.warrants if one.expires_at is None or one.expires_at > now]
    for chunk in _divide([build_new_warrant(one) for one in current]):
        await create_warrants(ctx, chunk, ctx.stamp(ACTOR), lambda place: f"setup.warrants[{place}].")
    return len(suite.warrants) - len(current)


def _divide(new: list[NewWarrant]) -> Iterator[list[NewWarrant]]:
    for start in range(0, len(new), WARRANTS_AT_ONCE):
        yield new[start : start + WARRANTS_AT_ONCE]
