"""Makes the pages of a difference, whose cursors are valid only for the same request."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from magistrate.errors import BudgetExceeded, InvalidParameter
from magistrate.operations.difference.listing import DifferenceRow, row_values
from magistrate.operations.difference.narrowing import OBJECT, OF, SUBJECT, Narrowing, Q
from magistrate.operations.paging import ListKind, Sort

DIFFERENCE_LIST: ListKind[DifferenceRow] = ListKind("difference", {"id": Sort("id", row_values)}, is_snapshot=True)


def difference_kind(*content: Any) -> ListKind[DifferenceRow]:
    """Returns the list of the difference that this content requests. Its cursors have a digest of the content."""
    encoded = msgspec.json.encode(content, order="deterministic")
    digest = hashlib.blake2b(encoded, digest_size=16).hexdigest()
    return ListKind(f"{DIFFERENCE_LIST.name}+{digest}", DIFFERENCE_LIST.sorts, is_snapshot=True)


@asynccontextmanager
async def refuse_above_budget(narrowing: Narrowing) -> AsyncIterator[None]:
    """Converts BudgetExceeded to an InvalidParameter that names what to narrow."""
    try:
        yield
    except BudgetExceeded as error:
        given = {
            OF: narrowing.patterns is None,
            SUBJECT: narrowing.find_subject() is None,
            OBJECT: narrowing.find_object() is None,
        }
        names = [name for name, is_missing in given.items() if is_missing]
        narrower = f"narrow it with {', '.join(names)} or {Q}" if names else "compare states that differ less"
        message = f"the difference needs to look at more than {error.limit} nodes and warrants; {narrower}"
        raise InvalidParameter(names[0] if names else OF, message) from error
