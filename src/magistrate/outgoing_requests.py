"""Decides how requests to other servers leave: through which proxy, and which authorities they trust.

All clients of HTTP take their options from here, so that the variables of the environment mean the same everywhere:
`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY` and `SSL_CERT_FILE`, of which the lower-case form wins. What cannot
be used is an error before anything is sent, and names the variable."""

import importlib.util
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import NamedTuple, TypedDict
from urllib.parse import urlsplit

import httpx

from magistrate.errors import InvalidSetting


@dataclass(frozen=True, slots=True)
class ClientTlsFiles:
    """Names PEM files: the authorities to trust instead of those of the system, and the certificate to present
    (followed by those of its issuers) with its key. They are empty if there are none."""

    authorities: str = ""
    certificate: str = ""
    key: str = ""


NO_FILES = ClientTlsFiles()

Trust = ssl.SSLContext | bool
"""Is what a client of httpx is given to verify servers with; False stands for nothing to verify."""


def demand_service_url(url: str) -> None:
    """Raises InvalidSetting if the URL cannot be that of a service."""
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and parts.port != 0  # reading a port above 65535 raises ValueError
        is_url = parts.scheme in ("http", "https") and has_host and not set(url) & set("?#@")
        httpx.URL(url)
    except (ValueError, httpx.InvalidURL):
        is_url = False
    if not is_url:
        raise InvalidSetting(f"{url!r} is not the URL of a service; write it as in http://127.0.0.1:8000")


def load_trust(files: ClientTlsFiles = NO_FILES, variable: str = "", authorities: str = "") -> ssl.SSLContext:
    """Returns what a client trusts and presents with TLS: the authorities of the files, otherwise those of another
    file, which a variable names, otherwise those of the system. Raises InvalidSetting if a file cannot be used.

    It takes 20 ms, and is not needed without TLS."""
    origin = "ca_cert" if files.authorities else variable
    path = files.authorities or authorities
    try:
        context = ssl.create_default_context(cafile=path) if path else _trust_system()
    except OSError as error:
        reason = _describe_error(error)
        raise InvalidSetting(f"{origin}: {path} must hold certificates in PEM format: {reason}") from error
    if files.certificate:
        try:
            # Without a password, OpenSSL would prompt for one in the terminal.
            context.load_cert_chain(files.certificate, files.key, password=bytes)
        except (OSError, ValueError) as error:
            raise InvalidSetting(
                f"client_cert and client_key: {files.certificate} and {files.key} must hold a certificate and its key, "
                f"without a password, in PEM format: {_describe_error(error)}"
            ) from error
    return context


def _trust_system() -> ssl.SSLContext:
    """Returns what trusts the authorities of the system, or those that come with httpx if it has none."""
    paths = ssl.get_default_verify_paths()
    if paths.cafile or paths.capath:
        return ssl.create_default_context()
    return httpx.create_ssl_context(trust_env=False)


def _describe_error(error: Exception) -> str:
    """Returns OpenSSL's name of an error, or what the system says about a file."""
    return getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)


_SOCKS = ("socks5", "socks5h")
_PROXY_SCHEMES = ("http", "https", *_SOCKS)
_DEFAULT_PORTS = {"http": 80, "https": 443}


class HttpOptions(TypedDict):
    """Holds the arguments of httpx's clients that say how requests leave."""

    proxy: httpx.Proxy | None
    verify: Trust
    trust_env: bool


@dataclass(frozen=True, slots=True)
class NamedText:
    """Represents a variable of the environment that has a value."""

    name: str
    text: str


def choose_http_options(
    url: str, files: ClientTlsFiles = NO_FILES, environment: Mapping[str, str] | None = None
) -> HttpOptions:
    """Returns the options of a client of this URL, which is http or https. Raises InvalidSetting if what the files or
    the variables say cannot be used."""
    environment = os.environ if environment is None else environment
    proxy = _choose_proxy(url, environment)
    trust: Trust = False
    if urlsplit(url).scheme == "https":
        named = _find_variable(environment, "SSL_CERT_FILE") or NamedText("", "")
        trust = load_trust(files, named.name, named.text)
    return {"proxy": proxy, "verify": trust, "trust_env": False}


class SessionOptions(NamedTuple):
    """Says how requests leave through a session of the library requests: the URL of a proxy, and a file or a folder of
    authorities. They are empty for none, and for the authorities that come with the library."""

    proxy: str
    authorities: str


def choose_session_options(url: str, environment: Mapping[str, str] | None = None) -> SessionOptions:
    """Returns the options of a session for this URL, which is http or https. Raises InvalidSetting like
    `choose_http_options`."""
    environment = os.environ if environment is None else environment
    proxy = _find_proxy(url, environment)
    named = _find_variable(environment, "SSL_CERT_FILE")
    paths = ssl.get_default_verify_paths()
    if urlsplit(url).scheme == "https" and named is not None:
        load_trust(NO_FILES, named.name, named.text)  # refuses a file that cannot be used
    authorities = (paths.cafile or paths.capath or "") if named is None else named.text
    return SessionOptions("" if proxy is None else _demand_proxy(proxy, "socks", "PySocks"), authorities)


def _find_variable(environment: Mapping[str, str], *names: str) -> NamedText | None:
    """Returns the first of the variables that is there, in lower case before upper case; one that is empty says that
    there is none."""
    for name in names:
        for spelled in (name.lower(), name):
            if spelled in environment:
                text = environment[spelled].strip()
                return NamedText(spelled, text) if text else None
    return None


def _choose_proxy(url: str, environment: Mapping[str, str]) -> httpx.Proxy | None:
    proxy = _find_proxy(url, environment)
    return None if proxy is None else httpx.Proxy(_demand_proxy(proxy, "socksio", "socksio"))


def _find_proxy(url: str, environment: Mapping[str, str]) -> NamedText | None:
    """Returns the variable that names the proxy for a URL, or None if there is none."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or _DEFAULT_PORTS[parts.scheme]
    proxy_url = _find_variable(environment, f"{parts.scheme.upper()}_PROXY", "ALL_PROXY")
    excluded = _find_variable(environment, "NO_PROXY")
    # A service on the same machine that is not encrypted is no business of a proxy, whatever is exported for others.
    if proxy_url is None or (parts.scheme == "http" and _is_loopback(host)):
        return None
    if excluded is not None and any(_matches(entry, host, port) for entry in excluded.text.split(",")):
        return None
    return proxy_url


def _demand_proxy(variable: NamedText, socks_module: str, socks_package: str) -> str:
    """Returns the URL of the proxy that a variable names, given the module that a client needs for SOCKS, and its
    package. Raises InvalidSetting, which does not show a password."""
    text = variable.text if "://" in variable.text else f"http://{variable.text}"
    scheme = text.partition("://")[0].lower()
    if scheme not in _PROXY_SCHEMES:
        raise InvalidSetting(f"{variable.name}: proxies with {scheme}:// are not supported; use http://")
    if scheme in _SOCKS and importlib.util.find_spec(socks_module) is None:
        raise InvalidSetting(
            f"{variable.name}: proxies with {scheme}:// need the package {socks_package}, which is not installed; use "
            "http://"
        )
    try:
        parts = urlsplit(text)
        if parts.hostname and parts.port != 0:
            httpx.Proxy(text)
            return text
    except (ValueError, httpx.InvalidURL):
        pass
    raise InvalidSetting(f"{variable.name} is not the URL of a proxy; write it as in http://proxy.example:3128")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _matches(entry: str, host: str, port: int) -> bool:
    """Returns whether an entry of NO_PROXY covers a host: `*`, a network, an address, or a name, which covers all names
    below it; perhaps with a port. An entry that is none of these covers nothing."""
    entry = entry.strip().lower()
    if entry == "*":
        return True
    if "/" in entry:
        return _is_in_network(host, entry)
    name, wanted_port = _split_port(entry)
    if not name or wanted_port not in ("", str(port)):
        return False
    try:
        return ip_address(name) == ip_address(host)
    except ValueError:
        suffix = name.removeprefix("*").removeprefix(".")
        return bool(suffix) and (host == suffix or host.endswith(f".{suffix}"))


def _is_in_network(host: str, network: str) -> bool:
    try:
        return ip_address(host) in ip_network(network.replace("[", "").replace("]", ""), strict=False)
    except ValueError:  # a name, or an address of the other family
        return False


def _split_port(entry: str) -> tuple[str, str]:
    """Returns the host and the port, which may be empty, of `name:port`, `[address]:port`, or an address alone."""
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        return name, rest.removeprefix(":")
    if entry.count(":") == 1:
        name, _, port = entry.partition(":")
        return name, port
    return entry, ""
