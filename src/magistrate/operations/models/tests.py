"""Runs the tests of a model beside other requests, without reading or writing what is stored
(docs/model-testing.md#over-http)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from magistrate.engine.names import Revision, TypeName
from magistrate.engine.terms import ObjectRef
from magistrate.engine.testing.suite_run import AssertionOutcome, SuiteRun
from magistrate.engine.testing.suites import ModelSuite
from magistrate.engine.warrants.overlay import Overlay
from magistrate.engine.warrants.reader import AnyRead, ReadResult
from magistrate.engine.work import Work
from magistrate.errors import InvalidRequest
from magistrate.operations.checks.suggestions import SuggestionCompletion
from magistrate.operations.context import Context
from magistrate.operations.difference.states import ComparedState
from magistrate.operations.runs import complete_checkpoints, release_run
from magistrate.operations.scheduling import checkpoint, is_time_up, limit_work, offload
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.stored_rows import ObjectName, StoredObject

ONLY_REVISION = Revision(1)


class StoreInMemory:
    """Implements WarrantReader and ExistingNames: the warrants are those of an overlay that nothing is under, and the
    objects those that they name."""

    def __init__(self, overlay: Overlay) -> None:
        self._overlay = overlay
        self._names = sorted(
            (of_type, object_id) for of_type in overlay.objects for object_id in overlay.merge_objects(of_type, ())
        )

    async def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> ReadResult:
        warrants = [self._overlay.merge(read, ()) for read in reads]
        return ReadResult(ONLY_REVISION, ONLY_REVISION, ONLY_REVISION, warrants)

    async def find_objects(self, refs: Sequence[ObjectRef], at: Revision) -> Snapshot[tuple[StoredObject, ...]]:
        existing = {*self._names}
        objects = (StoredObject(ref.type, ref.id, None, 0) for ref in refs if (ref.type, ref.id) in existing)
        return Snapshot(ONLY_REVISION, tuple(objects))

    async def list_names(
        self, of_type: TypeName | None, after: ObjectName | None, limit: int, at: Revision
    ) -> Snapshot[tuple[ObjectName, ...]]:
        names = [name for name in self._names if of_type in (None, name[0]) and (after is None or name > after)]
        return Snapshot(ONLY_REVISION, tuple(names[:limit]))


MAX_ASSERTIONS = 1_000
"""Limits the assertions of one request."""
MAX_TEST_WARRANTS = 1_000
"""Limits the warrants of one request, those of single tests included."""
MAX_RUN_WORK = 200_000
"""Limits the nodes and warrants that all tests of one request may look at; some seconds."""
MAX_EXPLAINED = 25
"""Limits the assertions that are explained: an explanation takes many times as long as a check."""


async def run_model_tests(ctx: Context, read: Callable[[], ModelSuite], size: int) -> list[AssertionOutcome]:
    """Returns the outcome of each assertion of the suite that `read` returns, in order. Reading takes about as long as
    reading `size` bytes of definitions.

    All assertions together have one budget, of MAX_RUN_WORK or that of a query; those that it is not enough for fail.
    Raises what `read` raises, and InvalidRequest for a suite that is too large."""
    work = limit_work(min(ctx.max_query_work, MAX_RUN_WORK))
    suite, run = await offload(partial(_prepare_run, read, work), size)
    try:
        outcomes = []
        for assertion in suite.assertions:
            outcome = await complete_checkpoints(run.decide(assertion), work)
            outcomes.append(await complete_outcome(outcome, work))
            if is_time_up():
                await checkpoint()
        return outcomes
    finally:
        release_run(run)


async def complete_outcome(outcome: AssertionOutcome, work: Work) -> AssertionOutcome:
    """Returns the outcome with all that its explanation suggests, and the effects of that."""
    explanation, check, memory = outcome.explanation, outcome.check, outcome.memory
    if explanation is None or check is None or memory is None or explanation.is_allowed:
        return outcome
    store = StoreInMemory(memory.overlay)
    state = ComparedState(memory.model, store, ONLY_REVISION, memory.now)
    search = SuggestionCompletion(store, store, state, check)
    return replace(outcome, explanation=await search.complete(explanation, partial(_share_work, work)))


@contextmanager
def _share_work(work: Work, most: int) -> Iterator[Work]:
    share = work.split(most)
    yield share
    work.spend(min(share.cost, work.left))


def _prepare_run(read: Callable[[], ModelSuite], work: Work) -> tuple[ModelSuite, SuiteRun]:
    suite = read()
    warrants = len(suite.warrants) + sum(len(assertion.added) for assertion in suite.assertions)
    for name, count, limit in (
        ("tests", len(suite.assertions), MAX_ASSERTIONS),
        ("warrants", warrants, MAX_TEST_WARRANTS),
    ):
        if count > limit:
            raise InvalidRequest(
                f"the file has {count} {name}, and the service runs {limit} at most; "
                "`magistrate model test` runs any number"
            )
    return suite, SuiteRun(suite, lambda: work, MAX_EXPLAINED)
