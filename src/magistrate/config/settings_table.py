"""Lists every setting once: SETTINGS (of the service), CLIENT_SETTINGS (of the commands that call a service) and
MOVING_SETTINGS (of `import --from-warrant`). Flags, environment variables, `--help` and the documents are derived from
these tables."""

import re
from dataclasses import dataclass

from magistrate.errors import InvalidSetting

PREFIX = "MAGISTRATE_"

Value = str | int | bool

BOOLEANS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
"""Lists the texts of a boolean setting, in lower case; any case is read."""

MAX_DIGITS = 18
"""Limits the characters of a number that is converted; longer ones are out of any range."""
_WHOLE_NUMBER = re.compile(r"\s*-?[0-9]+\s*")


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
    """Lists texts, in lower case, that a boolean setting can have as its value, besides true and false."""
    variable_name: str = ""
    """Names the environment variable, if it is not made from the name."""

    @property
    def is_boolean(self) -> bool:
        return isinstance(self.default, bool)

    @property
    def default_text(self) -> str:
        """Returns the default as documents show it and as it may be written."""
        return str(self.default).lower() if self.is_boolean else str(self.default)

    @property
    def flag(self) -> str:
        return name_flag(self.name)

    @property
    def variable(self) -> str:
        return self.variable_name or _name_variable(self.name)

    def read(self, text: str, origin: str) -> Value:
        """Returns the value that a text stands for; `origin` is the flag or variable to name in an InvalidSetting."""
        if not text.strip():
            raise InvalidSetting(f"{origin} is empty")
        if isinstance(self.default, str):
            return text
        if self.is_boolean:
            return self._read_boolean(text.strip().lower(), origin)
        if not _WHOLE_NUMBER.fullmatch(text):
            raise InvalidSetting(f"{origin} must be a whole number, not {text!r}")
        if len(text.strip()) > MAX_DIGITS or not self.minimum <= int(text) <= self.maximum:
            raise InvalidSetting(f"{origin} must be from {self.minimum} to {self.maximum}, not {text.strip()}")
        return int(text)

    def _read_boolean(self, text: str, origin: str) -> bool | str:
        if text in self.further_values:
            return text
        value = BOOLEANS.get(text)
        if value is None:
            raise InvalidSetting(f"{origin} must be {', '.join(['true', *self.further_values])} or false, not {text!r}")
        return value


def name_flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _name_variable(name: str) -> str:
    return PREFIX + name.upper()


ALL_REQUESTS = "all"
"""Is the value of `access_log` with which requests for health and metrics are logged, too."""

SETTINGS = (
    Setting(
        "host",
        "127.0.0.1",
        "an address to listen on; :: stands for all addresses of both families; the flag may be repeated, the variable "
        "has commas",
        is_repeatable=True,
    ),
    Setting("port", 8000, "the TCP port to listen on; 0 picks a free one", minimum=0, maximum=65_535),
    Setting(
        "public_url",
        "",
        "the URL by which clients reach the service, as in https://authz.example; the AuthZEN metadata names it",
    ),
    Setting(
        "admin_port",
        0,
        "a second TCP port, never encrypted, on which /healthz, /readyz and /metrics are answered as well; 0: none",
        minimum=0,
        maximum=65_535,
    ),
    Setting(
        "workers",
        0,
        "the number of worker processes; 0: one per processor that the machine and the CPU quota of the cgroup leave, "
        "at most 4",
        minimum=0,
        maximum=256,
    ),
    Setting(
        "database_url",
        "sqlite:///magistrate.db",
        "the database: sqlite:///relative.db, sqlite:////absolute/path.db, or any postgresql:// URL",
    ),
    Setting(
        "database_password_command",
        "",
        "a command for the shell whose first line of output is the password for PostgreSQL; it is run for new "
        "connections, at most once a minute",
    ),
    Setting(
        "api_key",
        "",
        "the API keys that clients may use, of 16 characters or more, separated by commas; "
        "if there is none, the service creates one when it first starts",
        variable_name="MAGISTRATE_API_KEYS",
    ),
    Setting(
        "api_key_file",
        "",
        "a file with further API keys, one per line; blank lines and lines that begin with # are ignored; "
        "it is read again when it changes",
    ),
    Setting(
        "tls_cert",
        "",
        "a PEM file with the certificate of the service, followed by those of its issuers; connections are then "
        "encrypted (HTTPS); it is read again when it changes",
    ),
    Setting("tls_key", "", "the PEM file with the private key of tls_cert, without a password"),
    Setting(
        "tls_client_ca",
        "",
        "a PEM file with the authorities one of which must have signed the certificate of each client (mTLS)",
    ),
    Setting(
        "rate_limit",
        0,
        "the number of requests a second that each key, or user of a session token, may make over all workers; "
        "further ones are answered with 429; 0: any number",
        minimum=0,
        maximum=1_000_000,
    ),
    Setting(
        "rate_limit_unauthenticated",
        100,
        "the number of requests a second without a valid key from one address (IPv6: from one /64) that are answered "
        "with 401 and have a line each in the audit log; further ones get 429 and are counted in one line; "
        "0: any number",
        minimum=0,
        maximum=1_000_000,
    ),
    Setting(
        "max_body_bytes", 8_388_608, "the largest request body, in bytes (8 MiB)", minimum=1_024, maximum=1_073_741_824
    ),
    Setting(
        "max_head_bytes",
        65_536,
        "the largest size of request line and headers together, in bytes (64 KiB)",
        minimum=1_024,
        maximum=1_048_576,
    ),
    Setting(
        "max_meta_bytes",
        51_200,
        "the largest meta of an object, in bytes of compact JSON (50 KiB)",
        minimum=2,
        maximum=1_048_576,
    ),
    Setting(
        "max_definition_bytes",
        65_536,
        "the largest object type, in bytes of compact JSON (64 KiB)",
        minimum=1_024,
        maximum=1_048_576,
    ),
    Setting(
        "max_check_work",
        200_000,
        "the budget of one check request, in nodes and warrants; a request that exceeds it is answered with 503",
        minimum=1_000,
        maximum=100_000_000,
    ),
    Setting(
        "max_query_work",
        2_000_000,
        "the budget of one query, in nodes, warrants and rows; a query that exceeds it is answered with 503",
        minimum=1_000,
        maximum=1_000_000_000,
    ),
    Setting(
        "cache_bytes",
        536_870_912,
        "the memory of each worker for what it keeps of the store: warrants, decisions, lists (512 MiB); "
        "0: nothing is kept",
        minimum=0,
        maximum=1_099_511_627_776,
    ),
    Setting(
        "request_cache_bytes",
        33_554_432,
        "the size of the cache of request heads, small bodies and contextual warrants that are likely to come again, "
        "in bytes per worker (32 MiB)",
        minimum=0,
        maximum=17_179_869_184,
    ),
    Setting(
        "fast_path",
        True,
        "whether checks whose warrants are all cached are answered before the web framework sees them",
    ),
    Setting(
        "strict",
        False,
        "whether reads answer 400 for types, relations and parameters that do not exist, unless they say otherwise",
    ),
    Setting("console", True, "whether the console for browsers is served at /console"),
    Setting(
        "access_log",
        False,
        "whether a line of JSON is logged to stderr for each request but those for health and metrics; all: those, too",
        further_values=(ALL_REQUESTS,),
    ),
    Setting(
        "audit_log",
        "",
        "a file to which changes, refused requests and administrative calls are written, or - for standard output",
    ),
    Setting("audit_format", "json", "the format of the audit log: json for lines of JSON, or cloudevents"),
    Setting(
        "max_context_bytes",
        65_536,
        "the largest context of one warrant in a check, or of a query, in bytes of compact JSON (64 KiB)",
        minimum=1_024,
        maximum=8_388_608,
    ),
    Setting(
        "max_json_depth",
        128,
        "the maximum nesting depth of arrays and objects in a request body",
        minimum=8,
        maximum=200,
    ),
    Setting(
        "head_timeout_ms",
        10_000,
        "how long a client may take to send the request line and headers",
        minimum=100,
        maximum=600_000,
    ),
    Setting(
        "keep_alive_timeout_ms",
        75_000,
        "how long an idle connection is kept open; set it longer than the idle timeout of a proxy in front",
        minimum=100,
        maximum=3_600_000,
    ),
    Setting(
        "max_connections",
        10_000,
        "the number of open connections per worker, at most three quarters of its limit of open files; "
        "further connections are answered with 503",
        minimum=1,
        maximum=1_000_000,
    ),
    Setting(
        "max_running_requests",
        128,
        "the number of requests of the same scope that run at the same time in a worker; cached checks do not count",
        minimum=1,
        maximum=100_000,
    ),
    Setting(
        "max_waiting_requests",
        1_024,
        "the number of further requests of that scope that wait to run; others are answered with 503",
        minimum=1,
        maximum=100_000,
    ),
    Setting(
        "max_all_bodies_bytes",
        268_435_456,
        "the size of the bodies of all requests in a worker, as sent and as decoded, until they are answered, in bytes "
        "(256 MiB); others are answered with 503",
        minimum=1,
        maximum=17_179_869_184,
    ),
    Setting(
        "max_unwritten_bytes",
        16_777_216,
        "the size of the records of the audit log, and of the decisions, that wait in a worker until they are written, "
        "in bytes each (16 MiB); further ones are dropped and counted",
        minimum=65_536,
        maximum=17_179_869_184,
    ),
    Setting(
        "max_received_bytes",
        134_217_728,
        "the size of what clients have sent to a worker and no request has taken yet: heads, and bodies that are not "
        "complete, in bytes (128 MiB); beyond it, connections are dropped that have kept some for longest",
        minimum=65_536,
        maximum=1_099_511_627_776,
    ),
    Setting(
        "max_unsent_bytes",
        268_435_456,
        "the size of all answers of a worker that are prepared or that clients have not read, in bytes (256 MiB); "
        "beyond it, large answers wait, and connections are dropped that have left an answer unread for longest",
        minimum=65_536,
        maximum=1_099_511_627_776,
    ),
    Setting(
        "wait_timeout_ms",
        1_000,
        "how long such a request may wait before it is answered with 503",
        minimum=1,
        maximum=600_000,
    ),
    Setting(
        "body_timeout_ms", 30_000, "how long a client may take to send a request body", minimum=100, maximum=600_000
    ),
    Setting(
        "stop_timeout_ms",
        30_000,
        "how long requests in flight may take to finish after SIGTERM",
        minimum=100,
        maximum=600_000,
    ),
    Setting(
        "request_timeout_ms",
        30_000,
        "how long a request may take before it is answered with 503, not counting the time to receive its body",
        minimum=100,
        maximum=600_000,
    ),
    Setting(
        "store_timeout_ms",
        10_000,
        "how long to wait for the database before answering with 503",
        minimum=100,
        maximum=600_000,
    ),
    Setting("postgres_connections", 10, "the number of PostgreSQL connections per worker", minimum=1, maximum=1_000),
    Setting(
        "secret_key_file",
        "",
        "a file whose first line, 32 random bytes in base64 or hex, encrypts the session keys in the database; "
        "further lines are used for decryption only",
    ),
    Setting(
        "cors_origin",
        "",
        "an origin whose pages may call the service with a session token, such as https://app.example, or * for all; "
        "the flag may be repeated, the variable has commas",
        is_repeatable=True,
    ),
    Setting("cors_all_routes", False, "whether such pages may call all routes, with an API key"),
    Setting(
        "retention_hours",
        168,
        "how long replaced and deleted rows stay readable at their revisions (7 days)",
        minimum=1,
        maximum=87_600,
    ),
    Setting(
        "decision_log",
        0,
        "the number of check results kept as access events, the newest of all workers together; 0: none",
        minimum=0,
        maximum=1_000_000_000,
    ),
    Setting(
        "event_retention_hours",
        720,
        "how long events are kept (30 days), unless retention_hours is longer",
        minimum=1,
        maximum=87_600,
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
    Setting(
        "jwt_scopes_claim",
        "",
        "the claim of such tokens that contains the scopes of a service, as in magistrate:check; optional",
    ),
)

CLIENT_SETTINGS = (
    Setting("server", "http://127.0.0.1:8000", "the URL of the service"),
    Setting("api_key", "", "the API key to send; if there are several, separated by commas, the first is used"),
    Setting(
        "ca_cert", "", "a PEM file with the authorities to trust instead of those of the system, if the URL is https://"
    ),
    Setting("client_cert", "", "a PEM file with the certificate to present (mTLS), followed by those of its issuers"),
    Setting("client_key", "", "the PEM file with the private key of client_cert, without a password"),
)

MOVING_SETTINGS = (Setting("warrant_api_key", "", "the API key of the server of --from-warrant"),)
