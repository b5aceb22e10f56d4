"""Builds the statement that lists events: changes and decisions together, in the order of their places.

Both are read by their keys from the start of the slice, so only rows that are returned, or that a filter skips, are
looked at; the few rows that are found of each are then merged."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from magistrate.engine.names import Revision
from magistrate.store.contract.events import (
    CHANGES,
    DECISIONS,
    END_OF_PLACES,
    EventFilter,
    EventPosition,
    EventsOfKind,
    LogPart,
    Place,
)
from magistrate.store.contract.lists import Slice
from magistrate.store.sql.dialect import Clause, Dialect, Parameter
from magistrate.store.sql.head import HEAD, NEWEST

_CHANGE = (
    "SELECT c.revision AS revision, 0 AS source, c.position AS number, r.reached_at AS happened_at, "
    "c.revision AS made_at, c.action AS action, c.kind AS kind, c.key AS key, "
    "CASE WHEN c.action IN ('deleted', 'expired') THEN c.before ELSE c.after END AS content, "
    "c.starts_at AS starts_at, c.expires_at AS expires_at, r.actor AS actor, r.request_id AS request_id, "
    "r.bits AS bits FROM {joined} "
    "AND c.revision > (SELECT changes_deleted FROM head WHERE store = :store)"
)
_DECISION = (
    "SELECT r.stored_revision AS revision, 1 AS source, r.number AS number, r.decided_at AS happened_at, "
    "r.revision AS made_at, r.action AS action, 'decision' AS kind, r.key AS key, r.context AS content, "
    "CAST(NULL AS BIGINT) AS starts_at, CAST(NULL AS BIGINT) AS expires_at, r.actor AS actor, "
    "r.request_id AS request_id, r.bits AS bits FROM {joined}"
)
_ORDERS = {
    CHANGES: "c.revision {0}, c.position {0}",
    DECISIONS: "r.number {0}",
    None: "p.revision {0}, p.source {0}, p.number {0}",
}

# Both grow with the time at which they are reached, so each bound is a single lookup.
_REVISION_AT = (
    "c.revision {0}= (SELECT revision FROM revision WHERE store = :store AND reached_at {0}= ? "
    "ORDER BY reached_at {1}, revision {1} LIMIT 1)"
)
_NUMBER_SINCE = (
    "r.number >= (SELECT number FROM decision WHERE store = :store AND reached_at >= ? "
    "ORDER BY reached_at, number LIMIT 1)"
)
_NUMBER_BEHIND = (
    "r.number {0}= (SELECT number FROM decision WHERE store = :store AND stored_revision {1} ? "
    "ORDER BY stored_revision {2}, number {2} LIMIT 1)"
)
_NOT_WITH_ITS_OBJECT = "NOT (c.action = 'deleted' AND c.after IS NOT NULL)"
"""Excludes warrants that ended with their object, which `after` names."""


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


def events_statement(part: Slice, only: EventFilter, dialect: Dialect) -> Clause:
    """Returns a statement that selects (*NEWEST, behind, *place, at, made_at, action, kind, key, content, starts_at,
    expires_at, actor, request_id, bits) for `limit + 1` rows, or twice as many, nearest to the boundary first, like
    `list_statement`. The filter must have a kind."""
    ahead, beyond = _reaches(part)
    rows = _merge_events(ahead, only, dialect)
    page = f"p.* FROM {HEAD} LEFT JOIN ({rows.sql}) p ON true ORDER BY {_order(None, ahead)}"
    if beyond is None:
        return Clause(f"SELECT {NEWEST}, false, {page}", rows.values)
    others = _merge_events(beyond, only, dialect)
    probe = f"(SELECT count(*) FROM ({others.sql}) q) > 0"
    return Clause(f"SELECT {NEWEST}, {probe}, {page}", others.values + rows.values)


def follow_statement(after: EventPosition | None, limit: int, only: EventFilter, dialect: Dialect) -> Clause:
    """Returns a statement that selects (*NEWEST, changes_deleted, decisions_deleted,
    decisions_deleted_at, number of the last decision), and the columns of `events_statement` from `place` on, for
    `limit + 1` rows, or twice as many, in the order of their places."""
    head = (
        f"SELECT {NEWEST}, h.changes_deleted, h.decisions_deleted, h.decisions_deleted_at, "
        "coalesce((SELECT max(number) FROM decision WHERE store = :store), h.decisions_deleted)"
    )
    if not only.kinds:
        return Clause(f"{head}, NULL FROM {HEAD}")
    reach = _Reach(None if after is None else after.place, None, True, limit + 1)
    rows = _merge_events(reach, only, dialect)
    return Clause(
        f"{head}, p.* FROM {HEAD} LEFT JOIN ({rows.sql}) p ON true ORDER BY {_order(None, reach)}", rows.values
    )


_LOG_HEAD = f"""
SELECT {NEWEST}, n.reached_at, h.changes_deleted, o.reached_at, k.revision, k.bits, s.revision, s.bits, s.reached_at,
    p.*
FROM {HEAD} LEFT JOIN revision n ON n.store = :store AND n.revision = h.revision
LEFT JOIN revision o ON o.store = :store AND o.revision = h.changes_deleted
LEFT JOIN revision k ON k.store = :store AND k.revision = ?
LEFT JOIN revision s ON s.store = :store AND s.revision = ?"""
_CONTENT_SIZE = "CAST(coalesce(length(q.content), 0) AS BIGINT)"
_LOG_ROWS = f"""
SELECT b.revision, b.source, b.number, b.happened_at, b.made_at, b.action, b.kind, b.key,
    CASE WHEN b.size_before < ? THEN b.content END AS content, b.starts_at, b.expires_at, b.actor, b.request_id, b.bits,
    b.size_before FROM (
        SELECT q.*, sum({_CONTENT_SIZE}) OVER (ORDER BY q.revision, q.number) - {_CONTENT_SIZE} AS size_before FROM
            ({{changes}} ORDER BY c.revision, c.position LIMIT ?) q
    ) b"""


def log_statement(part: LogPart, followed: Revision, dialect: Dialect) -> Clause:
    """Returns a statement that selects (*NEWEST, when it was reached, changes_deleted, when that was reached, *the
    revision and the bits of `followed`, *the same of `part.after` and when it was reached), and the columns of
    `events_statement` from `place` on and how many characters the contents before take, for `limit + 1` rows, in the
    order of their places."""
    joined = dialect.changes.format(condition="c.kind <> 'webhook'")
    changes = f"{_CHANGE.format(joined=joined)} AND (c.revision, c.position) > (?, ?)"
    values: tuple[Parameter, ...] = (part.after.revision, part.behind)
    if part.within is not None:
        changes += " AND c.revision = ? AND c.kind = ? AND c.action = ?"
        values += (part.after.revision, *part.within)
    rows = _LOG_ROWS.format(changes=changes)
    return Clause(
        f"{_LOG_HEAD} LEFT JOIN ({rows}) p ON true ORDER BY p.revision, p.number",
        (followed, part.after.revision, part.max_bytes, *values, part.limit + 1),
    )


def _reaches(part: Slice) -> tuple[_Reach, _Reach | None]:
    """Returns the range of rows that may be on the page, and the range at the boundary or on its other side, where a
    single row suffices."""
    ascending = part.descending == part.backwards
    most = part.limit + 1
    if part.boundary is None:
        return _Reach(None, None, ascending, most), None
    revision, source, number = map(int, part.boundary)
    boundary = (revision, source, number)
    if ascending:
        return _Reach(boundary, None, True, most), _Reach(None, (revision, source, number + 1), False, 1)
    return _Reach(None, boundary, False, most), _Reach((revision, source, number - 1), None, True, 1)


def _merge_events(reach: _Reach, only: EventFilter, dialect: Dialect) -> Clause:
    parts = []
    for source, text, joined, row in (
        (CHANGES, _CHANGE, dialect.changes, "c"),
        (DECISIONS, _DECISION, dialect.decisions, "r"),
    ):
        kinds = [kind for kind in only.kinds if (kind.kind == "decision") == (source == DECISIONS)]
        if kinds:
            alternatives = _any(kinds, dialect, row)
            selected = Clause(text.format(joined=joined.format(condition=alternatives.sql)), alternatives.values)
            bounds = [*_limit_places(reach, source), *_limit_times(only, source)]
            parts.append(_part(source, selected, bounds, reach))
    texts = [f"SELECT * FROM ({part.sql}) s{number}" for number, part in enumerate(parts)]
    return Clause(" UNION ALL ".join(texts), tuple(chain.from_iterable(part.values for part in parts)))


def _part(source: int, selected: Clause, bounds: Sequence[Clause], reach: _Reach) -> Clause:
    conditions = "".join(f" AND {bound.sql}" for bound in bounds)
    values = chain(selected.values, *(bound.values for bound in bounds), (reach.most,))
    return Clause(f"{selected.sql}{conditions} ORDER BY {_order(source, reach)} LIMIT ?", tuple(values))


def _limit_places(reach: _Reach, source: int) -> Iterator[Clause]:
    """Yields the conditions that rows of this source are in the range."""
    for sign, place in ((">", reach.after), ("<", reach.before)):
        if place is None:
            continue
        revision, of_source, number = place
        if source == CHANGES:
            position = number if of_source == CHANGES else END_OF_PLACES
            yield Clause(f"(c.revision, c.position) {sign} (?, ?)", (revision, position))
        elif of_source == DECISIONS:
            yield Clause(f"r.number {sign} ?", (number,))
        else:
            # All decisions that were stored at a revision are behind its changes.
            following = (">", ">=", "ASC") if sign == ">" else ("<", "<", "DESC")
            yield Clause(_NUMBER_BEHIND.format(*following), (revision,))


def _limit_times(only: EventFilter, source: int) -> Iterator[Clause]:
    """Yields the conditions that rows of this source are in the span of the filter."""
    for sign, order, time in ((">", "ASC", only.since), ("<", "DESC", only.until)):
        if time is None:
            continue
        if source == CHANGES:
            yield Clause(_REVISION_AT.format(sign, order), (time,))
        else:
            yield Clause(f"r.decided_at {sign}= ?", (time,))
    if source == DECISIONS and only.since is not None:
        yield Clause(_NUMBER_SINCE, (only.since,))


def _order(source: int | None, reach: _Reach) -> str:
    return _ORDERS[source].format(reach.sign)


def _any(kinds: Sequence[EventsOfKind], dialect: Dialect, row: str) -> Clause:
    """Returns a condition that the row is of one of the kinds."""
    alternatives = [_match_kind(kind, dialect, row) for kind in kinds]
    text = " OR ".join(f"({clause.sql})" for clause in alternatives)
    return Clause(text, tuple(chain.from_iterable(clause.values for clause in alternatives)))


def _match_kind(kind: EventsOfKind, dialect: Dialect, row: str) -> Clause:
    terms: list[str] = []
    values: list[str] = []
    if kind.kind != "decision":
        terms.append(f"{row}.kind = '{kind.kind}'")
    if kind.action is not None:
        terms.append(f"{row}.action = ?")
        values.append(kind.action)
    for place, name in kind.names.items():
        terms.append(f"{dialect.name.format(row=row, place=place)} = ?")
        values.append(name)
    if kind.kind == "warrant":
        terms.append(_NOT_WITH_ITS_OBJECT)
    return Clause(" AND ".join(terms) or "true", tuple(values))
