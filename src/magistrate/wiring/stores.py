"""Opens and migrates stores, by a table of the types of database URLs."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from magistrate.config import PostgresUrl, Settings, SqliteUrl
from magistrate.store.contract.store import Store
from magistrate.store.database import Observer, observe_nothing
from magistrate.store.scripts.key_encryption import UNSEALED, Sealing, read_sealing

if TYPE_CHECKING:
    from magistrate.store.migration import StoreReport

# The functions in this file import their drivers when they are called: the driver of another store would cost memory
# and time in every process.


@dataclass(frozen=True, slots=True)
class StoreOpener:
    """Opens the stores behind one type of URL, which is the first argument of every function.

    `migrate` creates the store if necessary and brings its schema up to date; `open` opens one that is migrated.
    `reach` connects once, so that a failure has its reason: a pool of connections would retry until its time is over,
    and then not know it. `secure` warns of files that other users can read, or restricts them. `inspect` says what
    version made the store, and changes nothing."""

    migrate: Callable[[Any, Settings], None]
    open: Callable[[Any, Settings, Observer, Sealing], Awaitable[Store]]
    reach: Callable[[Any, Settings], None]
    secure: Callable[[Any, bool], None]
    inspect: Callable[[Any, Settings], "StoreReport"]


def migrate_store(settings: Settings) -> None:
    """Creates the store if necessary and brings its schema up to date. Raises StoreUnavailable, SchemaMismatch or
    InvalidSetting."""
    _find_opener(settings).migrate(settings.database, settings)


async def open_store(settings: Settings, observer: Observer = observe_nothing) -> Store:
    """Opens the store, which must be migrated. Raises StoreUnavailable, SchemaMismatch or InvalidSetting."""
    sealing = read_sealing(settings.secret_key_file) if settings.secret_key_file else UNSEALED
    return await _find_opener(settings).open(settings.database, settings, observer, sealing)


def reach_store(settings: Settings) -> None:
    """Connects to the store once, if it is on a server. Raises StoreUnavailable with the reason that the server gives,
    or InvalidSetting for a URL that is refused."""
    _find_opener(settings).reach(settings.database, settings)


def secure_store(settings: Settings, fix_permissions: bool) -> None:
    """Warns of files of the store that other users can read or write, or restricts them to their owner. Raises
    StoreUnavailable."""
    _find_opener(settings).secure(settings.database, fix_permissions)


def inspect_store(settings: Settings) -> "StoreReport":
    """Returns what is known of the store, which is not changed. Raises StoreUnavailable or InvalidSetting."""
    return _find_opener(settings).inspect(settings.database, settings)


def _find_opener(settings: Settings) -> StoreOpener:
    return OPENERS[type(settings.database)]


def _migrate_sqlite(url: SqliteUrl, settings: Settings) -> None:
    from magistrate.store.sqlite.files import migrate_sqlite

    migrate_sqlite(url.path, settings.store_timeout_ms)


async def _open_sqlite(url: SqliteUrl, settings: Settings, observer: Observer, sealing: Sealing) -> Store:
    from magistrate.store.sqlite.database import open_sqlite

    return await open_sqlite(url.path, settings.store_timeout_ms, observer, sealing)


def _secure_sqlite(url: SqliteUrl, fix_permissions: bool) -> None:
    from magistrate.store.sqlite.files import secure_files

    secure_files(url.path, fix_permissions)


def _migrate_postgres(url: PostgresUrl, settings: Settings) -> None:
    from magistrate.store.postgres.migration import migrate_postgres

    migrate_postgres(_complete(url, settings), settings.store_timeout_ms)


def _complete(url: PostgresUrl, settings: Settings) -> str:
    """Returns the connection string for one connection. Raises InvalidSetting or StoreUnavailable."""
    if not settings.database_password_command:
        return url.conninfo
    from magistrate.store.postgres.password import PasswordCommand

    return PasswordCommand(settings.database_password_command, settings.store_timeout_ms).complete(url.conninfo)


async def _open_postgres(url: PostgresUrl, settings: Settings, observer: Observer, sealing: Sealing) -> Store:
    from magistrate.store.postgres.database import open_postgres
    from magistrate.store.postgres.password import PasswordCommand

    conninfo: str | Callable[[], Awaitable[str]] = url.conninfo
    if settings.database_password_command:
        command = PasswordCommand(settings.database_password_command, settings.store_timeout_ms)
        conninfo = partial(command.complete_in_thread, url.conninfo)
    return await open_postgres(
        conninfo, settings.postgres_connections, settings.store_timeout_ms, observer, sealing=sealing
    )


def _reach_postgres(url: PostgresUrl, settings: Settings) -> None:
    from magistrate.store.postgres.migration import reach_postgres

    reach_postgres(_complete(url, settings), settings.store_timeout_ms)


def _inspect_sqlite(url: SqliteUrl, settings: Settings) -> "StoreReport":
    from magistrate.store.sqlite.files import inspect_sqlite

    return inspect_sqlite(url.path, settings.store_timeout_ms)


def _inspect_postgres(url: PostgresUrl, settings: Settings) -> "StoreReport":
    from magistrate.store.postgres.migration import inspect_postgres

    return inspect_postgres(_complete(url, settings), settings.store_timeout_ms)


def _do_nothing(*_: object) -> None: ...


OPENERS: Mapping[type, StoreOpener] = {
    SqliteUrl: StoreOpener(_migrate_sqlite, _open_sqlite, _do_nothing, _secure_sqlite, inspect=_inspect_sqlite),
    PostgresUrl: StoreOpener(
        _migrate_postgres, _open_postgres, _reach_postgres, _do_nothing, inspect=_inspect_postgres
    ),
}
"""Maps the types of URLs, which PARSERS in config/database_url.py makes, to what opens their stores."""
