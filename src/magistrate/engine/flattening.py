"""Determines in which ways a relation can hold on one object, with the rules of the relations it names inlined.

If viewer inherits editor and editor inherits owner, the ways to viewer are these three relations. Without a limit, the
last of a chain of thousands would be inlined in each of the others, which grows with the square of the chain. So only a
limited number of rules is inlined besides a relation's own; beyond that, a name stays a name and has ways of its own.
"""

from collections.abc import Generator, Mapping, Sequence, Set
from typing import NamedTuple, TypeVar

from magistrate.engine.rules.rule import Combined, LinkNames, Rule
from magistrate.engine.terms import RelationName, TypeName

T = TypeVar("T")

MOST_WRITTEN_OUT = 32
"""Limits the inlined rules of other relations, nested ones included. Models written by people stay below it."""

Compiling = Generator[int, None, T]
"""Yields the work done since the last yield: 1 for examining a rule or a name."""


FlatBranch = RelationName | LinkNames | Combined
"""Represents how a rule can hold: by a relation or combination on the same object, or by a relation on a linked one."""


class FlatBranches(NamedTuple):
    """Holds the ways to a relation in written order, each once.

    `whole` has those relations among them whose rules are not inlined although they have some.
    """

    flat_branches: list[FlatBranch]
    whole: Set[RelationName]


class _CollectedBranches:
    """Collects the alternatives that one rule adds."""

    __slots__ = ("flat_branches", "rules")

    def __init__(self) -> None:
        self.flat_branches: list[FlatBranch] = []
        self.rules: list[Rule] = []

    def add_relation(self, relation: RelationName) -> None:
        self.flat_branches.append(relation)

    def add_link(self, with_relation: RelationName, of_type: TypeName, relation: RelationName) -> None:
        self.flat_branches.append(LinkNames(with_relation, of_type, relation))

    def add_operation(self, rule: Combined) -> None:
        self.flat_branches.append(rule)

    def add_rules(self, rules: Sequence[Rule]) -> None:
        self.rules += rules


class _Flattening:
    """Holds the ways found so far, and the rules and names that remain to be examined.

    Names that have `rules` are inlined while there is `capacity`.
    """

    def __init__(self, rules: Mapping[RelationName, Rule], capacity: int) -> None:
        self._rules = rules
        self._capacity = capacity
        self.flat_branches: dict[FlatBranch, None] = {}
        self.whole: set[RelationName] = set()
        self.waiting: list[RelationName | Rule] = []

    def steps(self) -> Compiling[None]:
        while self.waiting:
            one = self.waiting.pop()
            if not isinstance(one, str):
                self._add_rule(one)
            elif one not in self.flat_branches:
                self._add_name(one)
            yield 1

    def _add_name(self, name: RelationName) -> None:
        self.flat_branches[name] = None
        rule = self._rules.get(name)
        if rule is None:
            return
        if rule.size > self._capacity:
            self.whole.add(name)
        else:
            self._capacity -= rule.size
            self.waiting.append(rule)

    def _add_rule(self, rule: Rule) -> None:
        found = _CollectedBranches()
        rule.join(found)
        for flat_branch in found.flat_branches:
            if isinstance(flat_branch, str):
                self.waiting.append(flat_branch)
            else:
                self.flat_branches[flat_branch] = None
        self.waiting += reversed(found.rules)


def flatten_relation(relation: RelationName, rules: Mapping[RelationName, Rule]) -> Compiling[FlatBranches]:
    """Returns the ways to a relation of a type with these rules.

    The relation itself comes first; its own rule is inlined whatever its length.
    """
    flattening = _Flattening(rules, MOST_WRITTEN_OUT)
    flattening.flat_branches[relation] = None
    if relation in rules:
        flattening.waiting.append(rules[relation])
    yield from flattening.steps()
    return FlatBranches([*flattening.flat_branches], flattening.whole)


def flatten_rule(rule: Rule) -> Compiling[list[FlatBranch]]:
    """Returns the ways in which one rule can hold; the relations it names are not inlined."""
    flattening = _Flattening({}, 0)
    flattening.waiting.append(rule)
    yield from flattening.steps()
    return [*flattening.flat_branches]
