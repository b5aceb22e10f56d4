"""Says which warrants a check reports, by docs/compatibility.md#reported-warrants: every rule as it is
written, none left out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from magistrate.engine.subjects import Subject
from magistrate.engine.warrants.warrant import Warrant
from tests.oracle import (
    OPERATORS,
    UNDECIDED,
    Ground,
    Model,
    Node,
    PolicyHolds,
    Rule,
    Truth,
    group_of,
    interval,
    is_self,
    solve_nodes,
    value,
)


class Step(NamedTuple):
    """A warrant on the object of one node, and the node that it leads to."""

    warrant: Warrant
    target: Node


class Steps(NamedTuple):
    """What grants a node, in order: alternatives, each of one step or of all those of an arrow, then the warrant that
    names the subject itself. What would come after that warrant is left out."""

    alternatives: list[list[Step]]
    grant: Warrant | None

    def targets(self) -> set[Node]:
        return {step.target for steps in self.alternatives for step in steps}


def find_path(
    model: Model, warrants: Sequence[Warrant], checked: Node, subject: Subject, policy_holds: PolicyHolds
) -> list[Warrant] | None:
    """The reported path of a check, from the subject to the object; None if it is not authorized."""
    ground = Ground(model, warrants, subject, policy_holds)
    values = solve_nodes(ground, [checked])
    return Paths(ground, values).path(checked) if values[checked] == Truth.TRUE else None


@dataclass(frozen=True, slots=True)
class Paths:
    ground: Ground
    values: Mapping[Node, Truth]

    def path(self, checked: Node) -> list[Warrant]:
        steps = self.steps_from(checked)
        lengths = shortest_lengths(steps)
        warrants: list[Warrant] = []
        node = checked
        while True:
            back = {target for target in steps[node].targets() if node in reachable(steps, target)}
            counting = [
                [step for step in alternative if step.target not in back or lengths[step.target] < lengths[node]]
                for alternative in steps[node].alternatives
            ]
            first = next((alternative for alternative in counting if alternative), None)
            if first is None:
                grant = steps[node].grant
                return ([grant] if grant else []) + warrants
            nearest = min(first, key=lambda step: (lengths[step.target], step.warrant.created_at, step.warrant.number))
            warrants = [nearest.warrant, *warrants]
            node = nearest.target

    def steps_from(self, checked: Node) -> Mapping[Node, Steps]:
        steps: dict[Node, Steps] = {}
        waiting = [checked]
        while waiting:
            node = waiting.pop()
            if node not in steps:
                steps[node] = self.steps(node)
                waiting.extend(steps[node].targets())
        return steps

    def steps(self, node: Node) -> Steps:
        alternatives: list[list[Step]] = []
        for grant in self.granting(node, set()):
            if isinstance(grant, Warrant):
                return Steps(alternatives, grant)
            alternatives.append(grant)
        return Steps(alternatives, None)

    def granting(self, node: Node, seen: set[Node]) -> Iterator[Warrant | list[Step]]:
        """The warrants on the object, in the order in which the rules reach them; no relation twice."""
        if node in seen or self.values[node] != Truth.TRUE:
            return
        seen.add(node)
        ground = self.ground
        stored = [warrant for warrant in ground.warrants_on(node) if ground.policy(warrant) == Truth.TRUE]
        stored.sort(key=lambda warrant: (warrant.policy != "", warrant.created_at, warrant.number))
        yield from filter(ground.names_subject, stored)
        rules = ground.model.get(node.type, {})
        if node.relation in rules:
            for warrant in stored:
                if warrant.subject_relation and self.values[group_of(warrant)] == Truth.TRUE:
                    yield [Step(warrant, group_of(warrant))]
            yield from self.by_rule(rules[node.relation], node, seen)

    def by_rule(self, rule: Rule, node: Node, seen: set[Node]) -> Iterator[Warrant | list[Step]]:
        if not rule or rule.get("policy") or is_self(rule, self.ground.model[node.type]) or not self.holds(rule, node):
            return
        relation = rule.get("inheritIf") or rule["forAll"]
        if relation in OPERATORS:
            for branch in rule["rules"] if OPERATORS[relation].reports_warrants else ():
                yield from self.by_rule(branch, node, seen)
        elif rule.get("ofType"):
            links = self.ground.warrants_on(node._replace(relation=rule["withRelation"]))
            steps = [Step(link, Node(rule["ofType"], link.subject_id, relation)) for link in links]
            yield [
                step
                for step in steps
                if step.warrant.subject_type == rule["ofType"]
                and self.ground.policy(step.warrant) == Truth.TRUE
                and self.values[step.target] == Truth.TRUE
            ]
        else:
            yield from self.granting(node._replace(relation=relation), seen)

    def holds(self, rule: Rule, node: Node) -> bool:
        expression = self.ground.rule(rule, node)
        return (
            value(expression, self.values, lambda barrier: interval(barrier, self.values, UNDECIDED)[0]) == Truth.TRUE
        )


def shortest_lengths(steps: Mapping[Node, Steps]) -> Mapping[Node, float]:
    """How many warrants suffice; infinitely many where none are needed and some lead around in a circle."""
    lengths = {
        node: 1 if granting.grant else float("inf") if granting.alternatives else 0 for node, granting in steps.items()
    }
    for _ in steps:
        for node, granting in steps.items():
            lengths[node] = min([lengths[node], *(lengths[target] + 1 for target in granting.targets())])
    return lengths


def reachable(steps: Mapping[Node, Steps], start: Node) -> set[Node]:
    nodes: set[Node] = set()
    waiting = [start]
    while waiting:
        node = waiting.pop()
        if node not in nodes:
            nodes.add(node)
            waiting.extend(steps[node].targets())
    return nodes
