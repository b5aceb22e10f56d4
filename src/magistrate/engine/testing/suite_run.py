"""Decides the assertions of a suite, and explains those that fail."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from magistrate.engine.evaluation.check import Check
from magistrate.engine.explanation.explanation import Explanation
from magistrate.engine.lists.language import ObjectsQuery, Query
from magistrate.engine.lists.results import QueryRow
from magistrate.engine.names import ObjectId, RelationName, TypeName, suggest_name
from magistrate.engine.steps import Checkpoints
from magistrate.engine.subjects import Subject, join_subject_type, render_subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.testing.suites import Assertion, CheckAssertion, ModelSuite, QueryAssertion
from magistrate.engine.testing.warrants_in_memory import MAX_WORK, WarrantsInMemory
from magistrate.engine.truth import TRUE
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import ITEMS_FOR_A_NODE, Work, complete
from magistrate.errors import BudgetExceeded, InvalidRequest, NotFound

MAX_NAMED = 10
"""Limits the rows that a message names."""
MAX_MEMORIES = 8
"""Limits the sets of added warrants whose model is kept: assertions with the same ones mostly follow each other."""
_LIMIT_ONE = partial(Work, MAX_WORK)


@dataclass(frozen=True, slots=True)
class AssertionOutcome:
    """Holds what an assertion came to: `failure` is empty if it passed, and otherwise says what is the case instead.
    `explanation` is that of `check`, which came out otherwise with the warrants of `memory`, if there is one."""

    assertion: Assertion
    failure: str = ""
    explanation: Explanation | None = None
    check: Check | None = None
    memory: WarrantsInMemory | None = None


class SuiteRun:
    """Decides the assertions of one suite. `limit` returns the work that an assertion is charged to: by default, each
    has a budget of its own. Only the first `max_explained` that fail are explained; None stands for all."""

    def __init__(
        self, suite: ModelSuite, limit: Callable[[], Work] = _LIMIT_ONE, max_explained: int | None = None
    ) -> None:
        self._suite = suite
        self._limit = limit
        self._left_to_explain = max_explained
        self._memories: dict[tuple[Warrant, ...], WarrantsInMemory] = {}
        self.memory = WarrantsInMemory(suite.types, suite.policies, suite.warrants, suite.now)

    def list_outcomes(self) -> Iterator[AssertionOutcome]:
        """Yields the outcome of each assertion, in order."""
        for assertion in self._suite.assertions:
            yield complete(self.decide(assertion))

    def decide(self, assertion: Assertion) -> Checkpoints[AssertionOutcome]:
        """Returns the outcome of an assertion. One that cannot be decided fails, with the reason."""
        work = self._limit()
        try:
            if isinstance(assertion, CheckAssertion):
                outcome = yield from self._decide_check(assertion, work)
            else:
                outcome = yield from self._decide_query(assertion, work)
        except (BudgetExceeded, InvalidRequest, NotFound) as error:
            outcome = AssertionOutcome(assertion, error.message)
        work.pass_checkpoint()
        for freed in self.release():
            work.hasten_checkpoint(freed // ITEMS_FOR_A_NODE)
            if work.needs_checkpoint:
                yield None
                work.pass_checkpoint()
        return outcome

    def release(self) -> Iterator[int]:
        """Frees what the assertions have left in memory, and yields how much was freed since it yielded last."""
        for memory in (self.memory, *self._memories.values()):
            yield from memory.release()

    def find_memory(self, added: Sequence[Warrant], work: Work) -> WarrantsInMemory:
        """Returns the warrants of the suite, with these besides. Raises BudgetExceeded."""
        if not added:
            return self.memory
        key = tuple(added)
        if key not in self._memories:
            work.spend(len(self.memory.warrants) + len(added) + len(self.memory.model.types))
            if len(self._memories) == MAX_MEMORIES:
                del self._memories[next(iter(self._memories))]
            self._memories[key] = self.memory.add(added)
        return self._memories[key]

    def _decide_check(self, assertion: CheckAssertion, work: Work) -> Checkpoints[AssertionOutcome]:
        memory, check = self.find_memory(assertion.added, work), assertion.check
        if assertion.added:
            yield None
        undefined = self._describe_undefined(check.object.type, check.relation)
        if undefined:
            return AssertionOutcome(assertion, undefined)
        [value] = yield from memory.decide_checks([check], work)
        if (value is TRUE) != assertion.is_allowed:
            word, other = ("allowed", "denied") if assertion.is_allowed else ("denied", "allowed")
            explanation = yield from self._explain(memory, check, work)
            return AssertionOutcome(assertion, f"expected {word}, is {other}", explanation, check=check, memory=memory)
        failure = yield from self._find_other_reason(assertion, memory, work)
        if failure:
            explanation = yield from self._explain(memory, check, work)
            return AssertionOutcome(assertion, failure, explanation, check=check, memory=memory)
        return AssertionOutcome(assertion)

    def _find_other_reason(self, assertion: CheckAssertion, memory: WarrantsInMemory, work: Work) -> Checkpoints[str]:
        """Returns which of the reasons that the assertion names is none, or nothing."""
        if not assertion.because:
            return ""
        reached = yield from memory.list_reached(assertion.check, work)
        checks = [reason.to_check(assertion.check.context) for reason in assertion.because]
        values = yield from memory.decide_checks(checks, work)
        for reason, value in zip(assertion.because, values, strict=True):
            text = reason.names.render()
            if text not in reached:
                return f"it is denied, but not because of {text}: it does not come to that check"
            if (value is TRUE) != reason.holds:
                return f"it is denied, but not because of {text}, which {'does not hold' if reason.holds else 'holds'}"
        return ""

    def _explain(self, memory: WarrantsInMemory, check: Check | None, work: Work) -> Checkpoints[Explanation | None]:
        if check is None or self._left_to_explain == 0:
            return None
        if self._left_to_explain is not None:
            self._left_to_explain -= 1
        return (yield from memory.explain_check(check, work))

    def _describe_undefined(self, of_type: TypeName, relation: RelationName) -> str:
        """Returns a sentence about a type or relation that the model does not define, or nothing."""
        types = self.memory.model.types
        if of_type not in types:
            return f"the model does not define type {of_type}{suggest_name(of_type, types)}"
        relations = types[of_type].relations
        if relation in relations:
            return ""
        return f"type {of_type} has no relation {relation}{suggest_name(relation, relations)}"

    def _decide_query(self, assertion: QueryAssertion, work: Work) -> Checkpoints[AssertionOutcome]:
        memory, query = self.find_memory(assertion.added, work), assertion.query
        if assertion.added:
            yield None
        for of_type in (query.types or ()) if isinstance(query, ObjectsQuery) else (query.object.type,):
            for relation in query.relations or ():
                undefined = self._describe_undefined(of_type, relation)
                if undefined:
                    return AssertionOutcome(assertion, undefined)
        rows = yield from memory.list_rows(query, assertion.context, work)
        has_relations = any(_split_row(query, text)[1] for text in assertion.expected)
        rows_by_text = {_render_row(row, has_relations): row for row in rows}
        missing = [text for text in dict.fromkeys(assertion.expected) if text not in rows_by_text]
        others = [text for text in rows_by_text if text not in assertion.expected] if assertion.is_complete else []
        if not missing and not others:
            return AssertionOutcome(assertion)
        sentences = [
            f"{_join(texts)} {word}" for texts, word in ((missing, "missing"), (others, "unexpected")) if texts
        ]
        check = self._find_check(assertion, missing[0] if missing else others[0])
        explanation = yield from self._explain(memory, check, work)
        return AssertionOutcome(assertion, "; ".join(sentences), explanation, check=check, memory=memory)

    def _find_check(self, assertion: QueryAssertion, text: str) -> Check | None:
        """Returns the check that a row stands for, if the query has one relation or the row names it."""
        query = assertion.query
        row, named = _split_row(query, text)
        relations = (RelationName(named),) if named else query.relations or ()
        if len(relations) != 1:
            return None
        return check_of_row(query, row, relations[0], assertion.context)


def check_of_row(query: Query, row: Subject, relation: RelationName, context: Mapping[str, Any]) -> Check:
    """Returns the check that a row of a query stands for."""
    if isinstance(query, ObjectsQuery):
        subject = Subject(query.subject.type, query.subject.id, query.subject_relation)
        return Check(ObjectRef(row.type, row.id), relation, subject, context)
    return Check(query.object, relation, row, context)


def _render_row(row: QueryRow, has_relation: bool) -> str:
    text = render_subject(row.ref.type, row.id, row.subject_relation)
    return f"{text}#{row.relation}" if has_relation else text


def _split_row(query: Query, text: str) -> tuple[Subject, str]:
    """Returns what a row of an assertion names, and its relation, the empty text if it names none. The row of a group
    is `team:eng#member`, and `team:eng#member#viewer` with its relation."""
    name, _, relations = text.partition("#")
    of_type, _, subject_id = name.partition(":")
    userset, _, relation = relations.partition("#")
    if join_subject_type(TypeName(of_type), userset) not in (query.types or ()):
        userset, relation = "", relations
    return Subject(TypeName(of_type), ObjectId(subject_id), userset), relation


def _join(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - MAX_NAMED} more" if len(texts) > MAX_NAMED else ""
    return ", ".join(texts[:MAX_NAMED]) + more + (" is" if len(texts) == 1 else " are")
