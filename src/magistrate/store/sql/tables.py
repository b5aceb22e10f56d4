"""Describes the tables that can be listed, for the statements of lists (sql.py)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from magistrate.store.contract.read_memory import LARGE_ROW_BYTES, SMALL_ROW_BYTES


@dataclass(frozen=True, slots=True)
class TableListing:
    """Describes a table that can be listed.

    Each sort is a sequence of columns that is unique among the rows of one revision. An index serves each sort, with
    and without a filter by `equal` (tests/store/test_query_plans.py verifies the plans)."""

    table: str
    columns: tuple[str, ...]
    sorts: Mapping[str, tuple[str, ...]]
    indexes: Mapping[tuple[str, ...], str]
    """Maps columns to an index: first the columns that a filter fixes, then those by which the rows are sorted. In
    the index, `deleted_revision` comes before them."""
    searched: tuple[str, ...] = ()
    joined: str = ""
    narrowing: Mapping[str, str] = field(default_factory=dict)
    """Maps columns whose filters leave few rows to the index that finds these rows, which are then sorted."""
    ended_by: str = ""
    """Names the column of the revision that ended a row in the way that lists it; empty if living rows are listed."""
    row_bytes: int = SMALL_ROW_BYTES
    """Limits the bytes of most rows, for which memory is reserved before they are read; 0 if rows are not kept."""
    members: Mapping[str, str] = field(default_factory=dict)
    """Maps the members of `meta` that rows can be sorted by to the column that each makes. No index serves these
    sorts: all rows that match the filter are read."""


OBJECTS = TableListing(
    table="object",
    columns=("object_type", "object_id", "meta", "created_at"),
    sorts={
        "objectId": ("object_id", "object_type"),
        "createdAt": ("created_at", "object_id", "object_type"),
        "objectType": ("object_type", "object_id"),
        "email": ("email_key", "object_id", "object_type"),
        "name": ("name_key", "object_id", "object_type"),
    },
    indexes={
        ("object_id", "object_type"): "object_by_id",
        ("object_type", "object_id"): "object_by_type",
        ("created_at", "object_id", "object_type"): "object_by_creation",
        ("object_type", "created_at", "object_id"): "object_by_type_and_creation",
        ("object_type", "email_key", "object_id"): "object_by_type",
        ("object_type", "name_key", "object_id"): "object_by_type",
    },
    searched=("object_id", "meta"),
    row_bytes=LARGE_ROW_BYTES,
    members={"email": "email_key", "name": "name_key"},
)

OBJECT_NAMES = replace(OBJECTS, columns=("object_type", "object_id"), searched=(), row_bytes=0)

OBJECT_TYPES = TableListing(
    table="object_type",
    columns=("type", "definition", "created_at"),
    sorts={"typeId": ("type",), "createdAt": ("created_at", "type")},
    indexes={("type",): "object_type_by_name", ("created_at", "type"): "object_type_by_creation"},
    searched=("type",),
    row_bytes=LARGE_ROW_BYTES,
)

WARRANTS = TableListing(
    table="warrant",
    columns=(
        "object_type",
        "object_id",
        "relation",
        "subject_type",
        "subject_id",
        "subject_relation",
        "text",
        "created_at",
        "number",
        "starts_at",
        "expires_at",
    ),
    sorts={"createdAt": ("created_at", "number")},
    indexes={("created_at", "number"): "warrant_by_creation"},
    joined=" LEFT JOIN policy ON digest = policy",
    narrowing={"object_id": "warrant_by_object", "subject_id": "warrant_by_subject"},
)


ENDED_BY_EXPIRY = replace(
    WARRANTS, indexes={("created_at", "number"): "warrant_by_expired"}, ended_by="expired_revision"
)
