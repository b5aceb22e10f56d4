"""Defines the change of a warrant, as the graph cache sees it."""

from typing import NamedTuple


class WarrantChange(NamedTuple):
    """Holds the names in a warrant that was written or deleted."""

    object_type: str
    object_id: str
    relation: str
    subject_type: str
    subject_id: str
    subject_relation: str
