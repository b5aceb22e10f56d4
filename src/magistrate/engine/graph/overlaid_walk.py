"""Decides checks from the graph cache and an overlay of added warrants.

The added warrants are merged into what the cache has while a walk reads it: into the entries of the objects they are
on, and into the membership closure of the subject. The cache itself stays as it is, and what a walk misses is read and
cached without them.
"""

from collections.abc import Mapping

from magistrate.engine.decision import Decision
from magistrate.engine.evaluation import Check
from magistrate.engine.graph.closures import Member, MembershipClosure
from magistrate.engine.graph.extended_closure import GivenIds
from magistrate.engine.graph.graph import Graph
from magistrate.engine.graph.overlaid_views import OverlaidViews
from magistrate.engine.graph.walk import Walk
from magistrate.engine.graph.walk_reads import GivenUp
from magistrate.engine.overlay import Overlay
from magistrate.engine.terms import ObjectId, TypeName
from magistrate.engine.work import Work


class OverlaidWalk(Walk):
    """Decides checks as if the warrants of the overlay had been written.

    It gives up if stored warrants may have to be taken away: if the overlay removes any, or adds one that is not in
    force and may count instead of a stored one. One that is in force gives what a stored one without its time limits
    gives, whatever the limits of that. It also gives up if the model of the graph lacks a pattern of those it adds.
    """

    __slots__ = ("_added_groups", "_closures", "_is_possible", "_overlay")

    def __init__(self, graph: Graph, now: int, work: Work, shares: bool, overlay: Overlay) -> None:
        super().__init__(graph, now, work, shares)
        in_force = overlay.remove_limits(now) if overlay.only_adds else None
        self._is_possible = in_force is not None and overlay.patterns <= graph.model.patterns
        self._overlay = in_force or overlay
        self._views = OverlaidViews(graph, self._overlay)
        self._added_groups: dict[TypeName, Mapping[Member, GivenIds]] = {}
        self._closures: dict[tuple[TypeName, ObjectId], MembershipClosure] = {}

    def decide(self, check: Check) -> Decision | None:
        if not self._is_possible:
            raise GivenUp
        return super().decide(check)

    def _find_closure(self) -> MembershipClosure:
        of_type, id = self._subject_type, self._subject_id
        stored = super()._find_closure()
        if not stored.is_complete:
            return stored  # the walk then expands groups from the object's side, with the added warrants
        memberships = self._graph.memberships(of_type)
        if of_type not in self._added_groups:
            self._added_groups[of_type] = memberships.find_groups(self._overlay.ids_by_kind)
        added = self._added_groups[of_type]
        if not added:
            return stored
        closure = self._closures.get((of_type, id))
        if closure is None:
            closure = self._closures[of_type, id] = memberships.extend_closure(stored, added)
        memberships.grow(closure, self.work)
        return closure
