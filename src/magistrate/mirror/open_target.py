"""Opens the database of an application for a mirror, by its URL."""

from magistrate.config.database_url import SqliteUrl, read_database_url
from magistrate.mirror.postgres_target import PostgresMirror
from magistrate.mirror.sqlite_target import SqliteMirror
from magistrate.mirror.target import MirrorTarget


def choose_target(url: str, table: str) -> MirrorTarget:
    """Returns the target for a URL: sqlite:/// or postgresql://. It is not opened. Raises InvalidSetting."""
    database = read_database_url(url)
    if isinstance(database, SqliteUrl):
        return SqliteMirror(database.path, table)
    return PostgresMirror(database.conninfo, database.secrets, table)
