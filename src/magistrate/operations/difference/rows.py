"""Describes rows of a difference and their causes as JSON, for lists, the effective feed and snapshots."""

from collections.abc import Sequence

import msgspec

from magistrate.engine.difference.causes import Cause
from magistrate.engine.difference.origins import TypeChange, WarrantChange
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant
from magistrate.operations.history.times import TimeText, render_time


class AccessSubject(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    object_type: str
    object_id: str
    relation: str = ""


class CauseRow(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """Represents a warrant that took or lost effect; without a relation, an object that was created or deleted.
    Its policy and its limits are omitted when it has none."""

    object_type: str
    object_id: str
    relation: str = ""
    subject: AccessSubject | msgspec.UnsetType = msgspec.UNSET
    policy: str = ""
    starts_at: TimeText | msgspec.UnsetType = msgspec.UNSET
    expires_at: TimeText | msgspec.UnsetType = msgspec.UNSET


class CauseRows(msgspec.Struct, rename="camel"):
    """Represents the changes that led to a row. `objectTypes` has the names of those that were created, replaced or
    deleted."""

    created: list[CauseRow]
    deleted: list[CauseRow]
    object_types: list[str]


def build_cause(cause: Cause) -> CauseRows:
    warrants = [change for change in cause.changes if isinstance(change, WarrantChange)]
    created = [_build_warrant(change.warrant) for change in warrants if change.is_created]
    deleted = [_build_warrant(change.warrant) for change in warrants if not change.is_created]
    return CauseRows(
        created + _build_refs(cause.created),
        deleted + _build_refs(cause.deleted),
        [change.name for change in cause.changes if isinstance(change, TypeChange)],
    )


def _build_refs(refs: Sequence[ObjectRef]) -> list[CauseRow]:
    return [CauseRow(ref.type, ref.id) for ref in refs]


def _build_warrant(warrant: Warrant) -> CauseRow:
    return CauseRow(
        warrant.object_type,
        warrant.object_id,
        warrant.relation,
        AccessSubject(warrant.subject_type, warrant.subject_id, warrant.subject_relation),
        warrant.policy,
        msgspec.UNSET if warrant.starts_at is None else render_time(warrant.starts_at),
        msgspec.UNSET if warrant.expires_at is None else render_time(warrant.expires_at),
    )
