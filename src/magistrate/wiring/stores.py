"""Opens and migrates stores, by the types of database URLs."""

from collections.abc import Callable, Sequence
from functools import partial

from magistrate.config.database_url import PostgresUrl, SqliteUrl
from magistrate.config.settings_table import NEVER, SESSION, Settings
from magistrate.errors import ReadOnly
from magistrate.store.contract.store import Store
from magistrate.store.contract.stores import Stores
from magistrate.store.database import Observer, observe_nothing
from magistrate.store.leadership import ALONE, Leadership
from magistrate.store.migration import Migration as Migration
from magistrate.store.migration import MigrationRun as MigrationRun
from magistrate.store.migration import StoreReport as StoreReport
from magistrate.store.migration import report_nothing, require_migrated
from magistrate.store.scripts.key_encryption import UNSEALED, read_sealing

# The functions in this file import their drivers when they are called: the driver of another store would cost memory
# and time in every process.


def migrate_store(settings: Settings, report: Callable[[Migration], None] = report_nothing) -> Sequence[Migration]:
    """Creates the store if necessary, brings its schema up to date, and returns the migrations that were applied; with
    `--migrate never` or `--read-only`, does nothing but verify that there are none to apply. `report` is called as
    MigrationRun says.

    Raises StoreUnavailable, SchemaMismatch or InvalidSetting."""
    if settings.migrate == NEVER or settings.read_only:
        require_migrated(inspect_store(settings))
        return ()
    return apply_migrations(settings, MigrationRun(report=report))


def apply_migrations(settings: Settings, run: MigrationRun) -> Sequence[Migration]:
    """Creates the store if necessary, and returns the migrations that were applied. Raises StoreUnavailable,
    SchemaMismatch or InvalidSetting."""
    match settings.database:
        case SqliteUrl(path):
            from magistrate.store.sqlite.files import migrate_sqlite

            return migrate_sqlite(path, settings.store_timeout_ms, run)
        case PostgresUrl(conninfo):
            from magistrate.store.postgres.migration import migrate_postgres

            return migrate_postgres(_complete(conninfo, settings), settings.store_timeout_ms, run)


def translate_migration(settings: Settings, migration: Migration) -> str:
    """Returns the statements of a migration as this database gets them."""
    if isinstance(settings.database, SqliteUrl):
        return migration.sql
    from magistrate.store.sql.postgres import translate_schema

    return translate_schema(migration.sql)


async def open_store(settings: Settings, observer: Observer = observe_nothing) -> Store:
    """Opens the store `default`; see `open_stores`."""
    return (await open_stores(settings, observer)).default


async def open_stores(
    settings: Settings, observer: Observer = observe_nothing, leadership: Leadership = ALONE
) -> Stores:
    """Opens the stores of a database, which must be migrated; processes with the same leadership share what they follow
    of it. Raises StoreUnavailable, SchemaMismatch or InvalidSetting."""
    sealing = read_sealing(settings.secret_key_file) if settings.secret_key_file else UNSEALED
    match settings.database:
        case SqliteUrl(path):
            from magistrate.store.sqlite.database import open_sqlite

            return await open_sqlite(path, settings.store_timeout_ms, observer, sealing)
        case PostgresUrl(conninfo):
            from magistrate.store.postgres.connections import Conninfo, Pooling
            from magistrate.store.postgres.database import open_postgres
            from magistrate.store.postgres.password import PasswordCommand

            urls = [conninfo, *(url.conninfo for url in settings.read_databases)]
            conninfos: Sequence[Conninfo] = urls
            if settings.database_password_command:
                command = PasswordCommand(settings.database_password_command, settings.store_timeout_ms)
                conninfos = [partial(command.complete_in_thread, each) for each in urls]
            primary, *replicas = conninfos
            pooling = Pooling(
                settings.postgres_connections,
                settings.store_timeout_ms,
                has_sessions=settings.database_pooling == SESSION,
            )
            read_only = ReadOnly(settings.primary_url or None) if settings.read_only else None
            return await open_postgres(primary, pooling, observer, sealing, read_only, replicas, leadership)


def reach_store(settings: Settings) -> None:
    """Connects to the store once, if it is on a server. Raises StoreUnavailable with the reason that the server gives,
    which a pool of connections would not know after it has retried until its time is over, or InvalidSetting for a URL
    that is refused."""
    if isinstance(settings.database, PostgresUrl):
        from magistrate.store.postgres.migration import reach_postgres

        reach_postgres(_complete(settings.database.conninfo, settings), settings.store_timeout_ms)


def check_replicas(settings: Settings) -> None:
    """Raises InvalidSetting if the URL of a replica cannot be read. A replica that is away is no error: the service
    uses it when it is there."""
    if settings.read_databases:
        from magistrate.store.postgres.migration import check_conninfo

        for replica in settings.read_databases:
            check_conninfo(replica.conninfo)


def secure_store(settings: Settings, fix_permissions: bool) -> None:
    """Warns of files of the store that other users can read or write, or restricts them to their owner. Raises
    StoreUnavailable."""
    if isinstance(settings.database, SqliteUrl):
        from magistrate.store.sqlite.files import secure_files

        secure_files(settings.database.path, fix_permissions)


def inspect_store(settings: Settings, run: MigrationRun | None = None) -> StoreReport:
    """Returns what is known of the store, which is not changed, such as what version made it, and what a run would
    apply. Raises StoreUnavailable or InvalidSetting."""
    run = run or MigrationRun()
    match settings.database:
        case SqliteUrl(path):
            from magistrate.store.sqlite.files import inspect_sqlite

            return inspect_sqlite(path, settings.store_timeout_ms, run)
        case PostgresUrl(conninfo):
            from magistrate.store.postgres.migration import inspect_postgres

            return inspect_postgres(_complete(conninfo, settings), settings.store_timeout_ms, run)


def _complete(conninfo: str, settings: Settings) -> str:
    """Returns the connection string for one connection. Raises InvalidSetting or StoreUnavailable."""
    if not settings.database_password_command:
        return conninfo
    from magistrate.store.postgres.password import PasswordCommand

    return PasswordCommand(settings.database_password_command, settings.store_timeout_ms).complete(conninfo)
