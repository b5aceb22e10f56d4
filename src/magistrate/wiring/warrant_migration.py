"""Builds, from the settings, what is needed to move from a Warrant server."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from magistrate.api.endpoints.warrant_lines import read_line
from magistrate.config.settings import ImportTarget
from magistrate.config.settings_table import Settings
from magistrate.operations.context import Context
from magistrate.operations.importing.chunk import ReadLine
from magistrate.operations.importing.chunk import Refused as Refused
from magistrate.operations.importing.comparison import Comparison as Comparison
from magistrate.operations.importing.comparison import compare
from magistrate.operations.importing.comparison import describe_category as describe_category
from magistrate.operations.importing.importer import LeaveOut, import_lines
from magistrate.operations.importing.importer import Reached as Reached
from magistrate.operations.importing.warrant_server import Kind as Kind
from magistrate.operations.importing.warrant_server import SourceLists, WarrantServer
from magistrate.wiring.contexts import open_import_context
from magistrate.wiring.garbage_collection import SURVIVORS
from magistrate.wiring.stores import migrate_store, reach_store

T = TypeVar("T")

HIDDEN_KEY = "(the API key)"

RefusalCallback = Callable[[Kind, Refused], None]


@dataclass(frozen=True, slots=True)
class Origin:
    """Represents the source server by its URL and the key that it accepts."""

    url: str
    key: str | None

    def without_key(self, text: str) -> str:
        """Returns a text of the server with the key hidden, so that it can be shown: the server may repeat the key."""
        return text.replace(self.key, HIDDEN_KEY) if self.key else text


def import_server(
    target: ImportTarget,
    origin: Origin,
    report_progress: Callable[[Reached], None],
    refused: RefusalCallback,
    skips_refused: bool,
) -> Reached:
    """Imports everything that the server lists into a database, which is created and brought up to date first.

    `refused` is called for each row that is not accepted; the other rows are then stored only with `skips_refused`.
    The store does not get object types that the server does not have.

    Raises InvalidRequest, ServiceUnreachable, RequestRefused, StoreUnavailable, SchemaMismatch or InvalidSetting."""
    settings = target.settings
    migrate_store(settings)

    async def work(context: Context, server: WarrantServer) -> Reached:
        lists = SourceLists(server, target.chunk_lines)
        leave_out = LeaveOut(lambda line: refused(lists.kind, line), skips_refused)
        read_row = lists.reader(_line_reader(context, settings))
        return await import_lines(context, lists, read_row, report_progress, leave_out=leave_out)

    return asyncio.run(_run(target, origin, work))


def compare_with_server(
    target: ImportTarget, origin: Origin, sample_size: int, max_named: int, report_progress: Callable[[int], None]
) -> Comparison:
    """Compares the store with the server, as operations/importing/comparison.py describes. Raises like `import_server`,
    and writes nothing."""

    async def work(context: Context, server: WarrantServer) -> Comparison:
        return await compare(
            context,
            server,
            _line_reader(context, target.settings),
            sample_size,
            report_progress=report_progress,
            max_named=max_named,
        )

    reach_store(target.settings)
    return asyncio.run(_run(target, origin, work))


async def _run(target: ImportTarget, origin: Origin, work: Callable[[Context, WarrantServer], Awaitable[T]]) -> T:
    SURVIVORS.install()
    opened = open_import_context(target.settings, target.store)
    async with WarrantServer(origin.url, origin.key) as server, opened as context:
        return await work(context, server)


def _line_reader(context: Context, settings: Settings) -> ReadLine:
    return partial(read_line, context, settings.max_json_depth)
