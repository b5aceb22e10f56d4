"""Reads plain warrants together: bodies that name a subject and have no policy and no time limits, as most have.

A request may have a thousand. Names that are alike are validated once, and all ids together."""

from collections.abc import Iterable, Sequence
from itertools import chain, groupby

from magistrate.api.endpoints.warrants import SubjectBody, WarrantBody
from magistrate.engine.plain_warrants import KindIds, PlainRuns, WarrantKind
from magistrate.engine.terms import (
    WILDCARD,
    ObjectRef,
    RelationName,
    Subject,
    are_object_ids,
    relation_name,
    type_name,
)
from magistrate.errors import InvalidParameter
from magistrate.store.contract import NewWarrant

Names = tuple[str | None, str | None, str | None, str | None]


def read_plain_runs(bodies: Sequence[WarrantBody], has_wildcards: bool) -> PlainRuns | None:
    """Returns the warrants that these bodies describe, or None unless all of them are valid and plain. No id may be `*`
    unless `has_wildcards`."""
    # By columns: each of these comprehensions takes a hundredth of a microsecond for a body.
    subjects = [body.subject for body in bodies if body.subject is not None]
    if len(subjects) < len(bodies) or [1 for body in bodies if body.policy or body.context]:
        return None
    if [1 for body in bodies if body.starts_at is not None or body.expires_at is not None]:
        return None
    object_ids, subject_ids = [body.object_id for body in bodies], [subject.object_id for subject in subjects]
    runs: list[tuple[WarrantKind, KindIds]] = []
    start = 0
    for names, length in _list_runs(bodies, subjects):
        kind = _read_kind(*names)
        if kind is None:
            return None
        end = start + length
        runs.append((kind, KindIds(object_ids[start:end], subject_ids[start:end])))  # type: ignore[arg-type]  # below
        start = end
    ids = {*object_ids, *subject_ids}
    if has_wildcards:
        ids.discard(WILDCARD)
    return PlainRuns(runs) if are_object_ids(ids) else None


def _list_runs(bodies: Sequence[WarrantBody], subjects: Sequence[SubjectBody]) -> Iterable[tuple[Names, int]]:
    """Returns the names in each run of bodies with the same names, and its length."""
    columns = (
        [body.object_type for body in bodies],
        [body.relation for body in bodies],
        [subject.object_type for subject in subjects],
        [subject.relation for subject in subjects],
    )
    if bodies and all([column.count(column[0]) == len(column) for column in columns]):  # such as the groups of a user
        of_type, relation, subject_type, group = (column[0] for column in columns)
        return [((of_type, relation, subject_type, group), len(bodies))]
    return [(names, len(list(alike))) for names, alike in groupby(zip(*columns, strict=True))]


def _read_kind(
    of_type: str | None, relation: str | None, subject_type: str | None, group: str | None
) -> WarrantKind | None:
    """Returns the kind of warrants with these names, or None if one is not valid."""
    try:
        if group:
            relation_name(group, "relation")
        names = type_name(of_type, "objectType"), relation_name(relation, "relation")
        return *names, type_name(subject_type, "objectType"), group or ""
    except InvalidParameter:
        return None


def read_plain_bodies(bodies: Sequence[WarrantBody]) -> list[NewWarrant] | None:
    """Returns the warrants that these bodies describe, or None unless all of them are valid and plain: then they have
    to be read one by one."""
    runs = read_plain_runs(bodies, has_wildcards=True)
    return None if runs is None else list(chain.from_iterable(_build_warrants(kind, ids) for kind, ids in runs.runs))


def _build_warrants(kind: WarrantKind, ids: KindIds) -> Iterable[NewWarrant]:
    of_type, relation, subject_type, subject_relation = kind
    group = RelationName(subject_relation) if subject_relation else None
    return [
        NewWarrant(ObjectRef(of_type, object_id), relation, Subject(subject_type, subject_id, group))
        for object_id, subject_id in zip(ids.object_ids, ids.subject_ids, strict=True)
    ]
