"""Decides checks (docs/compatibility.md#check): determines which reads are missing, then what follows from their rows.

An evaluation is driven from outside. `advance` goes as far as it can and returns the reads it misses, all of a level at
once; `take` receives their rows; this repeats until the root nodes have a value. A check therefore costs as many reads
as there are levels between the object and what decides it, not as many as there are nodes, and a hundred checks in a
batch cost as many as the deepest of them. `advance` may also return None because its time slice is over: the caller
then yields to other requests and calls it again. Each subject of the checks has nodes of its own
(subject_evaluation.py).
"""

import hashlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from magistrate.engine.check import Check as Check
from magistrate.engine.conditions import ALWAYS, PolicyEvaluator
from magistrate.engine.dismantling import dismantle
from magistrate.engine.facts import WARRANTS_FOR_A_NODE, Facts
from magistrate.engine.nodes import DECISION_ALONE, CheckNode, EvaluationScope
from magistrate.engine.plans import Model
from magistrate.engine.read_ahead import ReadsAhead
from magistrate.engine.subject_evaluation import SubjectEvaluation
from magistrate.engine.terms import Subject
from magistrate.engine.truth import Truth
from magistrate.engine.warrant_reader import WarrantRead
from magistrate.engine.warrants import Warrant
from magistrate.engine.work import Work


class Evaluation:
    """Decides the checks it is given, all at one revision. `now` is in microseconds since 1970 UTC.

    `scope` says what is evaluated besides; that is complete when `advance` returns an empty list.
    """

    def __init__(self, model: Model, now: int, work: Work, scope: EvaluationScope = DECISION_ALONE) -> None:
        self.model = model.with_all_arrows() if scope.with_paths else model
        self._scope = scope
        self.work = work
        self._now = now
        self._facts = Facts(model.counts)
        self._requested: list[WarrantRead] = []
        self._arriving: Iterator[int] = iter(())
        self._subjects: dict[tuple[Subject, bytes], SubjectEvaluation] = {}
        self._advancing: deque[SubjectEvaluation] = deque()
        self._waiting: list[SubjectEvaluation] = []
        self._digests: dict[int, tuple[Mapping[str, Any], bytes]] = {}

    @property
    def valid_until(self) -> int:
        """Returns the time at which the first of the decisions may change by itself."""
        return min((one.conditions.valid_until for one in self._subjects.values()), default=ALWAYS)

    @property
    def ahead(self) -> ReadsAhead | None:
        """Returns what the checks may read after their first read, if all of them have the same subject."""
        return next(iter(self._subjects.values())).ahead if len(self._subjects) == 1 else None

    def add_check(self, check: Check) -> CheckNode | None:
        """Returns the node that will have the value of a check.

        Returns None when the time slice ends before the plan is compiled; the caller then yields and makes the check
        again. Checks with the same subject and context share their nodes. Raises BudgetExceeded.
        """
        if not self.model.prepare(check.object.type, check.relation, self.work):
            return None
        key = (check.subject, self._digest(check.context))
        one = self._subjects.get(key)
        if one is None:
            conditions = PolicyEvaluator(check.context, self._now, self.work, self.model.policies)
            one = SubjectEvaluation(self.model, check.subject, conditions, self.work, self._facts, self._scope)
            self._subjects[key] = one
        if not self._advancing or self._advancing[-1] is not one:
            self._advancing.append(one)
        return one.root(check.object, check.relation)

    def advance(self) -> list[WarrantRead] | None:
        """Decides what can be decided, and returns the reads that are missing for the rest.

        The list is empty when everything is decided; None means that the time slice is over. The caller begins each
        time slice of `work`. Raises BudgetExceeded.
        """
        for warrants in self._arriving:
            self.work.hasten_checkpoint(warrants // WARRANTS_FOR_A_NODE)
            if self.work.needs_checkpoint:
                return None
        while self._advancing:
            one = self._advancing[0]
            if not one.advance():
                return None
            if one.is_waiting:
                self._waiting.append(one)
            self._advancing.popleft()
            if self._advancing and self.work.needs_checkpoint:
                return None
        self._requested = self._facts.missing()
        return self._requested

    def take(self, warrants: Sequence[Sequence[Warrant]]) -> None:
        """Takes the rows of the reads that `advance` returned, one list for each read."""
        self.work.spend(sum(map(len, warrants)))
        self._arriving = self._facts.take(self._requested, warrants)
        for one in self._waiting:
            one.go_on()
        self._advancing.extend(self._waiting)
        self._waiting = []

    def find_direct(self, node: CheckNode) -> list[tuple[Warrant, Truth]]:
        """Returns the warrants to the subject itself that a node was given, with their values, in an evaluation of one
        check."""
        return [direct for one in self._subjects.values() for direct in one.find_direct(node)]

    def policy_value(self, warrant: Warrant) -> Truth:
        """Returns the value of a warrant's policy whatever its time limits, in an evaluation of one check."""
        [one] = self._subjects.values()
        return one.conditions.policy_value(warrant)

    def release(self) -> Iterator[int]:
        """Frees the nodes and the warrants, and yields how many were freed since it yielded last.

        The evaluation cannot be used afterwards."""
        self._arriving = iter(())
        self._advancing.clear()
        self._waiting.clear()
        for one in self._subjects.values():
            yield from one.release()
        self._subjects.clear()
        yield from dismantle(self._facts.containers())

    def _digest(self, context: Mapping[str, Any]) -> bytes:
        """Returns a digest that is equal for equal contexts. A context that several checks share is encoded once."""
        known = self._digests.get(id(context))
        if known is None:
            encoded = msgspec.json.encode(context, order="deterministic")
            known = self._digests[id(context)] = (context, hashlib.blake2b(encoded, digest_size=16).digest())
        return known[1]
