"""Decides checks from cached warrants: the graph cache.

`graph.py` holds the cache: it belongs to one model and one revision at a time, and invalidates exactly what a change
affects. `views.py` defines what is cached per plan and subject type, and `entries.py` what is cached of one object.
`kinds.py` knows which groups the members of one kind are in directly, `closures.py` computes the membership closure of
one subject in steps, and `memberships.py` keeps the closures and recomputes those that a change concerns when they are
next used. The segments bound memory, `reachability.py` finds which plans can lead to a subject type. `walk.py`
decides a check from what `walk_reads.py` looks up, or reports what is missing (`missing.py`) and keeps where it stopped
(`walk_findings.py`); `fetching.py` names the reads for that and caches their rows. `overlaid_walk.py` decides checks
with warrants that are not stored, which `overlaid_views.py` merges into the entries, and `extended_closure.py` into the
closure of the subject. `cached_walk.py` caches decisions as well (`decision_cache.py`). `ahead_walk.py` decides a check
from rows that are read for it alone. What no walk can decide, an Evaluation does. For lists, `adjacency.py` caches the
objects of the warrants to one subject, as numbers that `id_table.py` assigns and keeps in order, in blocks
(`id_block.py`); `adjacent_objects.py` defines the entries, `entry_drafts.py` builds them, `object_entries.py` holds
them in a few bytes each, in a `sparse_array.py`, and `adjacency_fetch.py` caches what was read for it.
`subject_adjacency.py` and `subject_fetch.py` do the same for the subjects of the warrants on one object.
"""

from magistrate.engine.graph.cached_walk import CachedWalk
from magistrate.engine.graph.checkpoint import CheckpointNeeded
from magistrate.engine.graph.fetching import Fetch
from magistrate.engine.graph.graph import Graph
from magistrate.engine.graph.missing import MissingEntries
from magistrate.engine.graph.overlaid_walk import OverlaidWalk
from magistrate.engine.graph.reachability import group_names
from magistrate.engine.graph.walk import Walk
from magistrate.engine.graph.walk_findings import OpenWalk
from magistrate.engine.graph.walk_reads import GivenUp

__all__ = [
    "CachedWalk",
    "CheckpointNeeded",
    "Fetch",
    "GivenUp",
    "Graph",
    "MissingEntries",
    "OpenWalk",
    "OverlaidWalk",
    "Walk",
    "group_names",
]
