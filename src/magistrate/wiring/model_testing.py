"""Completes the outcomes of model tests that run in the process of a command, without a service."""

import asyncio

from magistrate.engine.model_tests.running import AssertionOutcome
from magistrate.operations.checks.effects import WORK_FOR_EFFECTS
from magistrate.operations.model_tests import count_outcome
from magistrate.operations.scheduling import limit_work


def count_effects_now(outcome: AssertionOutcome) -> AssertionOutcome:
    """Returns the outcome with the effects of what would allow its check. It runs an event loop of its own."""

    async def count() -> AssertionOutcome:
        return await count_outcome(outcome, limit_work(WORK_FOR_EFFECTS))

    return asyncio.run(count())
