"""Defines plans, and what each consists of: direct warrants, expansions and branches.

This is the one place that knows it. Checks, both lists and the graph cache expand a plan alike: they read the
warrants of its `relations` and `requests`, expand each by the branches that `expand` or `expand_warrants` returns,
and continue with its `branches` on the same object. With a pattern in place of a warrant, this says what a plan can
reach at all.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from magistrate.engine.names import RelationName, TypeName
from magistrate.engine.rules.rule import Combined
from magistrate.engine.warrants.reader import WarrantsByObject
from magistrate.engine.warrants.warrant import Warrant, WarrantNames

PlanNames = tuple[TypeName, RelationName]
"""Names the plan of a relation on objects of a type."""

Expandable = Warrant | WarrantNames
"""Has the names of a warrant; with a pattern, an expansion is that of every warrant which has the pattern."""


@dataclass(frozen=True, slots=True, eq=False)
class UsersetExpansion:
    """Grants the relation of the plan to the members of usersets that warrants of these `relations` name.

    `requests` request such warrants; there are none when no warrant can be one.
    """

    is_explicit: ClassVar[bool] = True
    """Returns whether the warrant itself grants the relation, instead of linking to an object where it is granted."""

    relations: frozenset[RelationName]
    requests: tuple[WarrantsByObject, ...]

    def follows(self, warrant: Expandable) -> bool:
        """Returns whether a warrant on an object of the plan names such a userset."""
        return warrant.subject_relation != "" and warrant.relation in self.relations

    def select(self, warrants: Iterable[Warrant]) -> Iterator[Warrant]:
        """Yields those that `follows` accepts, without a call for each."""
        relations = self.relations
        return (warrant for warrant in warrants if warrant.subject_relation and warrant.relation in relations)

    def targets(self, warrants: Iterable[Warrant]) -> list[PlanNames]:
        """Returns the names that `target` returns for these warrants, each once."""
        names = {(warrant.subject_type, warrant.subject_relation) for warrant in self.select(warrants)}
        return [(of_type, RelationName(relation)) for of_type, relation in names]

    def target(self, warrant: Expandable) -> PlanNames:
        """Returns the names of the plan that decides on the subject of the warrant."""
        return warrant.subject_type, RelationName(warrant.subject_relation)

    def position(self, plan: "Plan", warrant: Expandable) -> int:
        """Returns the position of the warrant among the alternatives of the plan."""
        return plan.positions[warrant.relation]


@dataclass(frozen=True, slots=True)
class ArrowExpansion:
    """Grants the relation of the plan to subjects that have `relation` on a linked object of type `of_type`.

    An object is linked when a warrant of `with_relation` names it, or a userset on it (docs/compatibility.md#rules).
    `requests` request such warrants. The methods are those of UsersetExpansion.
    """

    is_explicit: ClassVar[bool] = False

    with_relation: RelationName
    of_type: TypeName
    relation: RelationName
    requests: tuple[WarrantsByObject, ...]

    def follows(self, warrant: Expandable) -> bool:
        return warrant.relation == self.with_relation and warrant.subject_type == self.of_type

    def select(self, warrants: Iterable[Warrant]) -> Iterator[Warrant]:
        relation, of_type = self.with_relation, self.of_type
        return (warrant for warrant in warrants if warrant.relation == relation and warrant.subject_type == of_type)

    def target(self, warrant: Expandable) -> PlanNames:
        return self.of_type, self.relation

    def position(self, plan: "Plan", warrant: Expandable) -> int:
        return plan.positions[self]


Expansion = UsersetExpansion | ArrowExpansion
"""Represents a branch that reaches the subjects of warrants."""


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Holds alternatives, any of which grants the relation. `relation` is None for alternatives within a combination.

    - `relations`: a warrant of one of these to the subject; the plan's own relation comes first;
    - `expansions`: a warrant that one of these branches follows, to a subject on which its target grants;
    - `branches`: further branches on this object.

    This is all that a plan consists of. `requests` are the distinct requests of all expansions, that of usersets first.

    `positions` maps the relations, arrows and branches to their position in written order, beginning with the plan's
    own relation.

    `is_defined` is false when the object type does not exist; what else might grant the relation is then not known.
    """

    type: TypeName
    relation: RelationName | None
    relations: tuple[RelationName, ...]
    usersets: UsersetExpansion
    links: tuple[ArrowExpansion, ...]
    branches: "tuple[Branch, ...]"
    positions: "Mapping[RelationName | ArrowExpansion | Branch, int]"
    is_defined: bool = True
    expansions: tuple[Expansion, ...] = field(init=False)
    requests: tuple[WarrantsByObject, ...] = field(init=False)
    _reads: tuple[tuple[Expansion, tuple[int, ...]], ...] = field(init=False)
    _links: dict[tuple[str, str], list[ArrowExpansion]] = field(init=False)

    def __post_init__(self) -> None:
        expansions: tuple[Expansion, ...] = (self.usersets, *self.links)
        object.__setattr__(self, "expansions", expansions)
        requests = dict.fromkeys(request for branch in expansions for request in branch.requests)
        object.__setattr__(self, "requests", tuple(requests))
        at = {request: position for position, request in enumerate(requests)}
        reads = tuple((branch, tuple(at[request] for request in branch.requests)) for branch in expansions)
        object.__setattr__(self, "_reads", reads)
        links: dict[tuple[str, str], list[ArrowExpansion]] = {}
        for link in self.links:
            links.setdefault((link.with_relation, link.of_type), []).append(link)
        object.__setattr__(self, "_links", links)

    def names_subject(self, warrant: Expandable) -> bool:
        """Returns whether a warrant on an object of the plan grants the relation to the one subject that it names."""
        return warrant.relation in self.relations and not warrant.subject_relation

    def expand(self, warrant: Expandable) -> Sequence[Expansion]:
        """Returns the branches that follow a warrant on an object of the plan, whatever the number of branches is."""
        links = self._links.get((warrant.relation, warrant.subject_type), ())
        return (self.usersets, *links) if self.usersets.follows(warrant) else links

    def expand_warrants(self, warrants: Sequence[Sequence[Warrant]]) -> Iterator[tuple[Warrant, Expansion]]:
        """Yields each warrant with each branch that follows it, branch by branch. `warrants` has those of each of
        `requests` on one object."""
        for branch, positions in self._reads:
            for position in positions:
                if warrants[position]:
                    for warrant in branch.select(warrants[position]):
                        yield warrant, branch

    def outline(self) -> object:
        """Returns the names that say which warrants it has and expands to what; equal in all models."""
        links = tuple((link.with_relation, link.of_type, link.relation) for link in self.links)
        return self.relations, self.usersets.relations, links


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """Represents a combination on an object of `type`, decided from its branches on the same object.

    A quantifier has no branches; its one link reaches the objects that it examines.
    """

    type: TypeName
    rule: Combined
    branches: "tuple[Branch, ...]"
    links: tuple[ArrowExpansion, ...] = ()


Branch = Plan | Operation | RelationName
"""Represents one branch of a plan. A name stands for the plan of that relation, which may lead back to this branch."""
