"""Reads plain warrants together: bodies that name a subject and have no policy and no time limits, as most have.

A request may have a thousand. Names that are alike are validated once, and all ids together."""

from collections.abc import Iterable, Sequence
from itertools import chain, groupby
from operator import attrgetter

from magistrate.api.endpoints.warrants import WarrantBody
from magistrate.engine.plain_warrants import KindIds, WarrantKind
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

_get_subject = attrgetter("subject")
_get_object_id = attrgetter("object_id")
_get_subject_id = attrgetter("subject.object_id")
_get_rest = attrgetter(
    *("object_type", "relation", "subject.object_type", "subject.relation"),
    *("policy", "context", "starts_at", "expires_at"),
)

Names = tuple[str | None, str | None, str | None, str | None]


def read_plain_runs(bodies: Sequence[WarrantBody], has_wildcards: bool) -> Sequence[tuple[WarrantKind, KindIds]] | None:
    """Returns the kinds of the warrants that these bodies describe, with the ids in each run of warrants of the same
    kind, or None unless all of them are valid and plain. No id may be `*` unless `has_wildcards`."""
    if None in map(_get_subject, bodies):
        return None
    runs: list[tuple[WarrantKind, KindIds]] = []
    known: dict[Names, WarrantKind] = {}
    for (*given, policy, context, starts_at, expires_at), alike in groupby(bodies, _get_rest):
        if policy or context or starts_at is not None or expires_at is not None:
            return None
        of_type, relation, subject_type, group = given
        names = (of_type, relation, subject_type, group)
        kind = known.get(names) or _read_kind(*names)
        if kind is None:
            return None
        known[names] = kind
        run = list(alike)
        runs.append((kind, KindIds(list(map(_get_object_id, run)), list(map(_get_subject_id, run)))))
    ids: set[str | None] = set(chain.from_iterable(chain(one.object_ids, one.subject_ids) for _, one in runs))
    if has_wildcards:
        ids.discard(WILDCARD)
    return runs if are_object_ids(ids) else None


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
    return None if runs is None else list(chain.from_iterable(_build_warrants(kind, ids) for kind, ids in runs))


def _build_warrants(kind: WarrantKind, ids: KindIds) -> Iterable[NewWarrant]:
    of_type, relation, subject_type, subject_relation = kind
    group = RelationName(subject_relation) if subject_relation else None
    return [
        NewWarrant(ObjectRef(of_type, object_id), relation, Subject(subject_type, subject_id, group))
        for object_id, subject_id in zip(ids.object_ids, ids.subject_ids, strict=True)
    ]
