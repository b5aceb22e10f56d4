"""Comparisons: how one ends while the source server goes away."""

import time
from functools import partial

import pytest

from magistrate.api.endpoints.warrant_lines import read_line
from magistrate.errors import RequestRefused
from magistrate.operations.importing.comparison import compare
from magistrate.operations.importing.importer import import_lines
from magistrate.operations.importing.warrant_server import SourceLists, WarrantServer
from magistrate.store.contract.store import Store
from magistrate.wiring.contexts import context_of
from tests.reference_server import KEY, Reference, fault, reference_server
from tests.running import settings_for
from tests.stub_server import Answered, Sent

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("status", [429, 502, 503])
async def test_a_server_that_goes_away_or_is_busy_ends_the_comparison(
    status: int, store: Store, database_url: str
) -> None:
    context = context_of(store, settings_for(database_url))
    reference, checks = Reference(), list[Sent]()
    reference.define("document", "viewer")
    reference.grant(*(f"document:d{number}#viewer@user:u{number % 3}" for number in range(8)))

    def goes_away(sent: Sent, number: int) -> Answered | None:
        checks.extend([sent] if sent.path == "/v2/check" else [])
        return fault(status, "unavailable", "gone") if len(checks) > 8 else None

    reference.fails = goes_away
    with reference_server(reference) as stub:
        async with WarrantServer(stub.url, KEY, pauses_seconds=[0.01]) as server:
            lists, read = SourceLists(server, 100), partial(read_line, context, 20)
            await import_lines(context, lists, lists.reader(read), lambda reached: None)
            with pytest.raises(RequestRefused, match="gone") as raised:
                await compare(context, server, read, 20, lambda rows: None)

    assert raised.value.status == status


async def test_a_comparison_that_fails_leaves_no_request_behind(store: Store, database_url: str) -> None:
    context = context_of(store, settings_for(database_url))
    reference, checks, answered = Reference(), list[Sent](), list[Sent]()
    reference.define("document", "viewer")
    reference.grant(*(f"document:d{number}#viewer@user:u{number % 3}" for number in range(8)))

    def refuse_the_first(sent: Sent, number: int) -> Answered | None:
        if sent.path != "/v2/check":
            return None
        checks.append(sent)
        if len(checks) == 1:
            return fault(403, "forbidden", "no")
        time.sleep(0.3)
        answered.append(sent)
        return None

    reference.fails = refuse_the_first
    with reference_server(reference) as stub:
        async with WarrantServer(stub.url, KEY) as server:
            lists, read = SourceLists(server, 100), partial(read_line, context, 20)
            await import_lines(context, lists, lists.reader(read), lambda reached: None)
            with pytest.raises(RequestRefused, match="no"):
                await compare(context, server, read, 20, lambda rows: None)

            assert len(answered) == len(checks) - 1 > 0
