"""Graphs of groups of different form: chains, stars, trees, loops and cliques."""

from collections.abc import Callable, Sequence

from magistrate.engine.cache.entry_reads import Fetch, MissingEntries
from magistrate.engine.cache.graph import Graph
from magistrate.engine.evaluation.check import Check, Decision
from magistrate.engine.evaluation.evaluation import Evaluation
from magistrate.engine.model.model import Model
from magistrate.engine.names import ObjectId, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.walk.cached_entries import CachedEntries
from magistrate.engine.walk.walk import Undecided, Walk
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work
from tests.calls import count_calls
from tests.memory_source import PLENTY, Relations, model_of, rows_of
from tests.operations.stored_warrants import question
from tests.scenario_files import stored_warrant

TYPES: dict[str, Relations] = {"user": {}, "group": {"member": {}}, "document": {"viewer": {}}}

DOCUMENTS = 40
ANN = Subject(TypeName("user"), ObjectId("ann"))
Shape = Callable[[int], list[str]]


def chain(size: int) -> list[str]:
    nested = [f"group:{i}#member@group:{i + 1}#member" for i in range(size - 1)]
    return [*nested, f"group:{size - 1}#member@user:ann"]


def star(size: int) -> list[str]:
    return [f"group:{i}#member@user:ann" for i in range(size)]


def loop(size: int) -> list[str]:
    ring = [f"group:{i}#member@group:{(i + 1) % size}#member" for i in range(size)]
    return [*ring, f"group:{size - 1}#member@user:ann"]


def clique(size: int) -> list[str]:
    edges = [(i, j) for i in range(size) for j in range(size) if i != j]
    return [*(f"group:{i}#member@group:{j}#member" for i, j in edges), "group:1#member@user:ann"]


def tree(size: int) -> list[str]:
    nested = [f"group:{(i - 1) // 3}#member@group:{i}#member" for i in range(1, size)]
    return [*nested, f"group:{size - 1}#member@user:ann"]


SHAPES: list[Shape] = [chain, star, loop, clique, tree]


class Case:
    """Warrants of a structure, a graph for them, and as many checks of one subject as there are documents."""

    def __init__(self, shape: Shape, size: int, subject: str = "user:ann") -> None:
        shared = [f"document:{i}#viewer@group:{i % min(size, 7)}#member" for i in range(DOCUMENTS)]
        written = [*shape(size), *shared]
        self.warrants = [stored_warrant(one, number, 0) for number, one in enumerate(written, 1)]
        self.model: Model = model_of(TYPES, self.warrants)
        self.graph = Graph(self.model, Revision(1), max_bytes=1_000_000_000)
        self.questions: list[Check] = [question(f"document:{i}#viewer@{subject}") for i in range(DOCUMENTS)]
        self.rounds = 0

    def walk(self) -> int:
        """Decides all, and returns how many calls that took, the reading itself left out."""
        walk = Walk(CachedEntries(self.graph), 0, Work(PLENTY), shares=True)
        found, calls = count_calls(lambda: decide_all(walk, self.questions))
        while found is None:
            calls += self.fetch(Fetch(self.graph, walk.missing))
            walk.resume_checks()
            found, more = count_calls(lambda: decide_all(walk, self.questions))
            calls += more
        if walk.missing.groups:  # what it did without is read ahead
            self.fetch(Fetch(self.graph, walk.missing.of_groups()))
            self.rounds -= 1
        return calls

    def grow_closure(self) -> int:
        """Works out the groups of the subject, and returns how many calls that took, the reading left out."""
        memberships = self.graph.memberships(ANN.type)
        calls, work = 0, Work(PLENTY)
        while True:
            work.pass_checkpoint()
            closure, more = count_calls(lambda: memberships.closure(ANN.id, work))
            calls += more
            if not closure.is_open:
                return calls
            missing = MissingEntries()
            missing.groups.update({(ANN.type, kind.number, object_id): None for kind, object_id in closure.missing})
            if missing:
                self.fetch(Fetch(self.graph, missing))

    def fetch(self, fetch: Fetch) -> int:
        calls = 0
        self.rounds += 1
        while (wanted := fetch.reads()) is not None:
            reads, most = wanted
            rows, room = [], most
            for read in reads:
                rows.append(rows_of(self.warrants, read)[:room])
                room -= len(rows[-1])
            fetch.take(rows)
            calls += count_calls(lambda: fetch.keep(PLENTY))[1]
        return calls

    def evaluate(self) -> tuple[int, int]:
        """Returns calls and rounds of reads without the graph."""
        evaluation = Evaluation(self.model, 0, Work(PLENTY))
        nodes = [evaluation.add_check(one) for one in self.questions]
        calls, rounds = 0, 0
        while any(node is None or node.value is None for node in nodes):
            evaluation.work.pass_checkpoint()
            reads, more = count_calls(evaluation.advance)
            calls += more
            if reads:
                rounds += 1
                rows: list[Sequence[Warrant]] = [rows_of(self.warrants, read) for read in reads]
                calls += count_calls(lambda rows=rows: evaluation.take(rows))[1]  # type: ignore[misc]
        return calls, rounds


def decide_all(walk: Walk, questions: Sequence[Check]) -> Sequence[Decision | None] | None:
    decisions = []
    for one in questions:
        walk.work.pass_checkpoint()
        while (decision := walk.decide(one)) is Undecided.PAUSED:
            walk.work.pass_checkpoint()
        assert decision is not Undecided.IMPOSSIBLE
        decisions.append(None if isinstance(decision, Undecided) else decision)
    return None if None in decisions else decisions
