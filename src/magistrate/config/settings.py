"""Reads the settings of flags and environment variables.

A flag takes precedence over its environment variable. Anything that is not understood is an error, never a default:
an unknown MAGISTRATE_ variable, an empty value that is needed, a number out of range, a database URL with an unknown
scheme."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_network
from urllib.parse import urlsplit

from magistrate.config.api_keys import read_long_api_keys, split_api_keys
from magistrate.config.database_url import DatabaseUrl, PostgresUrl, read_database_url
from magistrate.config.settings_table import (
    AUTO,
    CLIENT_SETTINGS,
    MOVING_SETTINGS,
    NEVER,
    PREFIX,
    SESSION,
    SETTINGS,
    STORE_SETTING,
    TRANSACTION,
    Setting,
    Settings,
    Value,
)
from magistrate.config.trace_endpoint import read_trace_endpoint
from magistrate.errors import InvalidSetting

_LINK = re.compile(
    PREFIX.removesuffix("_")
    + r"(?:_\w+)?_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_[0-9]+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)",
    re.ASCII,
)
_ADDRESS_SCHEMES = ("tcp://", "udp://", "sctp://")


def find_service_links(environment: Mapping[str, str]) -> list[str]:
    """Returns the names of such variables, sorted: `MAGISTRATE_SERVICE_HOST`, `MAGISTRATE_DB_PORT_5432_TCP_ADDR`, and
    `MAGISTRATE_PORT` if its value is an address, as in `tcp://10.0.0.7:8000`."""
    return sorted(name for name, text in environment.items() if _is_service_link(name, text))


def _is_service_link(name: str, text: str) -> bool:
    if not name.startswith(PREFIX):
        return False
    return _LINK.fullmatch(name) is not None or (name.endswith("_PORT") and text.startswith(_ADDRESS_SCHEMES))


_URL = re.compile(r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:(?:/[A-Za-z0-9._~-]+)*)/?")


def read_service_url(name: str, text: str) -> str:
    """Returns the URL that a setting has, without a slash at its end; the empty text stands for none. Raises
    InvalidSetting."""
    if text and not _URL.fullmatch(text):
        raise InvalidSetting(f"{name}: {text!r} is no URL; write https://host or https://host/path")
    return text.rstrip("/")


_BETWEEN_URLS = re.compile(r",(?=postgres(?:ql)?://)")
"""Separates URLs, each of which may name several hosts, separated by commas as well."""


def read_replica_urls(text: str) -> tuple[PostgresUrl, ...]:
    """Returns the URLs in a text, in which they are separated by commas. Raises InvalidSetting."""
    urls = [read_database_url(part.strip()) for part in _BETWEEN_URLS.split(text)] if text else []
    replicas = tuple(url for url in urls if isinstance(url, PostgresUrl))
    if len(replicas) < len(urls):
        raise InvalidSetting("read_database_url: a replica has a postgresql:// URL")
    return replicas


def read_networks(text: str) -> tuple[str, ...]:
    """Returns the networks in a text, in which they are separated by commas. Raises InvalidSetting."""
    networks = [part.strip() for part in text.split(",")] if text else []
    for network in networks:
        try:
            ip_network(network)
        except ValueError as error:
            raise InvalidSetting(f"webhook_allow_networks: {error}; write it as in 10.1.0.0/16") from None
    return tuple(networks)


ANY_ORIGIN = "*"
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?")
_DEFAULT_PORTS = {"http": 80, "https": 443}


def read_cors_origins(text: str) -> tuple[str, ...]:
    """Returns the origins in a text, in which they are separated by commas, as browsers write them: in lower case and
    without the default port. Raises InvalidSetting."""
    if not text:
        return ()
    origins = tuple(_read_origin(part.strip()) for part in text.split(","))
    if ANY_ORIGIN in origins and len(origins) > 1:
        raise InvalidSetting("cors_origin: * stands for all origins, so it must be the only one")
    return origins


def _read_origin(text: str) -> str:
    if text == ANY_ORIGIN:
        return text
    match = _ORIGIN.fullmatch(text.lower()) if text.isascii() else None
    port = int(match[3]) if match is not None and match[3] is not None else None
    if match is None or port == 0 or (port is not None and port > 65_535):
        raise InvalidSetting(
            f"cors_origin: {text!r} is no origin; write scheme://host or scheme://host:port, without a path, or *"
        )
    is_default = port is None or port == _DEFAULT_PORTS.get(match[1])
    return f"{match[1]}://{match[2]}" + ("" if is_default else f":{port}")


[SERVICE_KEYS] = [setting for setting in SETTINGS if setting.name == "api_key"]
[CLIENT_KEY] = [setting for setting in CLIENT_SETTINGS if setting.name == "api_key"]

CHOICES = {
    "audit_format": ("json", "cloudevents"),
    "migrate": (AUTO, NEVER),
    "database_pooling": (SESSION, TRANSACTION),
}
"""Maps settings that are texts to the values that they may have."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Holds the settings of the commands that call a service. `api_key` is None if there is none; the names of files
    are empty if there are none, and so is `store`."""

    server: str
    api_key: str | None = field(repr=False)
    store: str = ""
    ca_cert: str = ""
    client_cert: str = ""
    client_key: str = ""


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """Names where to import to: a database, and the name or id of a store in it, empty for `default`; `chunk_lines`
    are written together."""

    settings: Settings
    chunk_lines: int
    store: str = ""


STORE_SETTINGS = frozenset(
    {
        "database_url",
        "secret_key_file",
        "store_timeout_ms",
        "postgres_connections",
        "database_pooling",
        "migrate",
        "max_meta_bytes",
        "max_definition_bytes",
    }
)
"""Lists the settings that commands need which open the store and serve nobody."""

TLS_FILES = frozenset({"ca_cert", "client_cert", "client_key"})
"""Lists the settings that clients need for https:// alone."""


def read_store_settings(
    database_url: str | None, environment: Mapping[str, str], migrate: str | None = None
) -> Settings:
    """Returns the settings of a command that opens the store and serves nobody, like `read_settings`; a variable
    without a value that only the service needs is ignored."""
    unneeded = {setting.variable for setting in SETTINGS if setting.name not in STORE_SETTINGS}
    flags = {"database_url": database_url, "migrate": migrate}
    return read_settings(flags, _ignore_empty(environment, unneeded))


def read_settings(flags: Mapping[str, str | None], environment: Mapping[str, str]) -> Settings:
    """Returns the settings given by flags (by setting name; None: not given) and environment variables.

    Raises InvalidSetting, naming the first flag or variable that is not valid."""
    environment = _select_variables(environment)
    values = dict(_values(SETTINGS, flags, environment))
    database_url, api_key = str(values.pop("database_url")), str(values.pop("api_key"))
    origins = read_cors_origins(str(values.pop("cors_origin")))
    public_url, primary_url = (read_service_url(name, str(values.pop(name))) for name in ("public_url", "primary_url"))
    networks = read_networks(str(values.pop("webhook_allow_networks")))
    if values["cors_all_routes"] and not origins:
        raise InvalidSetting("cors_all_routes has no effect without cors_origin")
    _refuse_half_a_provider(values)
    _refuse_half_of_tls(values)
    read_trace_endpoint(str(values["trace_endpoint"]), {})
    for name, choices in CHOICES.items():
        if values[name] not in choices:
            raise InvalidSetting(f"{name} must be {' or '.join(choices)}")
    database = read_database_url(database_url)
    replicas = read_replica_urls(str(values.pop("read_database_url")))
    if replicas and not isinstance(database, PostgresUrl):
        raise InvalidSetting("read_database_url has no effect without a postgresql:// database URL")
    if values["database_password_command"] and not isinstance(database, PostgresUrl):
        raise InvalidSetting("database_password_command has no effect without a postgresql:// database URL")
    _refuse_writing(values, primary_url, database)
    return Settings(
        database=database,
        read_databases=replicas,
        api_keys=read_long_api_keys(api_key),
        cors_origins=origins,
        public_url=public_url,
        primary_url=primary_url,
        webhook_networks=networks,
        **values,  # type: ignore[arg-type]  # each value was read by its row, which knows the type
    )


def read_client_settings(flags: Mapping[str, str | None], environment: Mapping[str, str]) -> ClientSettings:
    """Returns the settings of the commands that call a service, like `read_settings`; variables of files that only TLS
    needs may be without a value if the URL is another."""
    environment = _select_variables(environment)
    [server] = [setting for setting in CLIENT_SETTINGS if setting.name == "server"]
    [(_, url)] = _values([server], flags, environment)
    if not str(url).startswith("https:"):
        unneeded = {setting.variable for setting in CLIENT_SETTINGS if setting.name in TLS_FILES}
        environment = _ignore_empty(environment, unneeded)
    values = dict(_values(CLIENT_SETTINGS, flags, environment))
    keys = split_api_keys(str(values.pop("api_key")))
    if bool(values["client_cert"]) != bool(values["client_key"]):
        raise InvalidSetting("client_cert and client_key must be given together")
    texts = {name: str(value) for name, value in values.items()}
    return ClientSettings(api_key=keys[0] if keys else None, **texts)


def read_named_store(flag: str | None, environment: Mapping[str, str]) -> str:
    """Returns the name or id of the store that a command on a database is about, or an empty text if none is named.
    Raises InvalidSetting."""
    [(_, store)] = _values([STORE_SETTING], {"store": flag}, _select_variables(environment))
    return str(store)


def read_warrant_api_key(flag: str | None, environment: Mapping[str, str]) -> str | None:
    """Returns the key of the source server, or None if there is none. Raises InvalidSetting."""
    environment = _select_variables(environment)
    [(_, key)] = _values(MOVING_SETTINGS, {"warrant_api_key": flag}, environment)
    keys = split_api_keys(str(key))
    if len(keys) > 1:
        raise InvalidSetting("the key of the server of --from-warrant must be one")
    return keys[0] if keys else None


def adopt_client_key(settings: Settings, environment: Mapping[str, str]) -> Settings:
    """Returns the settings with the keys of the variable that clients read, if none are configured for the service:
    releases before this one read it. Raises InvalidSetting."""
    if settings.configures_api_keys or not environment.get(CLIENT_KEY.variable, "").strip():
        return settings
    text = str(CLIENT_KEY.read(environment[CLIENT_KEY.variable], CLIENT_KEY.variable))
    try:
        return replace(settings, api_keys=read_long_api_keys(text), has_client_key=True)
    except InvalidSetting as error:
        raise InvalidSetting(
            f"{CLIENT_KEY.variable}: {error.message}; it is the key of clients: unset it, or give the keys of the "
            f"service with {SERVICE_KEYS.variable}"
        ) from error


def _select_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns our variables, without those that a container platform makes. Raises InvalidSetting for one that is not a
    setting."""
    ignored = find_service_links(environment)
    ours = {name: text for name, text in environment.items() if name.startswith(PREFIX) and name not in ignored}
    names = {name for setting in (*SETTINGS, *CLIENT_SETTINGS, *MOVING_SETTINGS) for name in setting.variables}
    for variable in ours:
        if variable not in names:
            raise InvalidSetting(f"{variable} is not a setting; `magistrate serve --help` lists them")
    return ours


def _ignore_empty(environment: Mapping[str, str], variables: Collection[str]) -> dict[str, str]:
    """Returns the environment without those of these variables that have no value."""
    return {name: text for name, text in environment.items() if text.strip() or name not in variables}


def _values(
    settings: Iterable[Setting], flags: Mapping[str, str | None], environment: Mapping[str, str]
) -> Iterator[tuple[str, Value]]:
    for setting in settings:
        value = setting.default
        if (text := flags.get(setting.name)) is not None:
            value = setting.read(text, setting.flag)
        elif variable := next((name for name in setting.variables if name in environment), None):
            value = setting.read(environment[variable], variable)
        yield setting.name, value


def _refuse_writing(values: Mapping[str, Value], primary_url: str, database: DatabaseUrl) -> None:
    """Raises InvalidSetting for what a service that only reads cannot do."""
    if not values["read_only"]:
        if primary_url:
            raise InvalidSetting("primary_url has no effect without read_only")
        return
    if not isinstance(database, PostgresUrl):
        raise InvalidSetting("read_only needs a postgresql:// database URL")
    if values["decision_log"]:
        raise InvalidSetting("decision_log writes to the database, which read_only excludes")


def _refuse_half_a_provider(values: Mapping[str, Value]) -> None:
    """Raises InvalidSetting if settings of a login provider are incomplete: without an issuer and an audience, tokens
    that the provider issued for others would be accepted here."""
    keys = str(values["jwt_keys"])
    if "://" in keys and not _is_web_url(keys):
        raise InvalidSetting("jwt_keys: this is neither a path nor an http or https URL")
    for name in ("jwt_issuer", "jwt_audience"):
        if keys and not values[name]:
            raise InvalidSetting(f"jwt_keys needs {name}: else tokens that were made for others would be taken")
    for name in ("jwt_issuer", "jwt_audience", "jwt_tenant_claim", "jwt_scopes_claim"):
        if values[name] and not keys:
            raise InvalidSetting(f"{name} has no effect without jwt_keys")


def _refuse_half_of_tls(values: Mapping[str, Value]) -> None:
    if bool(values["tls_cert"]) != bool(values["tls_key"]):
        raise InvalidSetting("tls_cert and tls_key must be given together")
    if values["tls_client_ca"] and not values["tls_cert"]:
        raise InvalidSetting("tls_client_ca has no effect without tls_cert")


def _is_web_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
