"""Builds requests for warrants that name nothing but what occurs in the warrant patterns of a model."""

from collections.abc import Iterable

from magistrate.engine.terms import WILDCARD, Subject, TypeName
from magistrate.engine.warrant_reader import WarrantsByObject
from magistrate.engine.warrants import WarrantPattern


def build_request(
    of_type: TypeName, patterns: Iterable[WarrantPattern], subjects: Subject | TypeName | None
) -> WarrantsByObject | None:
    """Returns the request for warrants to such subjects, or None when no pattern is to such subjects.

    It names no relation and no `*` that does not occur in these patterns.
    """
    found = [pattern for pattern in patterns if _is_among(pattern, subjects)]
    if not found:
        return None
    named = tuple(dict.fromkeys(pattern.relation for pattern in found))
    has_object_wildcard, has_subject_wildcard = (
        any(pattern.object_id for pattern in found),
        any(pattern.subject_id for pattern in found),
    )
    return WarrantsByObject(of_type, named, subjects, has_object_wildcard, has_subject_wildcard)


def _is_among(pattern: WarrantPattern, subjects: Subject | TypeName | None) -> bool:
    """Returns whether a warrant of this pattern can be given to the subjects of a WarrantsByObject."""
    if subjects is None:
        return pattern.subject_relation != ""
    if not isinstance(subjects, Subject):
        return (pattern.subject_type, pattern.subject_relation) == (subjects, "")
    same_kind = (pattern.subject_type, pattern.subject_relation) == (subjects.type, subjects.relation or "")
    return same_kind and (subjects.id != WILDCARD or pattern.subject_id == WILDCARD)
