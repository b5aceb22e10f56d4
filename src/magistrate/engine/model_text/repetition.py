"""Finds rules that are written twice in one group."""

from collections.abc import Iterator

from magistrate.engine.model_text.document import GROUPS, RuleClause
from magistrate.engine.nesting import fold

Content = tuple[object, ...]


def find_repeated_rules(rule: RuleClause, relation: str) -> Iterator[tuple[RuleClause, RuleClause | None]]:
    """Yields each rule that a group has already, with the first one; and each rule of the relation that is the relation
    itself, with None. Groups of one kind in each other count as one, and the order of rules as nothing."""
    numbers = _number_rules(rule)
    own = ("computed", (relation,))
    waiting: list[tuple[RuleClause, dict[int, RuleClause]]] = [(rule, {})]
    above_all = {id(rule)}
    while waiting:
        one, seen = waiting.pop()
        if id(one) in above_all and (one.kind, tuple(name.text for name in one.names)) == own:
            yield one, None
        for inner in reversed(one.rules):
            if inner.kind == one.kind and inner.kind != "none_of":
                waiting.append((inner, seen))
            else:
                waiting.append((inner, {}))
            if one.kind == "any_of" and id(one) in above_all:
                above_all.add(id(inner))
        for inner in one.rules:
            if inner.kind == one.kind and inner.kind != "none_of":
                continue
            first = seen.setdefault(numbers[id(inner)], inner)
            if first is not inner:
                yield inner, first


def _number_rules(rule: RuleClause) -> dict[int, int]:
    """Returns a number for each rule, by identity; rules of equal content have the same number."""
    by_content: dict[Content, int] = {}
    numbers: dict[int, int] = {}

    def number(one: RuleClause, inner: list[int]) -> int:
        names = tuple(name.text for name in one.names)
        content: Content = (one.kind, names, tuple(sorted(inner)) if one.kind in GROUPS else ())
        numbers[id(one)] = by_content.setdefault(content, len(by_content))
        return numbers[id(one)]

    fold(rule, lambda one: one.rules, lambda one, inner: number(one, list(inner)))
    return numbers
