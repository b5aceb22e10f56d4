"""Builds the statement that lists events: changes and decisions together, in the order of their places.

Both are read by an index of times from the start of the slice, so only rows that are returned, or that a filter
skips, are looked at; the few rows that are found of each are then merged."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import msgspec

from magistrate.store.batch_reads import JoinTemplates
from magistrate.store.database import Row
from magistrate.store.events import CHANGES, DECISIONS, Event, EventFilter, EventsOfKind, Place
from magistrate.store.slices import Slice
from magistrate.store.sql import Clause

_LAST = 9_223_372_036_854_775_807
"""Sorts after every number and position (the largest 64-bit integer); -1 sorts before them."""

_CHANGE = (
    "SELECT r.written_at AS happened_at, 0 AS source, r.revision AS number, c.position AS position, "
    "c.action AS action, c.kind AS kind, c.key AS key, "
    "CASE WHEN c.action IN ('deleted', 'expired') THEN c.before ELSE c.after END AS content, "
    "c.starts_at AS starts_at, c.expires_at AS expires_at, r.actor AS actor, r.request_id AS request_id "
    "FROM {joined} WHERE r.revision > (SELECT changes_forgotten FROM head)"
)
_DECISION = (
    "SELECT r.decided_at AS happened_at, 1 AS source, r.number AS number, 0 AS position, r.action AS action, "
    "'decision' AS kind, r.key AS key, r.context AS content, "
    "CAST(NULL AS BIGINT) AS starts_at, CAST(NULL AS BIGINT) AS expires_at, r.actor AS actor, "
    "r.request_id AS request_id FROM {joined}"
)
_ORDERS = {
    CHANGES: ("r.written_at", "r.revision", "c.position"),
    DECISIONS: ("r.decided_at", "r.number", "0"),
    None: ("happened_at", "source", "number", "position"),
}
_NOT_WITH_ITS_OBJECT = (
    "NOT (c.action = 'deleted' AND (c.after IS NOT NULL OR EXISTS (SELECT 1 FROM change o "
    "WHERE o.revision = c.revision AND o.position = 0 AND o.kind = 'object' AND o.action = 'deleted')))"
)
"""Excludes warrants that ended with their object, which `after` names. Earlier versions did not log that, but their
revisions that begin with the deletion of an object delete no other warrants."""


@dataclass(frozen=True, slots=True)
class _Reach:
    """Holds a range of places, after one and before another, the direction in which they are read, and the maximum
    number of rows."""

    after: Place | None
    before: Place | None
    ascending: bool
    most: int

    @property
    def sign(self) -> str:
        return "ASC" if self.ascending else "DESC"


def events_statement(wanted: Slice, only: EventFilter, templates: JoinTemplates) -> Clause:
    """Returns a statement that selects (revision, horizon, behind, *place, action, kind, key, content, starts_at,
    expires_at, actor, request_id) for `limit + 1` rows, or twice as many, nearest to the boundary first, like
    `sql_lists.list_statement`. The filter must have a kind."""
    ahead, beyond = _reaches(wanted, only)
    rows = _merge_events(ahead, only, templates)
    page = f"p.* FROM head h LEFT JOIN ({rows.sql}) p ON true ORDER BY {_order(None, ahead)}"
    if beyond is None:
        return Clause(f"SELECT h.revision, h.horizon, false, {page}", rows.values)
    others = _merge_events(beyond, only, templates)
    probe = f"(SELECT max(number) FROM ({others.sql}) q) IS NOT NULL"
    return Clause(f"SELECT h.revision, h.horizon, {probe}, {page}", others.values + rows.values)


def build_event(row: Row) -> Event:
    """Builds an event from the columns (*place, action, kind, key, content, starts_at, expires_at, actor,
    request_id)."""
    *place, action, kind, key, content, starts_at, expires_at, actor, request_id = row
    names = msgspec.json.decode(key, type=tuple[str, ...])
    return Event(action, kind, names, content, tuple(place), starts_at, expires_at, actor, request_id)


def _reaches(wanted: Slice, only: EventFilter) -> tuple[_Reach, _Reach | None]:
    """Returns the range of rows that may be on the page, and the range at the boundary or on its other side, where a
    single row suffices."""
    ascending = wanted.descending == wanted.backwards
    first = None if only.since is None else (only.since - 1, _LAST, _LAST, _LAST)
    last = None if only.until is None else (only.until + 1, -1, -1, -1)
    if wanted.boundary is None:
        return _Reach(first, last, ascending, wanted.limit + 1), None
    at, source, number, position = map(int, wanted.boundary)
    boundary = (at, source, number, position)
    # A filter without `since` or `until` has no end on that side: every place lies within it.
    upwards = max(boundary, first or boundary), last
    downwards = first, min(boundary, last or boundary)
    if ascending:
        up_to = (at, source, number, position + 1)
        return _Reach(*upwards, True, wanted.limit + 1), _Reach(first, min(up_to, last or up_to), False, 1)
    down_to = (at, source, number, position - 1)
    return _Reach(*downwards, False, wanted.limit + 1), _Reach(max(down_to, first or down_to), last, True, 1)


def _merge_events(reach: _Reach, only: EventFilter, templates: JoinTemplates) -> Clause:
    parts = []
    for source, text, joined, row in (
        (CHANGES, _CHANGE, templates.changes, "c"),
        (DECISIONS, _DECISION, templates.decisions, "r"),
    ):
        kinds = [one for one in only.kinds if (one.kind == "decision") == (source == DECISIONS)]
        if kinds:
            holds = _any(kinds, templates, row)
            selected = text.format(joined=joined.format(holds=holds.sql))
            parts.append(_part(source, Clause(selected, holds.values), reach))
    texts = [f"SELECT * FROM ({part.sql}) s{number}" for number, part in enumerate(parts)]
    return Clause(" UNION ALL ".join(texts), tuple(chain.from_iterable(part.values for part in parts)))


def _part(source: int, selected: Clause, reach: _Reach) -> Clause:
    conditions, values = "", [*selected.values]
    at, number, position = _ORDERS[source]
    for sign, place in ((">", reach.after), ("<", reach.before)):
        if place is not None:
            own = _own_place(place, source)
            # The index is read by the first of these two conditions.
            conditions += f" AND ({at}, {number}) {sign}= (?, ?) AND ({at}, {number}, {position}) {sign} (?, ?, ?)"
            values += [*own[:2], *own]
    return Clause(f"{selected.sql}{conditions} ORDER BY {_order(source, reach)} LIMIT ?", (*values, reach.most))


def _own_place(place: Place, source: int) -> tuple[int, int, int]:
    """Returns the time, number and position at which the place lies among the rows of this source."""
    at, of_source, number, position = place
    if of_source == source:
        return at, number, position
    return (at, _LAST, _LAST) if source < of_source else (at, -1, -1)


def _order(source: int | None, reach: _Reach) -> str:
    return ", ".join(f"{column} {reach.sign}" for column in _ORDERS[source] if column != "0")


def _any(kinds: Sequence[EventsOfKind], templates: JoinTemplates, row: str) -> Clause:
    """Returns a condition that the row is of one of the kinds."""
    alternatives = [_holds(one, templates, row) for one in kinds]
    text = " OR ".join(f"({one.sql})" for one in alternatives)
    return Clause(text, tuple(chain.from_iterable(one.values for one in alternatives)))


def _holds(wanted: EventsOfKind, templates: JoinTemplates, row: str) -> Clause:
    terms: list[str] = []
    values: list[str] = []
    if wanted.kind != "decision":
        terms.append(f"{row}.kind = '{wanted.kind}'")
    if wanted.action is not None:
        terms.append(f"{row}.action = ?")
        values.append(wanted.action)
    for place, name in wanted.names.items():
        terms.append(f"{templates.name.format(row=row, place=place)} = ?")
        values.append(name)
    if wanted.kind == "warrant":
        terms.append(_NOT_WITH_ITS_OBJECT)
    return Clause(" AND ".join(terms) or "true", tuple(values))
