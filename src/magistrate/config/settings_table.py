"""Lists every setting once: in Settings those of the service, in CLIENT_SETTINGS those of the commands that call one,
in MOVING_SETTINGS that of `import --from-warrant`. Flags, environment variables, `--help` and the documents are derived
from these lists."""

import re
from dataclasses import dataclass, field, fields, replace
from typing import Any

from magistrate.config.database_url import DatabaseUrl, PostgresUrl
from magistrate.errors import InvalidSetting

PREFIX = "MAGISTRATE_"

Value = str | int | float | bool

BOOLEANS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
"""Lists the texts of a boolean setting, in lower case; any case is read."""

MAX_DIGITS = 18
"""Limits the characters of a number that is converted; longer ones are out of any range."""
_WHOLE_NUMBER = re.compile(r"\s*-?[0-9]+\s*")
_DECIMAL_NUMBER = re.compile(r"\s*(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*")


@dataclass(frozen=True, slots=True)
class Setting:
    """Defines a setting. `default` determines the type; numbers lie in `minimum`..`maximum`, both included. If
    `is_repeatable`, the flag may be given several times, which means the same as one with commas."""

    name: str
    default: Value
    meaning: str
    minimum: int = 0
    maximum: int = 0
    is_repeatable: bool = False
    further_values: tuple[str, ...] = ()
    """Lists texts, in lower case, that a boolean setting can have as its value, besides true and false; the default may
    be one of them."""
    variable_name: str = ""
    """Names the environment variable, if it is not made from the name."""
    further_flags: tuple[str, ...] = ()
    """Lists other flags that mean the same."""
    further_variables: tuple[str, ...] = ()
    """Lists other environment variables that mean the same, and are read if `variable` is not there."""

    @property
    def is_boolean(self) -> bool:
        return isinstance(self.default, bool) or bool(self.further_values)

    @property
    def default_text(self) -> str:
        """Returns the default as documents show it and as it may be written."""
        return str(self.default).lower() if self.is_boolean else str(self.default)

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        return self.variable_name or PREFIX + self.name.upper()

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.variable, *self.further_variables)

    def read(self, text: str, origin: str) -> Value:
        """Returns the value that a text stands for; `origin` is the flag or variable to name in an InvalidSetting."""
        if not text.strip():
            raise InvalidSetting(f"{origin} is empty")
        if self.is_boolean:
            return self._read_boolean(text.strip().lower(), origin)
        if isinstance(self.default, str):
            return text
        if isinstance(self.default, float):
            return self._read_decimal(text, origin)
        if not _WHOLE_NUMBER.fullmatch(text):
            raise InvalidSetting(f"{origin} must be a whole number, not {text!r}")
        number = text.strip()  # of more kinds of space than `int` allows
        if len(number) > MAX_DIGITS or not self.minimum <= int(number) <= self.maximum:
            raise InvalidSetting(f"{origin} must be from {self.minimum} to {self.maximum}, not {number}")
        return int(number)

    def _read_decimal(self, text: str, origin: str) -> float:
        if not _DECIMAL_NUMBER.fullmatch(text):
            raise InvalidSetting(f"{origin} must be a number as in {self.default}, not {text!r}")
        number = text.strip()
        if not self.minimum <= float(number) <= self.maximum:
            raise InvalidSetting(f"{origin} must be from {self.minimum} to {self.maximum}, not {number}")
        return float(number)

    def _read_boolean(self, text: str, origin: str) -> bool | str:
        if text in self.further_values:
            return text
        value = BOOLEANS.get(text)
        if value is None:
            raise InvalidSetting(f"{origin} must be {', '.join(['true', *self.further_values])} or false, not {text!r}")
        return value


AUTO, NEVER = "auto", "never"
SESSION, TRANSACTION = "session", "transaction"
"""Are the values of `migrate`."""

DEFAULT_ALONE = "default"
"""Is the value of `predefined_types` with which the store `default` begins with them, and no other."""

ALL_REQUESTS = "all"
"""Is the value of `access_log` with which requests for health and metrics are logged, too."""


def define(
    default: Value,
    meaning: str,
    *,
    within: tuple[int, int] = (0, 0),
    name: str = "",
    is_secret: bool = False,
    **others: Any,
) -> Any:
    """Returns the field of a setting, which has the name of the field unless another is given. Numbers lie `within`
    both bounds; `repr` leaves a secret out."""
    setting = Setting(name, default, meaning, *within, **others)
    return field(metadata={"setting": setting}, repr=not is_secret)


@dataclass(frozen=True, slots=True)
class Settings:
    """Holds all settings, validated, and defines each. It is picklable, so that worker processes get the same
    settings."""

    host: str = define(
        "127.0.0.1",
        "an address to listen on; :: stands for all addresses of both families; the flag may be repeated, the "
        "variable has commas",
        is_repeatable=True,
    )
    port: int = define(8000, "the TCP port to listen on; 0 picks a free one", within=(0, 65_535))
    public_url: str = define(
        "", "the URL by which clients reach the service, as in https://authz.example; the AuthZEN metadata names it"
    )
    admin_port: int = define(
        0,
        "a second TCP port, never encrypted, on which /healthz, /readyz and /metrics are answered as well; 0: none",
        within=(0, 65_535),
    )
    workers: int = define(
        0,
        "the number of worker processes; 0: one per processor that the machine and the CPU quota of the cgroup "
        "leave, at most 4",
        within=(0, 256),
    )
    database: DatabaseUrl = define(  # noqa: RUF009 - it returns a field
        "sqlite:///magistrate.db",
        "the database: sqlite:///relative.db, sqlite:////absolute/path.db, or any postgresql:// URL",
        name="database_url",
    )
    read_databases: tuple[PostgresUrl, ...] = define(
        "",
        "the postgresql:// URL of a replica of the database, which answers the reads that it is new enough for; the "
        "flag may be repeated, the variable has commas",
        is_repeatable=True,
        name="read_database_url",
    )
    database_password_command: str = define(
        "",
        "a command for the shell whose first line of output is the password for PostgreSQL; it is run for new "
        "connections, at most once a minute",
    )
    migrate: str = define(
        AUTO,
        "whether the schema of the database is brought up to date first: auto, or never, with which a database that "
        "`magistrate migrate` has to migrate is refused",
    )
    read_only: bool = define(
        False,
        "whether the service only reads, as on a hot standby of PostgreSQL: nothing is migrated, and writes are 503",
    )
    primary_url: str = define(
        "", "the URL of a service that writes, which the answers to such writes name, as in https://authz.example"
    )
    api_keys: tuple[str, ...] = define(
        "",
        "the API keys that clients may use, of 16 characters or more, separated by commas; if there is none, the "
        "service creates one when it first starts",
        name="api_key",
        is_secret=True,
        variable_name="MAGISTRATE_API_KEYS",
    )
    api_key_file: str = define(
        "",
        "a file with further API keys, one per line; blank lines and lines that begin with # are ignored; it is read "
        "again when it changes",
    )
    tls_cert: str = define(
        "",
        "a PEM file with the certificate of the service, followed by those of its issuers; connections are then "
        "encrypted (HTTPS); it is read again when it changes",
    )
    tls_key: str = define("", "the PEM file with the private key of tls_cert, without a password")
    tls_client_ca: str = define(
        "", "a PEM file with the authorities one of which must have signed the certificate of each client (mTLS)"
    )
    rate_limit: int = define(
        0,
        "the number of requests a second that each key, or user of a session token, may make over all workers; "
        "further ones are answered with 429; 0: any number",
        within=(0, 1_000_000),
    )
    rate_limit_unauthenticated: int = define(
        100,
        "the number of requests a second without a valid key from one address (IPv6: from one /64) that are answered "
        "with 401 and have a line each in the audit log; further ones get 429 and are counted in one line; 0: any "
        "number",
        within=(0, 1_000_000),
    )
    max_body_bytes: int = define(8_388_608, "the largest request body, in bytes (8 MiB)", within=(1_024, 1_073_741_824))
    max_restore_bytes: int = define(
        17_179_869_184,
        "the largest backup that a request may have restored, in bytes (16 GiB); it is in a temporary file meanwhile",
        within=(1_024, 1_099_511_627_776),
    )
    max_head_bytes: int = define(
        65_536, "the largest size of request line and headers together, in bytes (64 KiB)", within=(1_024, 1_048_576)
    )
    max_meta_bytes: int = define(
        51_200, "the largest meta of an object, in bytes of compact JSON (50 KiB)", within=(2, 1_048_576)
    )
    max_definition_bytes: int = define(
        65_536, "the largest object type, in bytes of compact JSON (64 KiB)", within=(1_024, 1_048_576)
    )
    max_check_work: int = define(
        200_000,
        "the budget of one check request, in nodes and warrants; a request that exceeds it is answered with 503",
        within=(1_000, 100_000_000),
    )
    max_query_work: int = define(
        2_000_000,
        "the budget of one query, in nodes, warrants and rows; a query that exceeds it is answered with 503",
        within=(1_000, 1_000_000_000),
    )
    cache_bytes: int = define(
        536_870_912,
        "the memory of each worker for what it keeps of the store: warrants, decisions, lists (512 MiB); 0: nothing "
        "is kept",
        within=(0, 1_099_511_627_776),
    )
    graph_filling: bool = define(
        True,
        "whether each worker reads what the stores have into its cache while it is idle, up to half of what fits; "
        "otherwise only what checks need is cached",
    )
    graph_preload: bool = define(
        False, "whether each worker reads what the stores have into its cache before it is ready, as far as that fits"
    )
    graph_preload_seconds: int = define(
        60, "the number of seconds after which a worker is ready although not everything was read", within=(1, 240)
    )
    request_cache_bytes: int = define(
        33_554_432,
        "the size of the cache of request heads, small bodies and contextual warrants that are likely to come again, "
        "in bytes per worker (32 MiB)",
        within=(0, 17_179_869_184),
    )
    fast_path: bool = define(
        True, "whether checks whose warrants are all cached are answered before the web framework sees them"
    )
    strict: bool = define(
        False,
        "whether reads answer 400 for types, relations and parameters that do not exist, unless they say otherwise",
    )
    console: bool = define(True, "whether the console for browsers is served at /console")
    openfga: bool = define(True, "whether the HTTP API of OpenFGA is served at /stores")
    predefined_types: bool | str = define(
        DEFAULT_ALONE,
        "which stores begin with the six object types of Warrant: default: the store `default` alone; true: each new "
        "store, unless it gets the model of another; false: none; the first request to /v1 brings them, too",
        further_values=(DEFAULT_ALONE,),
    )
    metrics_store_label: bool = define(
        False,
        "whether /metrics counts requests by store, too: a series for each store that was used",
    )
    access_log: bool | str = define(
        False,
        "whether a line of JSON is logged to stderr for each request but those for health and metrics; all: those, too",
        further_values=(ALL_REQUESTS,),
    )
    trace_endpoint: str = define(
        "",
        "the URL of a receiver of OpenTelemetry (OTLP over HTTP) to which spans of sampled requests are exported, as "
        "in http://127.0.0.1:4318; by default the variable OTEL_EXPORTER_OTLP_ENDPOINT, and none without that",
    )
    trace_sample: float = define(0.01, "the part of the requests that is sampled, from 0 to 1", within=(0, 1))
    trace_trust_parent: bool = define(
        False,
        "whether the header traceparent of a request says which trace it belongs to, and whether it is sampled; for "
        "services that only trusted callers reach",
    )
    trace_ids: bool = define(
        False, "whether lines of the access log, and of the log about a request, have the id of its trace and span"
    )
    audit_log: str = define(
        "", "a file to which changes, refused requests and administrative calls are written, or - for standard output"
    )
    audit_format: str = define("json", "the format of the audit log: json for lines of JSON, or cloudevents")
    max_context_bytes: int = define(
        65_536,
        "the largest context of one warrant in a check, or of a query, in bytes of compact JSON (64 KiB)",
        within=(1_024, 8_388_608),
    )
    max_json_depth: int = define(
        128, "the maximum nesting depth of arrays and objects in a request body", within=(8, 200)
    )
    head_timeout_ms: int = define(
        10_000, "how long a client may take to send the request line and headers", within=(100, 600_000)
    )
    keep_alive_timeout_ms: int = define(
        75_000,
        "how long an idle connection is kept open; set it longer than the idle timeout of a proxy in front",
        within=(100, 3_600_000),
    )
    max_connections: int = define(
        10_000,
        "the number of open connections per worker, at most three quarters of its limit of open files; further "
        "connections are answered with 503",
        within=(1, 1_000_000),
    )
    max_streams: int = define(
        5_000,
        "the number of readers that watch a store at the same time in a worker; others are answered with 503",
        within=(1, 1_000_000),
    )
    max_running_requests: int = define(
        128,
        "the number of requests of the same scope that run at the same time in a worker; cached checks do not count",
        within=(1, 100_000),
    )
    max_waiting_requests: int = define(
        1_024,
        "the number of further requests of that scope that wait to run; others are answered with 503",
        within=(1, 100_000),
    )
    max_all_bodies_bytes: int = define(
        268_435_456,
        "the size of the bodies of all requests in a worker, as sent and as decoded, until they are answered, in "
        "bytes (256 MiB); others are answered with 503",
        within=(1, 17_179_869_184),
    )
    max_unwritten_bytes: int = define(
        16_777_216,
        "the size of the records of the audit log, and of the decisions, that wait in a worker until they are "
        "written, in bytes each (16 MiB); further ones are dropped and counted",
        within=(65_536, 17_179_869_184),
    )
    max_received_bytes: int = define(
        134_217_728,
        "the size of what clients have sent to a worker and no request has taken yet: heads, and bodies that are not "
        "complete, in bytes (128 MiB); beyond it, connections are dropped that have kept some for longest",
        within=(65_536, 1_099_511_627_776),
    )
    max_unsent_bytes: int = define(
        268_435_456,
        "the size of all answers of a worker that are prepared or that clients have not read, in bytes (256 MiB); "
        "beyond it, large answers wait, and connections are dropped that have left an answer unread for longest",
        within=(65_536, 1_099_511_627_776),
    )
    wait_timeout_ms: int = define(
        1_000, "how long such a request may wait before it is answered with 503", within=(1, 600_000)
    )
    body_timeout_ms: int = define(30_000, "how long a client may take to send a request body", within=(100, 600_000))
    stop_timeout_ms: int = define(
        30_000, "how long requests in flight may take to finish after SIGTERM", within=(100, 600_000)
    )
    request_timeout_ms: int = define(
        30_000,
        "how long a request may take before it is answered with 503, not counting the time to receive its body",
        within=(100, 600_000),
    )
    store_timeout_ms: int = define(
        10_000, "how long to wait for the database before answering with 503", within=(100, 600_000)
    )
    postgres_connections: int = define(10, "the number of PostgreSQL connections per worker", within=(1, 1_000))
    database_pooling: str = define(
        SESSION,
        "what a pooler in front of PostgreSQL gives to each: a session, or, without following prepared statements, a "
        "transaction, for which statements are planned each time",
    )
    secret_key_file: str = define(
        "",
        "a file whose first line, 32 random bytes in base64 or hex, encrypts the session keys in the database; "
        "further lines are used for decryption only",
    )
    cors_origins: tuple[str, ...] = define(
        "",
        "an origin whose pages may call the service with a session token, such as https://app.example, or * for all; "
        "the flag may be repeated, the variable has commas",
        is_repeatable=True,
        name="cors_origin",
    )
    cors_all_routes: bool = define(False, "whether such pages may call all routes, with an API key")
    webhook_networks: tuple[str, ...] = define(
        "",
        "a network, as in 10.1.0.0/16, to whose addresses webhooks may be sent although they are private; the flag may "
        "be repeated, the variable has commas",
        is_repeatable=True,
        name="webhook_allow_networks",
    )
    retention_hours: int = define(
        168, "how long replaced and deleted rows stay readable at their revisions (7 days)", within=(1, 87_600)
    )
    decision_log: int = define(
        0,
        "the number of check results kept as access events, the newest of all workers together; 0: none",
        within=(0, 1_000_000_000),
    )
    event_retention_hours: int = define(
        720, "how long events are kept (30 days), unless retention_hours is longer", within=(1, 87_600)
    )
    jwt_keys: str = define(
        "",
        "the public keys of a login provider whose tokens are accepted: a PEM file, a JWKS file, or the URL of a JWKS",
    )
    jwt_issuer: str = define("", "the required claim iss of such tokens")
    jwt_audience: str = define("", "the required claim aud of such tokens; one match is enough if there are several")
    jwt_user_claim: str = define("sub", "the claim of such tokens that contains the id of the user")
    jwt_tenant_claim: str = define("", "the claim of such tokens that contains the id of the tenant; optional")
    jwt_scopes_claim: str = define(
        "", "the claim of such tokens that contains the scopes of a service, as in magistrate:check; optional"
    )
    forward_rules: str = define(
        "", "a file of rules for gateways, in YAML, by which /authz checks the requests that they pass on"
    )
    has_client_key: bool = False
    """Says whether `api_keys` were taken from the variable of clients; see `adopt_client_key`."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """Returns the addresses to listen on."""
        return tuple(host.strip() for host in self.host.split(","))

    @property
    def configures_api_keys(self) -> bool:
        """Returns whether the operator sets the keys; otherwise that which is generated in the store is valid."""
        return bool(self.api_keys or self.api_key_file)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Returns the secrets in the settings, which must not be logged."""
        urls = (self.database, *self.read_databases)
        return (*self.api_keys, *(secret for url in urls for secret in url.secrets))

    @property
    def jwt_keys_have_url(self) -> bool:
        """Returns whether `jwt_keys` is a URL; otherwise it is a path."""
        return "://" in self.jwt_keys


SETTINGS = tuple(
    replace(setting, name=setting.name or described.name)
    for described in fields(Settings)
    if (setting := described.metadata.get("setting")) is not None
)

STORE_SETTING = Setting("store", "", "the name or id of the store to use; by default that of the API key, or `default`")

CLIENT_SETTINGS = (
    Setting(
        "server",
        "http://127.0.0.1:8000",
        "the URL of the service; MAGISTRATE_URL, which client libraries read, means the same",
        further_flags=("--url",),
        further_variables=("MAGISTRATE_URL",),
    ),
    Setting("api_key", "", "the API key to send; if there are several, separated by commas, the first is used"),
    STORE_SETTING,
    Setting(
        "ca_cert", "", "a PEM file with the authorities to trust instead of those of the system, if the URL is https://"
    ),
    Setting("client_cert", "", "a PEM file with the certificate to present (mTLS), followed by those of its issuers"),
    Setting("client_key", "", "the PEM file with the private key of client_cert, without a password"),
)

MOVING_SETTINGS = (Setting("warrant_api_key", "", "the API key of the server of --from-warrant"),)
