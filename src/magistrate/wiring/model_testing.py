"""Completes the outcomes of model tests that run in the process of a command, without a service."""

import asyncio

from magistrate.engine.explanation import WORK_FOR_SUGGESTIONS
from magistrate.engine.model_tests.running import AssertionOutcome
from magistrate.operations.checks.effects import WORK_FOR_EFFECTS
from magistrate.operations.model_tests import complete_outcome
from magistrate.operations.scheduling import limit_work


def complete_outcome_now(outcome: AssertionOutcome) -> AssertionOutcome:
    """Returns the outcome with all that would allow its check, and the effects of that. It runs an event loop of its
    own."""

    async def complete() -> AssertionOutcome:
        return await complete_outcome(outcome, limit_work(WORK_FOR_SUGGESTIONS + WORK_FOR_EFFECTS))

    return asyncio.run(complete())
