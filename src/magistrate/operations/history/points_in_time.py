"""Finds the state that a read as of the past names (docs/history.md): its revision, and the time at which policies
are evaluated."""

from dataclasses import replace
from typing import NamedTuple

from magistrate.engine.names import Revision
from magistrate.errors import InvalidParameter, NotRetained
from magistrate.operations.consistency import LATEST, Freshness, is_token, read_revision, require_stored
from magistrate.operations.context import Context
from magistrate.operations.history.times import read_time, render_time
from magistrate.operations.paging import PageRequest
from magistrate.store.contract.revisions import RevisionId, RevisionLookup
from magistrate.store.contract.stored_rows import Identity

AS_OF = "asOf"
"""Names the parameter."""

TIME_SEPARATOR = "."
"""Separates, in the text of a position of the effective feed, the token of the revision from the time in
microseconds."""
MAX_TIME_DIGITS = 18
MAX_CLOCK_DIFFERENCE_US = 5_000_000
"""Limits how far the time of a position may be ahead of the clock here, because the clocks of nodes differ."""

_MUST_BE = "must be a token, the id of an event, or a time in the format 2006-01-02T15:04:05Z07:00"


class AsOf(NamedTuple):
    """Represents the point in time that a read names: a revision, which is the one with these `bits` if they are known,
    or a time, in microseconds since 1970 UTC, or both."""

    revision: Revision | None = None
    time: int | None = None
    bits: int | None = None

    def names(self, revision: Revision, now: int) -> bool:
        """Returns whether a listing whose first page had this point is at this revision and time."""
        return self.revision in (None, revision) and self.time in (None, now)


def read_as_of(identity: Identity, text: str) -> AsOf:
    """Returns the point in time that a text names: a token, which names its revision, a position of the effective feed,
    or an RFC 3339 time.

    Raises InvalidParameter for anything else, `latest` included, and for the token of another store."""
    token = text.partition(TIME_SEPARATOR)[0]
    if token != LATEST and is_token(token):
        written, time = read_position(identity, AS_OF, text)
        return AsOf(written.revision, time, written.bits)
    try:
        return AsOf(time=read_time(text, AS_OF))
    except InvalidParameter:
        raise InvalidParameter(AS_OF, _MUST_BE) from None


def read_position(identity: Identity, parameter: str, text: str) -> tuple[RevisionId, int | None]:
    """Returns the revision and the time of a position of the effective feed, None for the time at which the revision
    was reached. Raises InvalidParameter."""
    token, separator, digits = text.partition(TIME_SEPARATOR)
    if separator and not (digits.isascii() and digits.isdigit() and len(digits) <= MAX_TIME_DIGITS):
        raise InvalidParameter(parameter, "must be a token, or the id of an event")
    return read_revision(identity, parameter, token), int(digits) if separator else None


FIRST_REVISION = 1
"""Is the revision of the first write to a store. As long as it is kept, nothing was stored before."""


class PointInTime(NamedTuple):
    """Represents a past state: its revision, the time at which policies are evaluated, in microseconds since 1970 UTC,
    and the revision that last changed the model, then or later."""

    revision: Revision
    now: int
    model_revision: Revision


async def find_point(ctx: Context, as_of: AsOf, freshness: Freshness) -> PointInTime:
    """Returns the state at this point. For a revision alone, its time is the one at which it was written; for a time
    alone, its revision is the newest that was reached by then.

    The point in time says which revision to read, so the freshness only has to be one that the store has reached.

    Raises RevisionLost, InvalidParameter for a time in the future, NotRetained, StoreUnavailable.
    """
    now = ctx.now()
    ahead = 0 if as_of.revision is None else MAX_CLOCK_DIFFERENCE_US
    if as_of.time is not None and as_of.time > now + ahead:
        raise InvalidParameter(AS_OF, f"is in the future: the clock of the service is at {render_time(now)}")
    if as_of.revision is not None:
        await require_stored(ctx.store, RevisionId(as_of.revision, as_of.bits))
        state = await ctx.store.find_revision(as_of.revision)
        if state.match is None:  # what was known may have been lost
            await require_stored(ctx.store, RevisionId(as_of.revision, as_of.bits))
    else:
        assert as_of.time is not None
        state = await ctx.store.find_revision_at(as_of.time)
    freshness.demand(state.newest)
    if state.match is None:
        raise _build_not_retained(state, now)
    now = state.match.written_at if as_of.time is None else as_of.time
    return PointInTime(state.match.revision, now, state.model_revision)


async def find_revision(ctx: Context, as_of: AsOf | None, freshness: Freshness) -> Revision | None:
    """Returns the revision to read at, None for the newest. Raises what `find_point` raises."""
    return None if as_of is None else (await find_point(ctx, as_of, freshness)).revision


async def pin_page(ctx: Context, page_request: PageRequest, as_of: AsOf | None, freshness: Freshness) -> PageRequest:
    """Returns the page as of a point in time, or as of that of the page whose cursor leads to it. Without either, it is
    left as it is.

    Raises InvalidParameter for a cursor of a listing at another revision, and what `find_point` raises."""
    if page_request.now is None and as_of is None:
        return page_request
    if page_request.at is None:
        assert as_of is not None
        point = await find_point(ctx, as_of, freshness)
        return replace(page_request, at=point.revision, now=point.now, is_snapshot=True)
    if page_request.now is None or (as_of is not None and not as_of.names(page_request.at, page_request.now)):
        cursor = "prevCursor" if page_request.slice.backwards else "nextCursor"
        raise InvalidParameter(cursor, f"its listing is not as of this {AS_OF}: begin again without a cursor")
    await find_point(ctx, AsOf(page_request.at, bits=page_request.bits), freshness)
    return page_request


def _build_not_retained(state: RevisionLookup, now: int) -> NotRetained:
    if state.oldest is None:
        return NotRetained(render_time(now), is_first=True)
    return NotRetained(render_time(state.oldest.reached_at), is_first=state.oldest.revision <= FIRST_REVISION)
