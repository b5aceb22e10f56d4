"""Defines every setting once: flags, environment variables, `--help` and the documents are derived from SETTINGS (of
the service), CLIENT_SETTINGS (of the commands that call a service) and MOVING_SETTINGS (of `import --from-warrant`).

A flag takes precedence over its environment variable. Anything that is not understood is an error, never a default:
an unknown MAGISTRATE_ variable, an empty value, a number out of range, a database URL with an unknown scheme."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from magistrate.errors import InvalidSetting

PREFIX = "MAGISTRATE_"

MIN_KEY_LENGTH = 16
"""Sets the minimum number of characters of a key that callers may use. Shorter keys can be guessed."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Defines a setting. `default` determines the type; numbers lie in `minimum`..`maximum`, both included."""

    name: str
    default: str | int
    meaning: str
    minimum: int = 0
    maximum: int = 0

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()

    def read(self, text: str, origin: str) -> str | int:
        """Returns the value that a text stands for; `origin` is the flag or variable to name in an InvalidSetting."""
        if not text.strip():
            raise InvalidSetting(f"{origin} is empty")
        if isinstance(self.default, str):
            return text
        if not re.fullmatch(r"\s*[0-9]{1,18}\s*", text):
            raise InvalidSetting(f"{origin} must be a whole number, not {text!r}")
        value = int(text)
        if not self.minimum <= value <= self.maximum:
            raise InvalidSetting(f"{origin} must be from {self.minimum} to {self.maximum}, not {value}")
        return value


SETTINGS = (
    Setting("host", "127.0.0.1", "the address to listen on"),
    Setting("port", 8000, "the TCP port to listen on; 0 picks a free one", 0, 65_535),
    Setting("workers", 0, "the number of worker processes; 0: one per processor core, at most 4", 0, 256),
    Setting(
        "database_url",
        "sqlite:///magistrate.db",
        "the database: sqlite:///relative.db, sqlite:////absolute/path.db, or any postgresql:// URL",
    ),
    Setting(
        "api_key",
        "",
        "the API keys that clients may use, of 16 characters or more, separated by commas; "
        "if there is none, the service creates one when it first starts",
    ),
    Setting("max_body_bytes", 8_388_608, "the largest request body, in bytes (8 MiB)", 1_024, 1_073_741_824),
    Setting(
        "max_head_bytes",
        65_536,
        "the largest size of request line and headers together, in bytes (64 KiB)",
        1_024,
        1_048_576,
    ),
    Setting(
        "max_meta_bytes",
        51_200,
        "the largest meta of an object, in bytes of compact JSON (50 KiB)",
        2,
        1_048_576,
    ),
    Setting(
        "max_definition_bytes", 65_536, "the largest object type, in bytes of compact JSON (64 KiB)", 1_024, 1_048_576
    ),
    Setting(
        "max_check_work",
        200_000,
        "the budget of one check request, in nodes and warrants; a request that exceeds it is answered with 503",
        1_000,
        100_000_000,
    ),
    Setting(
        "max_query_work",
        2_000_000,
        "the budget of one query, in nodes, warrants and rows; a query that exceeds it is answered with 503",
        1_000,
        1_000_000_000,
    ),
    Setting(
        "kept_query_entries",
        1_000_000,
        "the number of rows, with the values and warrants behind them, kept in memory for later pages of queries",
        0,
        1_000_000_000,
    ),
    Setting(
        "graph_warrants",
        1_000_000,
        "the size of the graph cache of each worker, in warrants of up to 400 bytes each; 0: no cache",
        0,
        1_000_000_000,
    ),
    Setting(
        "shortcut",
        1,
        "1: checks whose warrants are all cached take the fast path, before the web framework; 0: no fast path",
        0,
        1,
    ),
    Setting("access_log", 0, "1: log a line of JSON to stderr for each request", 0, 1),
    Setting(
        "max_context_bytes",
        65_536,
        "the largest context of one warrant in a check, or of a query, in bytes of compact JSON (64 KiB)",
        1_024,
        8_388_608,
    ),
    Setting("max_json_depth", 128, "the maximum nesting depth of arrays and objects in a request body", 8, 200),
    Setting(
        "head_timeout_ms",
        10_000,
        "how long a client may take to send the request line and headers",
        100,
        600_000,
    ),
    Setting(
        "keep_alive_timeout_ms",
        75_000,
        "how long an idle connection is kept open; set it longer than the idle timeout of a proxy in front",
        100,
        3_600_000,
    ),
    Setting(
        "max_connections",
        10_000,
        "the number of open connections per worker, at most three quarters of its limit of open files; "
        "further connections are answered with 503",
        1,
        1_000_000,
    ),
    Setting("body_timeout_ms", 30_000, "how long a client may take to send a request body", 100, 600_000),
    Setting(
        "stop_timeout_ms",
        30_000,
        "how long requests in flight may take to finish after SIGTERM",
        100,
        600_000,
    ),
    Setting(
        "request_timeout_ms",
        30_000,
        "how long a request may take before it is answered with 503, not counting the time to receive its body",
        100,
        600_000,
    ),
    Setting("store_timeout_ms", 10_000, "how long to wait for the database before answering with 503", 100, 600_000),
    Setting("postgres_connections", 10, "the number of PostgreSQL connections per worker", 1, 1_000),
    Setting(
        "secret_key_file",
        "",
        "a file whose first line, 32 random bytes in base64 or hex, encrypts the session keys in the database; "
        "further lines are used for decryption only",
    ),
    Setting(
        "retention_hours",
        168,
        "how long replaced and deleted rows stay readable at their revisions (7 days)",
        1,
        87_600,
    ),
    Setting(
        "decision_log",
        0,
        "the number of check results kept as access events, the newest of all workers together; 0: none",
        0,
        1_000_000_000,
    ),
    Setting(
        "event_retention_hours",
        720,
        "how long events are kept (30 days), unless retention_hours is longer",
        1,
        87_600,
    ),
    Setting(
        "jwt_keys",
        "",
        "the public keys of a login provider whose tokens are accepted: a PEM file, a JWKS file, or the URL of a JWKS",
    ),
    Setting("jwt_issuer", "", "the required claim iss of such tokens"),
    Setting("jwt_audience", "", "the required claim aud of such tokens; one match is enough if there are several"),
    Setting("jwt_user_claim", "sub", "the claim of such tokens that contains the id of the user"),
    Setting("jwt_tenant_claim", "", "the claim of such tokens that contains the id of the tenant; optional"),
)

CLIENT_SETTINGS = (
    Setting("server", "http://127.0.0.1:8000", "the URL of the service"),
    Setting("api_key", "", "the API key to send; if there are several, separated by commas, the first is used"),
)

MOVING_SETTINGS = (Setting("warrant_api_key", "", "the API key of the server of --from-warrant"),)


@dataclass(frozen=True, slots=True)
class SqliteUrl:
    """Holds the `path` of a database file as given: relative to the working directory, or absolute."""

    path: str


@dataclass(frozen=True, slots=True)
class PostgresUrl:
    """Holds a `conninfo` that is passed to libpq as it is; `repr` leaves it out, because it may contain a password."""

    conninfo: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """Holds all settings, validated. The field names are those of SETTINGS; it is picklable, so that worker processes
    get the same settings."""

    host: str
    port: int
    workers: int
    database: SqliteUrl | PostgresUrl
    api_keys: tuple[str, ...] = field(repr=False)
    max_body_bytes: int
    max_head_bytes: int
    max_meta_bytes: int
    max_definition_bytes: int
    max_check_work: int
    max_query_work: int
    kept_query_entries: int
    graph_warrants: int
    shortcut: int
    access_log: int
    max_context_bytes: int
    max_json_depth: int
    head_timeout_ms: int
    keep_alive_timeout_ms: int
    max_connections: int
    body_timeout_ms: int
    stop_timeout_ms: int
    request_timeout_ms: int
    store_timeout_ms: int
    postgres_connections: int
    secret_key_file: str
    retention_hours: int
    decision_log: int
    event_retention_hours: int
    jwt_keys: str
    jwt_issuer: str
    jwt_audience: str
    jwt_user_claim: str
    jwt_tenant_claim: str

    @property
    def jwt_keys_have_url(self) -> bool:
        """Returns whether `jwt_keys` is a URL; otherwise it is a path."""
        return "://" in self.jwt_keys


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Holds the settings of the commands that call a service. `api_key` is None if there is none."""

    server: str
    api_key: str | None = field(repr=False)


def read_settings(flags: Mapping[str, str | None], environment: Mapping[str, str]) -> Settings:
    """Returns the settings given by flags (by setting name; None: not given) and environment variables.

    Raises InvalidSetting, naming the first flag or variable that is not valid."""
    _refuse_unknown_variables(environment)
    values = dict(_values(SETTINGS, flags, environment))
    database_url, api_key = str(values.pop("database_url")), str(values.pop("api_key"))
    _refuse_half_a_provider(values)
    return Settings(
        database=read_database_url(database_url),
        api_keys=_long_keys(api_key),
        **values,  # type: ignore[arg-type]  # each value was read by its row, which knows the type
    )


def read_client_settings(flags: Mapping[str, str | None], environment: Mapping[str, str]) -> ClientSettings:
    """Returns the settings of the commands that call a service, like `read_settings`."""
    _refuse_unknown_variables(environment)
    values = dict(_values(CLIENT_SETTINGS, flags, environment))
    keys = _api_keys(str(values["api_key"]))
    return ClientSettings(str(values["server"]), keys[0] if keys else None)


def read_warrant_api_key(flag: str | None, environment: Mapping[str, str]) -> str | None:
    """Returns the key of the source server, or None if there is none. Raises InvalidSetting."""
    [(_, key)] = _values(MOVING_SETTINGS, {"warrant_api_key": flag}, environment)
    keys = _api_keys(str(key))
    if len(keys) > 1:
        raise InvalidSetting("the key of the server of --from-warrant must be one")
    return keys[0] if keys else None


def read_database_url(url: str) -> SqliteUrl | PostgresUrl:
    """Returns the parsed URL of a database. Raises InvalidSetting for an unknown scheme, or for a SQLite URL without
    a file or with anything after it."""
    scheme, separator, rest = url.partition("://")
    if separator and scheme in ("postgresql", "postgres"):
        return PostgresUrl(url)
    if not separator or scheme != "sqlite":
        raise InvalidSetting(
            f"database URL: unknown scheme in {_without_secret(url)!r}; use sqlite:/// or postgresql://"
        )
    path = unquote(rest[1:])
    if not rest.startswith("/") or not path or path.endswith("/") or "\0" in path:
        raise InvalidSetting(
            f"database URL: {url!r} names no file; write sqlite:///relative.db or sqlite:////absolute/path.db"
        )
    if path == ":memory:":
        raise InvalidSetting("database URL: SQLite in memory is not offered, it would forget every warrant on restart")
    if "?" in rest or "#" in rest:
        raise InvalidSetting(f"database URL: {url!r} has options; SQLite URLs take none")
    return SqliteUrl(path)


def _refuse_unknown_variables(environment: Mapping[str, str]) -> None:
    known = {setting.variable for setting in (*SETTINGS, *CLIENT_SETTINGS, *MOVING_SETTINGS)}
    for variable in environment:
        if variable.startswith(PREFIX) and variable not in known:
            raise InvalidSetting(f"{variable} is not a setting; `magistrate serve --help` lists them")


def _values(
    settings: Iterable[Setting], flags: Mapping[str, str | None], environment: Mapping[str, str]
) -> Iterator[tuple[str, str | int]]:
    for setting in settings:
        given = flags.get(setting.name)
        if given is not None:
            yield setting.name, setting.read(given, setting.flag)
        elif setting.variable in environment:
            yield setting.name, setting.read(environment[setting.variable], setting.variable)
        else:
            yield setting.name, setting.default


def _refuse_half_a_provider(values: Mapping[str, str | int]) -> None:
    """Raises InvalidSetting if settings of a login provider are incomplete: without an issuer and an audience, tokens
    that the provider issued for others would be accepted here."""
    keys = str(values["jwt_keys"])
    if "://" in keys and not _is_web_url(keys):
        raise InvalidSetting("jwt_keys: this is neither a path nor an http or https URL")
    for name in ("jwt_issuer", "jwt_audience"):
        if keys and not values[name]:
            raise InvalidSetting(f"jwt_keys needs {name}: else tokens that were made for others would be taken")
    for name in ("jwt_issuer", "jwt_audience", "jwt_tenant_claim"):
        if values[name] and not keys:
            raise InvalidSetting(f"{name} has no effect without jwt_keys")


def _is_web_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _api_keys(text: str) -> tuple[str, ...]:
    if not text:
        return ()
    keys = tuple(key.strip() for key in text.split(","))
    for key in keys:
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise InvalidSetting("an API key must be one word of printable ASCII characters")
    return keys


def _long_keys(text: str) -> tuple[str, ...]:
    keys = _api_keys(text)
    for place, key in enumerate(keys, 1):
        if len(key) < MIN_KEY_LENGTH:
            named = f"API key {place} of {len(keys)}" if len(keys) > 1 else "the API key"
            raise InvalidSetting(
                f"{named} has {len(key)} characters; it must have {MIN_KEY_LENGTH} or more; "
                "`openssl rand -hex 32` makes one"
            )
    return keys


def _without_secret(url: str) -> str:
    """Returns the part of a URL that can be shown although the URL may contain a password: its scheme."""
    return urlsplit(url).scheme + "://..." if "://" in url else "..."
