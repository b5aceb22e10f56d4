"""Finds which relations and rules of a model the assertions of a suite reached.

A relation is reached if an assertion checks it, or comes to it by a rule, a link or a userset. A rule is reached if it
held at least once where an assertion came to its relation: what held nowhere could be anything. Each rule that is
written, operators apart, is decided by itself, as the rule of a relation that is added to its type for this purpose.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from magistrate.engine.evaluation.check import Check
from magistrate.engine.model.object_types import ObjectType
from magistrate.engine.names import RelationName, TypeName
from magistrate.engine.nesting import walk
from magistrate.engine.rules.direct import Direct
from magistrate.engine.rules.rule import Rule
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.testing.suite_run import SuiteRun, check_of_row
from magistrate.engine.testing.suites import Assertion, CheckAssertion, ModelSuite
from magistrate.engine.testing.warrants_in_memory import MAX_WORK, WarrantsInMemory
from magistrate.engine.truth import TRUE
from magistrate.engine.work import Work, complete
from magistrate.errors import BudgetExceeded, NotFound

MAX_CHECKS = 200_000
"""Limits the checks that one suite is followed to."""

Target = tuple[TypeName, RelationName]


@dataclass(slots=True)
class ModelCoverage:
    """Holds the relations of a model, such as `document#viewer`, and its rules, such as `document#viewer: editor`, and
    which of them were reached. `is_complete` is false if there was too much to follow."""

    relations: dict[str, bool] = field(default_factory=dict)
    rules: dict[str, bool] = field(default_factory=dict)
    is_complete: bool = True

    def merge(self, other: "ModelCoverage") -> None:
        """Adds what the suite of another file reached."""
        for own, others in ((self.relations, other.relations), (self.rules, other.rules)):
            for name, is_reached in others.items():
                own[name] = own.get(name, False) or is_reached
        self.is_complete = self.is_complete and other.is_complete


class _WrittenRule(NamedTuple):
    """Represents a rule that is no operator. `added` is the relation by which it is decided by itself."""

    rule: Rule
    added: RelationName
    name: str


def measure_coverage(suite: ModelSuite) -> ModelCoverage:
    """Returns what the assertions of a suite reach, whether they pass or not."""
    return _CoverageSearch(suite).search()


class _CoverageSearch:
    def __init__(self, suite: ModelSuite) -> None:
        self._rules: dict[Target, list[_WrittenRule]] = {}
        self._coverage = ModelCoverage()
        types = [self._extend(object_type) for object_type in suite.types]
        self._assertions = suite.assertions
        self._run = SuiteRun(replace(suite, types=types))
        self._left = MAX_CHECKS

    def _extend(self, of_type: ObjectType) -> ObjectType:
        """Returns the type with a relation for each rule that is no operator."""
        relations = dict(of_type.relations)
        for relation, rule in of_type.relations.items():
            self._coverage.relations[f"{of_type.name}#{relation}"] = False
            written = self._rules[of_type.name, relation] = []
            for place, inner in enumerate(_list_written(rule)):
                name = f"{of_type.name}#{relation}: {_describe(inner)}"
                # No relation that is written has a name with a blank.
                added = RelationName(f"{relation} {place}")
                relations[added] = inner
                written.append(_WrittenRule(inner, added, name))
                self._coverage.rules[name] = False
        return replace(of_type, relations=relations)

    def search(self) -> ModelCoverage:
        for assertion in self._assertions:
            try:
                memory = self._run.find_memory(assertion.added, Work(MAX_WORK))
                self._follow(memory, _list_checks(memory, assertion))
            except (BudgetExceeded, NotFound):
                self._coverage.is_complete = False
        return self._coverage

    def _follow(self, memory: WarrantsInMemory, checks: Iterable[Check]) -> None:
        """Marks what these checks reach, and those that they come to."""
        seen: set[tuple[ObjectRef, RelationName, Subject]] = set()
        waiting = [*checks]
        for check in waiting:  # grows during the loop
            key = (check.object, check.relation, check.subject)
            rules = self._rules.get((check.object.type, check.relation))
            if rules is None or key in seen:
                continue
            seen.add(key)
            self._left -= 1
            if self._left < 0:
                self._coverage.is_complete = False
                return
            self._coverage.relations[f"{check.object.type}#{check.relation}"] = True
            self._mark_rules(memory, check, rules)
            waiting += self._list_next(memory, check, rules)

    def _mark_rules(self, memory: WarrantsInMemory, check: Check, rules: Sequence[_WrittenRule]) -> None:
        checks = [Check(check.object, rule.added, check.subject, check.context) for rule in rules]
        values = complete(memory.decide_checks(checks, Work(MAX_WORK)))
        for _ in memory.release():
            pass
        for rule, value in zip(rules, values, strict=True):
            if value is TRUE:
                self._coverage.rules[rule.name] = True

    def _list_next(self, memory: WarrantsInMemory, check: Check, rules: Sequence[_WrittenRule]) -> Iterator[Check]:
        """Yields the checks that a check comes to by its rules, and by the usersets that have its relation."""
        subject, context = check.subject, check.context
        for warrant in memory.list_warrants_on(check.object):
            if warrant.relation == check.relation and warrant.subject_relation:
                userset = ObjectRef(warrant.subject_type, warrant.subject_id)
                yield Check(userset, RelationName(warrant.subject_relation), subject, context)
        for written in rules:
            dependency = written.rule.dependency()
            if dependency is None:
                continue
            if dependency.type is None:
                yield Check(check.object, dependency.relation, subject, context)
                continue
            link = written.rule.render(()).with_relation
            for warrant in memory.list_warrants_on(check.object):
                if (warrant.relation, warrant.subject_type) == (link, dependency.type):
                    self._coverage.relations[f"{check.object.type}#{link}"] = True
                    yield Check(
                        ObjectRef(warrant.subject_type, warrant.subject_id), dependency.relation, subject, context
                    )


def _describe(rule: Rule) -> str:
    """Returns a rule in a few words, without what explains `self`."""
    return rule.describe().partition(":")[0]


def _list_written(rule: Rule) -> Iterator[Rule]:
    """Yields the rules within a rule that have none themselves, in written order."""
    for inner in walk(rule, lambda outer: outer.rules):
        if not inner.rules and not isinstance(inner, Direct):
            yield inner


def _list_checks(memory: WarrantsInMemory, assertion: Assertion) -> Iterator[Check]:
    """Yields the check of an assertion, or one for each row of its query."""
    if isinstance(assertion, CheckAssertion):
        yield assertion.check
        return
    query, context = assertion.query, assertion.context
    for row in complete(memory.list_rows(query, context, Work(MAX_WORK))):
        subject = Subject(row.ref.type, row.id, row.subject_relation)
        yield check_of_row(query, subject, row.relation, context)
