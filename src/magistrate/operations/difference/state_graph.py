"""Decides many checks of one state from a graph cache of its own.

Most checks of a difference are denied in one of the states, each for another subject. An evaluation has nodes of its
own for each subject; a graph reads the groups of a subject and the warrants on an object once, and a walk from there
takes microseconds. It leaves what it cannot decide, such as policies that depend on the context, to the evaluation."""

from collections.abc import Sequence

from magistrate.engine.evaluation import Check
from magistrate.engine.graph import CheckpointNeeded, Fetch, GivenUp, Graph, MissingEntries, Walk
from magistrate.engine.truth import FALSE, TRUE, Truth
from magistrate.engine.work import WORK_BETWEEN_LOOKS, Work
from magistrate.operations.checks.graph import compile_groups
from magistrate.operations.difference.states import ComparedState
from magistrate.operations.scheduling import checkpoint, is_time_up, take_checkpoint

FEW_CHECKS = 50
"""Sets the number of checks from which on a graph is built; for fewer, it costs more than it saves."""
MOST_WARRANTS = 50_000
"""Limits the warrants that the graph caches. It is freed in one step, which takes a few milliseconds for so many."""
MOST_ROUNDS = 40
"""Limits the rounds of reads for the checks of one call."""


class StateGraph:
    """Holds the graph of one state, which is built when it is first needed."""

    def __init__(self, state: ComparedState, work: Work) -> None:
        self._state = state
        self._work = work
        self._graph: Graph | None = None

    async def decide(self, checks: Sequence[Check]) -> list[Truth | None]:
        """Returns the value of each check, None where it needs an evaluation. Raises BudgetExceeded."""
        graph = await self._find_graph()
        values: list[Truth | None] = [None] * len(checks)
        waiting, fetched = list(range(len(checks))), frozenset[object]()
        walk = Walk(graph, self._state.now, self._work, shares=True)
        for _ in range(MOST_ROUNDS):
            waiting = await self._walk(walk, checks, waiting, values)
            if not waiting or not walk.missing or walk.missing.keys() == fetched:
                break  # all is decided, or the graph has no capacity for the rest
            fetched = walk.missing.keys()
            await self._fetch(graph, walk.missing)
            walk.resume_checks()
        return values

    async def _find_graph(self) -> Graph:
        if self._graph is None:
            model = self._state.model
            await compile_groups(model)
            self._graph = Graph(model, self._state.at, MOST_WARRANTS)
        return self._graph

    async def _walk(
        self, walk: Walk, checks: Sequence[Check], waiting: Sequence[int], values: list[Truth | None]
    ) -> list[int]:
        """Decides the checks at these places as far as possible, and returns the places of those that miss
        something."""
        missing: list[int] = []
        left = list(reversed(waiting))
        while left:
            try:
                if self._work.needs_checkpoint:
                    raise CheckpointNeeded
                decision = walk.decide(checks[left[-1]])
            except CheckpointNeeded:
                await take_checkpoint(self._work)
                self._work.pass_checkpoint()
                continue
            except GivenUp:
                left.pop()
                continue
            place = left.pop()
            if decision is None:
                missing.append(place)
            else:
                values[place] = TRUE if decision.is_authorized else FALSE
        return missing

    async def _fetch(self, graph: Graph, missing: MissingEntries) -> None:
        """Reads what is missing and caches it. Raises BudgetExceeded."""
        fetch = Fetch(graph, missing)
        while (wanted := fetch.reads()) is not None:
            reads, most = wanted
            warrants = (await self._state.reader.read_warrants(reads, self._state.at, most)).warrants
            fetch.take(warrants)
            while not fetch.keep(WORK_BETWEEN_LOOKS):
                if is_time_up():
                    await checkpoint()
            self._work.spend(sum(map(len, warrants)))
