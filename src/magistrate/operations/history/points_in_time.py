"""Finds the state that a read as of the past names (docs/history.md): its revision, and the time at which policies
are evaluated."""

from dataclasses import replace
from typing import NamedTuple

from magistrate.engine.names import Revision
from magistrate.errors import InvalidParameter, NotRetained
from magistrate.operations.consistency import LATEST, Freshness, is_token, read_token, require_stored
from magistrate.operations.context import Context
from magistrate.operations.history.times import read_time, render_time
from magistrate.operations.paging import PageRequest
from magistrate.store.contract.revisions import RevisionId, RevisionLookup
from magistrate.store.contract.stored_rows import Identity

AS_OF = "asOf"
"""Names the parameter."""

_MUST_BE = "must be a token, or a time in the format 2006-01-02T15:04:05Z07:00"


class AsOf(NamedTuple):
    """Represents the point in time that a read names: either a revision, which is the one with these `bits` if they
    are known, or a time, in microseconds since 1970 UTC."""

    revision: Revision | None = None
    time: int | None = None
    bits: int | None = None

    def names(self, revision: Revision, now: int) -> bool:
        """Returns whether a listing whose first page had this point is at this revision and time."""
        return revision == self.revision or now == self.time


def read_as_of(identity: Identity, text: str) -> AsOf:
    """Returns the point in time that a text names: a token, which names its revision, or an RFC 3339 time.

    Raises InvalidParameter for anything else, `latest` included, and for the token of another store."""
    if text != LATEST and is_token(text):
        revision, bits = read_token(identity, AS_OF, text).id
        return AsOf(revision, bits=bits)
    try:
        return AsOf(time=read_time(text, AS_OF))
    except InvalidParameter:
        raise InvalidParameter(AS_OF, _MUST_BE) from None


FIRST_REVISION = 1
"""Is the revision of the first write to a store. As long as it is kept, nothing was stored before."""


class PointInTime(NamedTuple):
    """Represents a past state: its revision, the time at which policies are evaluated, in microseconds since 1970 UTC,
    and the revision that last changed the model, then or later."""

    revision: Revision
    now: int
    model_revision: Revision


async def find_point(ctx: Context, as_of: AsOf, freshness: Freshness) -> PointInTime:
    """Returns the state at this point. For a revision, its time is the one at which it was written; for a time, its
    revision is the newest that was reached by then.

    The point in time says which revision to read, so the freshness only has to be one that the store has reached.

    Raises RevisionLost, InvalidParameter for a time in the future, NotRetained, StoreUnavailable.
    """
    now = ctx.now()
    if as_of.revision is not None:
        await require_stored(ctx.store, RevisionId(as_of.revision, as_of.bits))
        state = await ctx.store.find_revision(as_of.revision)
        if state.match is None:  # what was known may have been lost
            await require_stored(ctx.store, RevisionId(as_of.revision, as_of.bits))
    else:
        assert as_of.time is not None
        if as_of.time > now:
            raise InvalidParameter(AS_OF, f"is in the future: the clock of the service is at {render_time(now)}")
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
