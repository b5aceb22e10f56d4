"""Forgetting what ended longer ago than the retention, as scripts that are short enough not to hold up other
writers."""

from collections.abc import Callable

from magistrate.engine.terms import Revision
from magistrate.store import sql
from magistrate.store.contract import IDEMPOTENCY_HOURS
from magistrate.store.database import Execute, Script, Select
from magistrate.store.versioned import MICROSECONDS_PER_HOUR


def collect(before: int, most: int) -> Callable[[Revision], Script[int]]:
    def script(head: Revision) -> Script[int]:
        [found] = yield Select(sql.LAST_REVISION_BY, [(before,)])
        ended_by = found[0][0] if found else 0
        [objects] = yield Select(sql.ENDED_OBJECTS, [(ended_by, most)])
        [types] = yield Select(sql.ENDED_OBJECT_TYPES, [(ended_by, most)])
        [warrants] = yield Select(sql.ENDED_WARRANTS, [(ended_by, most)])
        [keys] = yield Select(sql.EXPIRED_ONCE, [(before - IDEMPOTENCY_HOURS * MICROSECONDS_PER_HOUR, most)])
        yield Execute(sql.FORGET_OBJECT, objects)
        yield Execute(sql.FORGET_OBJECT_TYPE, types)
        yield Execute(sql.FORGET_WARRANT, warrants)
        yield Execute(sql.DROP_ONCE, keys)
        if ended := [*objects, *types, *warrants]:
            # A revision is readable while all rows that ended after it are there.
            horizon = max(row[-1] for row in ended)
            yield Execute(sql.MOVE_HORIZON, [(horizon, horizon)])
        return len(ended) + len(keys)

    return script


def forget_events(before: int, most: int) -> Callable[[Revision], Script[int]]:
    def script(head: Revision) -> Script[int]:
        [found] = yield Select(sql.LAST_REVISION_BY, [(before,)])
        newest = found[0][0] if found else 0
        [changes] = yield Select(sql.OLDEST_CHANGES, [(newest, most)])
        # Revisions of changes that are still there stay.
        stays = changes[-1][0] if len(changes) == most else newest
        [revisions] = yield Select(sql.OLDEST_REVISIONS, [(stays, most)])
        [decisions] = yield Select(sql.OLDEST_DECISIONS, [(before, most)])
        yield Execute(sql.FORGET_CHANGES, changes[-1:])
        yield Execute(sql.MOVE_CHANGES_FORGOTTEN, [(revision, revision) for revision, _ in changes[-1:]])
        yield Execute(sql.FORGET_REVISIONS, revisions[-1:])
        yield Execute(sql.FORGET_DECISIONS, decisions[-1:])
        return len(changes) + len(revisions) + len(decisions)

    return script
