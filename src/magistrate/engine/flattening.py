"""In which ways a relation can hold on one object, with the rules of the relations that it names written out.

If viewer inherits editor and editor owner, the ways to viewer are those three relations. Written out without a limit,
the last of a chain of thousands would be written out in each of the others, which grows with the square of what was
written. So only so much is written out besides a relation's own rule; what is beyond stays a name, and has ways of its
own."""

from collections.abc import Generator, Mapping, Sequence, Set
from typing import NamedTuple, TypeVar

from magistrate.engine.rules.rule import Combined, Rule
from magistrate.engine.terms import RelationName, TypeName

T = TypeVar("T")

MOST_WRITTEN_OUT = 32
"""Rules of other relations, those within them counted. Models that people write stay below it."""

Compiling = Generator[int, None, T]
"""Yields how much was done since it last did: 1 for looking at a rule or a name."""


class LinkNames(NamedTuple):
    """A link as a rule names it."""

    with_relation: RelationName
    of_type: TypeName
    relation: RelationName


Way = RelationName | LinkNames | Combined
"""How a rule can hold: a relation or a combination on the same object, or a relation on a linked one."""


class Ways(NamedTuple):
    """`ways` in written order, each once. `whole`: those relations among them whose rules are not written out, though
    they have some."""

    ways: list[Way]
    whole: Set[RelationName]


class _Alternatives:
    """Collects what one rule adds."""

    __slots__ = ("rules", "ways")

    def __init__(self) -> None:
        self.ways: list[Way] = []
        self.rules: list[Rule] = []

    def add_relation(self, relation: RelationName) -> None:
        self.ways.append(relation)

    def add_link(self, with_relation: RelationName, of_type: TypeName, relation: RelationName) -> None:
        self.ways.append(LinkNames(with_relation, of_type, relation))

    def add_combination(self, rule: Combined) -> None:
        self.ways.append(rule)

    def add_rules(self, rules: Sequence[Rule]) -> None:
        self.rules += rules


class _Flattening:
    """What has been found, and what is still to be looked at: names with `rules` are written out as far as there is
    `room`."""

    def __init__(self, rules: Mapping[RelationName, Rule], room: int) -> None:
        self._rules = rules
        self._room = room
        self.ways: dict[Way, None] = {}
        self.whole: set[RelationName] = set()
        self.waiting: list[RelationName | Rule] = []

    def steps(self) -> Compiling[None]:
        while self.waiting:
            one = self.waiting.pop()
            if not isinstance(one, str):
                self._add_rule(one)
            elif one not in self.ways:
                self._add_name(one)
            yield 1

    def _add_name(self, name: RelationName) -> None:
        self.ways[name] = None
        rule = self._rules.get(name)
        if rule is None:
            return
        if rule.size > self._room:
            self.whole.add(name)
        else:
            self._room -= rule.size
            self.waiting.append(rule)

    def _add_rule(self, rule: Rule) -> None:
        found = _Alternatives()
        rule.join(found)
        for way in found.ways:
            if isinstance(way, str):
                self.waiting.append(way)
            else:
                self.ways[way] = None
        self.waiting += reversed(found.rules)


def flatten_relation(relation: RelationName, rules: Mapping[RelationName, Rule]) -> Compiling[Ways]:
    """Returns the ways to a relation of a type with these rules. The relation itself comes first; its own rule is
    written out however long it is."""
    flattening = _Flattening(rules, MOST_WRITTEN_OUT)
    flattening.ways[relation] = None
    if relation in rules:
        flattening.waiting.append(rules[relation])
    yield from flattening.steps()
    return Ways([*flattening.ways], flattening.whole)


def flatten_rule(rule: Rule) -> Compiling[list[Way]]:
    """Returns the ways in which one rule can hold; the relations that it names stay names."""
    flattening = _Flattening({}, 0)
    flattening.waiting.append(rule)
    yield from flattening.steps()
    return [*flattening.ways]
