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
