"""Refuses object types that forbid stored warrants, as part of the scripts that write object types."""

from collections.abc import Mapping, Sequence

from magistrate.engine.names import warrant_names
from magistrate.engine.terms import WILDCARD, TypeName
from magistrate.engine.warrants import WarrantPattern
from magistrate.errors import StrandedWarrants
from magistrate.store import sql_models
from magistrate.store.contract import FindForbidden
from magistrate.store.database import Compute, Script, Select

MOST_NAMED = 10
"""Limits the warrants that the error names."""


def refuse_stranding(
    before: Mapping[TypeName, str], after: Mapping[TypeName, str], forbidden: FindForbidden, at: int
) -> Script[None]:
    """Raises StrandedWarrants if a stored warrant that has not expired by the time `at` counts with the definitions
    before and does not with those after. Takes one lookup of an index for each pattern that is concerned."""
    [rows] = yield Select(sql_models.LIST_PATTERNS, [()])
    patterns = [WarrantPattern(warrant_names(*row)) for row in rows]
    concerned: list[WarrantPattern] = []
    yield Compute(lambda: concerned.extend(forbidden(before, after, patterns)))
    found: dict[str, None] = {}
    for pattern in dict.fromkeys(map(_without_object, concerned)):
        if len(found) > MOST_NAMED:
            break
        found.update(dict.fromkeys((yield from _find_warrants(pattern, at))))
    if found:
        raise StrandedWarrants(sorted(found)[:MOST_NAMED], len(found) > MOST_NAMED)


def _without_object(pattern: WarrantPattern) -> WarrantPattern:
    return WarrantPattern(pattern._replace(object_id=pattern.subject_id))


def _find_warrants(pattern: WarrantPattern, at: int) -> Script[Sequence[str]]:
    of_type, _, relation, subject_type, subject_id, subject_relation = pattern
    limits = (at, MOST_NAMED + 1)
    if subject_id == WILDCARD:
        names = (subject_type, subject_relation, of_type, relation)
        [rows] = yield Select(sql_models.WARRANTS_OF_WILDCARD_PATTERN, [(*names, *limits)])
    else:
        names_of_type = (f"{of_type}#{relation}", subject_relation, subject_type)
        [rows] = yield Select(sql_models.WARRANTS_OF_PATTERN, [(*names_of_type, *limits)])
    return [warrant_names(*row).render() for row in rows]
