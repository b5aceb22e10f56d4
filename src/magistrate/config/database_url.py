"""Reads the URLs of databases. A store has a row in PARSERS, and cases of its type in wiring/stores.py, where it is
opened: this module is imported by every command and must not import drivers."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from magistrate.errors import InvalidSetting


@dataclass(frozen=True, slots=True)
class SqliteUrl:
    """Holds the `path` of a database file as given: relative to the working directory, or absolute."""

    path: str

    @property
    def place(self) -> str:
        return self.path

    @property
    def secrets(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class PostgresUrl:
    """Holds a `conninfo` that is passed to libpq as it is; `repr` leaves it out, because it may contain a password."""

    conninfo: str = field(repr=False)

    @property
    def place(self) -> str:
        return "PostgreSQL"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Returns the password as it is written in the URL, and decoded, and those of its parameters."""
        try:
            parts = urlsplit(self.conninfo)
        except ValueError:  # libpq will not read it either
            return (self.conninfo,)
        written = [(parts.netloc.rpartition("@")[0].partition(":")[2]), *_PASSWORDS.findall(parts.query)]
        return tuple({text for secret in written if secret for text in (secret, unquote(secret))})


_PASSWORDS = re.compile(r"(?:^|&)(?:password|sslpassword)=([^&]*)")

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")

DatabaseUrl = SqliteUrl | PostgresUrl
"""Says which database to use. `place` says where the data is kept, and can be shown: it has no password."""


def read_database_url(url: str) -> DatabaseUrl:
    """Returns the parsed URL of a database. Raises InvalidSetting for an unknown scheme, or what its parser refuses."""
    scheme, separator, _ = url.partition("://")
    parse = PARSERS.get(scheme) if separator else None
    if parse is None:
        raise InvalidSetting(
            f"database URL: unknown scheme in {_without_secret(url)!r}; use sqlite:/// or postgresql://"
        )
    return parse(url)


def _parse_sqlite_url(url: str) -> SqliteUrl:
    """Returns the path in a URL. Raises InvalidSetting for one without a file or with anything after it."""
    rest = url.partition("://")[2]
    path = unquote(rest[1:])
    if not rest.startswith("/") or not path or path.endswith("/") or "\0" in path:
        raise InvalidSetting(
            f"database URL: {url!r} names no file; write sqlite:///relative.db or sqlite:////absolute/path.db"
        )
    if path == ":memory:":
        raise InvalidSetting("database URL: SQLite in memory is not offered, it would lose every warrant on restart")
    if "?" in rest or "#" in rest:
        raise InvalidSetting(f"database URL: {url!r} has options; SQLite URLs take none")
    return SqliteUrl(path)


def _without_secret(url: str) -> str:
    """Returns the part of a URL that can be shown although the URL may contain a password: its scheme."""
    scheme, separator, _ = url.partition("://")
    return f"{scheme}://..." if separator and _SCHEME.fullmatch(scheme) else "..."


PARSERS: Mapping[str, Callable[[str], DatabaseUrl]] = {
    "sqlite": _parse_sqlite_url,
    "postgresql": PostgresUrl,
    "postgres": PostgresUrl,
}
"""Maps the scheme of a URL to its parser."""
