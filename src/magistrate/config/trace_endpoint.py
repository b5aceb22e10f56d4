"""Reads where spans are exported to, from the setting and from the variables of OpenTelemetry."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from magistrate.errors import InvalidSetting

ENDPOINT_VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"
HEADERS_VARIABLE = "OTEL_EXPORTER_OTLP_HEADERS"
OWN_HEADERS_VARIABLE = "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
"""Names the variable that the exporter prefers, which has headers for traces alone."""
DISABLED_VARIABLE = "OTEL_SDK_DISABLED"
PROTOCOL_VARIABLE = "OTEL_EXPORTER_OTLP_PROTOCOL"
TRACES_PATH = "/v1/traces"


@dataclass(frozen=True, slots=True)
class TraceEndpoint:
    """Holds the URL to which spans are posted. If it is not our `own` setting, a platform may have set it for all of
    its programs, and what is wrong with it keeps none of them from starting."""

    url: str
    is_own: bool = True


def read_trace_endpoint(setting: str, environment: Mapping[str, str]) -> TraceEndpoint | None:
    """Returns where spans are exported to, or None if that is nowhere. As OpenTelemetry defines it, what is exported is
    a part of the path; a URL that ends in it is the same.

    Raises InvalidSetting for a setting that is no such URL. A variable that is none, or is for another protocol, is
    ignored. Another variable switches off whatever uses the SDK of OpenTelemetry."""
    own = TraceEndpoint(_read_url(setting, "trace_endpoint")) if setting else None
    if environment.get(DISABLED_VARIABLE, "").strip().lower() == "true":
        return None
    if own is not None:
        return own
    text = environment.get(ENDPOINT_VARIABLE, "").strip()
    if not text or find_endpoint_fault(environment) is not None:
        return None
    return TraceEndpoint(_read_url(text, ENDPOINT_VARIABLE), is_own=False)


def find_endpoint_fault(environment: Mapping[str, str]) -> str | None:
    """Returns why the variable with the endpoint is ignored, or None if it is not, or not there."""
    text = environment.get(ENDPOINT_VARIABLE, "").strip()
    if not text:
        return None
    if environment.get(PROTOCOL_VARIABLE, "").strip() == "grpc":
        return f"{PROTOCOL_VARIABLE} is grpc, and spans are exported over HTTP only"
    try:
        _read_url(text, ENDPOINT_VARIABLE)
    except InvalidSetting as error:
        return error.message
    return None


def _read_url(text: str, origin: str) -> str:
    try:
        parts = urlsplit(text.strip())
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url:
        raise InvalidSetting(f"{origin}: this is no URL of a receiver; write it as in http://127.0.0.1:4318")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise InvalidSetting(
            f"{origin}: the URL must have no user, query or fragment; what identifies the service to the receiver "
            f"belongs in the variable {HEADERS_VARIABLE}"
        )
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path if path.endswith(TRACES_PATH) else path + TRACES_PATH}"


def list_trace_secrets(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the values of the headers that the receiver is sent, as they are written and decoded: keys, mostly."""
    pairs = [pair for name in (HEADERS_VARIABLE, OWN_HEADERS_VARIABLE) for pair in environment.get(name, "").split(",")]
    values = (pair.partition("=")[2].strip() for pair in pairs)
    return tuple({text for value in values if value for text in (value, unquote(value))})
