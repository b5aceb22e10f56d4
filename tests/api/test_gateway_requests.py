"""/authz gets the requests of Traefik, Caddy and Envoy as these programs write them: with all headers of the client,
and over connections that stay open."""

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.api.gateways import RULES, Gateway, serving
from tests.api.sockets import connect, read_answer
from tests.jwks_server import AUDIENCE, ISSUER, jwk, jwks_server, rsa_key, token
from tests.leaks import keep_secret
from tests.running import Client

RSA = rsa_key()
JWT = RULES.replace("identity:\n  header: X-Auth-User", "identity: jwt")
SPOOFED = (
    "X-Original-Method: GET",
    "X-Original-Host: docs.example",
    "X-Original-Uri: /public/x",
    "X-Magistrate-Subject: user:ann",
    "Remote-User: ann",
    "X-User: ann",
)
OF_A_BROWSER = (
    "Accept: text/html,application/xhtml+xml,*/*;q=0.8",
    "Accept-Encoding: gzip",
    "Accept-Language: en-GB,en;q=0.5",
    "Cookie: session=0123456789abcdef; theme=dark",
    "Origin: https://docs.example",
    "Referer: https://docs.example/",
    "Sec-Fetch-Mode: navigate",
    "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "X-Request-Id: 7f1c",
)


def write_traefik(uri: str, key: str, *headers: str, method: str = "GET", host: str = "docs.example") -> bytes:
    """Go writes `Host` first and the others in the order of their names. What the client sent of those that Traefik
    sets was replaced."""
    lines = (
        *headers,
        f"X-Forwarded-Method: {method}",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Port: 443",
        f"X-Forwarded-Host: {host}",
        f"X-Forwarded-Uri: {uri}",
        "X-Forwarded-For: 203.0.113.7",
        "X-Forwarded-Server: front-1",
        "X-Real-Ip: 203.0.113.7",
        f"X-Magistrate-Key: {key}",
    )
    return write_request("GET /authz HTTP/1.1", "Host: magistrate:8000", *sorted(lines))


def write_caddy(uri: str, key: str, *headers: str, method: str = "GET", host: str = "docs.example") -> bytes:
    """Go again: Caddy sends GET without the body, keeps the host of the client, and adds Via."""
    lines = (
        *headers,
        f"X-Forwarded-Method: {method}",
        "X-Forwarded-Proto: https",
        f"X-Forwarded-Host: {host}",
        f"X-Forwarded-Uri: {uri}",
        "X-Forwarded-For: 203.0.113.7",
        f"X-Magistrate-Key: {key}",
        "Via: 2.0 Caddy",
    )
    return write_request("GET /authz HTTP/1.1", f"Host: {host}", *sorted(lines))


def write_envoy(uri: str, key: str, *headers: str, method: str = "GET", host: str = "docs.example") -> bytes:
    """Envoy writes names in lower case, the method and the path of the client behind the prefix, and no body."""
    lines = (
        f"host: {host}",
        "content-length: 0",
        *(f"{name.lower()}: {value}" for name, value in (header.split(": ", 1) for header in headers)),
        f"x-magistrate-key: {key}",
        "x-envoy-internal: true",
        "x-forwarded-for: 203.0.113.7",
        "x-envoy-expected-rq-timeout-ms: 3000",
    )
    return write_request(f"{method} /authz{uri} HTTP/1.1", *lines)


def write_request(*lines: str) -> bytes:
    return "\r\n".join((*lines, "", "")).encode("latin-1")


PROXIES = {"traefik": write_traefik, "caddy": write_caddy, "envoy": write_envoy}


class Proxy:
    """A proxy with one connection to the service."""

    def __init__(self, name: str, gateway: Gateway, connection: socket.socket) -> None:
        self.name, self.write = name, PROXIES[name]
        self.gateway = gateway
        self.connection = connection

    def ask(self, uri: str, *headers: str, method: str = "GET", host: str = "docs.example") -> tuple[int, str]:
        """The status, and the subject in the answer."""
        return self.send(self.write(uri, self.gateway.key, *headers, method=method, host=host))

    def send(self, request: bytes) -> tuple[int, str]:
        self.connection.sendall(request)
        if request.startswith(b"HEAD "):
            answer = b""
            while not answer.endswith(b"\r\n\r\n"):
                answer += self.connection.recv(65_536)
        else:
            answer = read_answer(self.connection)
        head = answer.partition(b"\r\n\r\n")[0].decode("latin-1")
        status, *lines = head.split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines if ": " in line)
        return int(status.split(" ")[1]), headers.get("x-magistrate-subject", "")


@contextmanager
def open_proxy(name: str, folder: Path, rules: str, **settings: str | int) -> Iterator[Proxy]:
    source = "envoy" if name == "envoy" else "x-forwarded"
    served = serving(folder, rules.replace("x-original", source), **settings)
    with served as (client, gateway), connect(client) as connection:
        yield Proxy(name, gateway, connection)


@pytest.fixture(params=["true", "false"], ids=["fast path", "framework"])
def fast_path(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=PROXIES)
def proxy(request: pytest.FixtureRequest, tmp_path: Path, fast_path: str) -> Iterator[Proxy]:
    with open_proxy(request.param, tmp_path, RULES, fast_path=fast_path, cors_origin="https://docs.example") as proxy:
        yield proxy


def test_a_request_passes_if_the_check_is_allowed(proxy: Proxy) -> None:
    ann, bob = (*OF_A_BROWSER, "X-Auth-User: ann"), (*OF_A_BROWSER, "X-Auth-User: bob")
    for _ in range(3):
        assert proxy.ask("/documents/plan?x=1&y=%2Fa", *ann) == (200, "user:ann")
        assert proxy.ask("/documents/plan", *bob) == (403, "")
        assert proxy.ask("/documents/plan", *OF_A_BROWSER) == (401, "")
        assert proxy.ask("/documents/plan", *OF_A_BROWSER, "X-Auth-User: ") == (401, "")
        assert proxy.ask("/public/a/b", *OF_A_BROWSER) == (200, "")
        assert proxy.ask("/nothing", *ann) == (403, "")


def test_the_method_is_that_of_the_client(proxy: Proxy) -> None:
    preflight = ("Origin: https://docs.example", "Access-Control-Request-Method: PUT", "X-Auth-User: ann")
    for _ in range(2):
        assert proxy.ask("/documents/plan", "X-Auth-User: ann", method="HEAD") == (200, "user:ann")
        for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            assert proxy.ask("/documents/plan", "X-Auth-User: ann", method=method) == (403, "")
        assert proxy.ask("/documents/plan", *preflight, method="OPTIONS") == (403, "")
        assert proxy.ask("/public/x", *preflight, method="OPTIONS") == (200, "user:ann")


def test_what_a_client_adds_changes_nothing(proxy: Proxy) -> None:
    spoofed = (*SPOOFED, "X-Forwarded-User: ann", "X-HTTP-Method-Override: GET", "X-Rewrite-URL: /public/x")
    for _ in range(2):
        assert proxy.ask("/documents/plan", *spoofed) == (401, "")
        assert proxy.ask("/documents/plan", *spoofed, "X-Auth-User: bob") == (403, "")
        assert proxy.ask("/documents/other", *spoofed, "X-Auth-User: ann") == (403, "")
        assert proxy.ask("/documents/plan", "X_Auth_User: ann", "X_Forwarded_Uri: /public/x") == (401, "")
        assert proxy.ask("/documents/plan", "X-Auth-User: bob", "X-Auth-User: ann") == (403, "")
        assert proxy.ask("/public/x", "X-Auth-User: ann", "x-auth-user: ann") == (403, "")
        assert proxy.ask("/documents/plan", "X-Auth-User: ann", "X-Magistrate-Key: other")[0] == 401
        assert proxy.ask("/documents/plan", "X-Auth-User: ann", host="docs.example, other.example") == (403, "")


TRICKS = [
    "//documents/plan", "/documents//plan", "/public/../documents/plan", "/public/..%2fdocuments/plan",
    "/documents/./plan", "/public/%2e%2e/documents/plan", "/documents%2Fplan", "/documents/plan;x=1",
    "/documents/plan%3Bx", "/DOCUMENTS/plan", "/documents/%2570lan", "/documents/plan%00", "/documents/plan%5c",
    "/documents/plan\\", "/documents/plan/", "/documents/plan.", "/documents/%", "/documents/\xff", "/../v2/check",
    "/%2e%2e/v2/check", "/documents/plan#x",
]  # fmt: skip


def test_tricks_with_paths_are_refused(proxy: Proxy) -> None:
    answers = {}
    for path in TRICKS * 2:
        with socket.create_connection(proxy.connection.getpeername(), timeout=20) as connection:
            answers[path] = Proxy(proxy.name, proxy.gateway, connection).ask(path, "X-Auth-User: ann")

    assert {path: answer for path, answer in answers.items() if answer not in ((400, ""), (403, ""))} == {}


def test_a_uri_that_is_given_twice_is_refused(tmp_path: Path, fast_path: str) -> None:
    """A proxy that trusts what is before it may add a header instead of replacing it, or join both values."""
    with open_proxy("traefik", tmp_path, RULES, fast_path=fast_path) as proxy:
        for uri in ("/public/x?, /documents/plan", "/public/x?,/documents/plan", "/public/x, /documents/plan"):
            assert proxy.ask(uri, "X-Auth-User: bob") == (403, "")
        assert proxy.ask("/documents/plan", "X-Auth-User: ann", "X-Forwarded-Uri: /public/x") == (403, "")
        assert proxy.ask("/documents/plan", "X-Auth-User: ann", "X-Forwarded-Method: GET") == (403, "")
        assert proxy.ask("/documents/plan", "X-Auth-User: ann", "X-Forwarded-Host: docs.example") == (403, "")


def test_an_absolute_url_matches_no_rule(tmp_path: Path, fast_path: str) -> None:
    """Its host is not the one in the header."""
    with open_proxy("envoy", tmp_path, RULES, fast_path=fast_path) as proxy:
        request = write_envoy("/documents/plan", proxy.gateway.key, "X-Auth-User: ann")
        for url in (b"http://evil.example/authz/documents/plan", b"http://evil.example/authz"):
            assert proxy.send(request.replace(b"/authz/documents/plan", url)) == (403, "")


def test_a_body_that_comes_along_is_not_taken_for_a_request(tmp_path: Path, fast_path: str) -> None:
    """Envoy sends a body with `with_request_body`. Here, it is a request that would be allowed."""
    with open_proxy("envoy", tmp_path, RULES, fast_path=fast_path) as proxy:
        for size in (0, 100_000):
            inner = write_envoy("/public/x", proxy.gateway.key) + b"x" * size
            outer = write_envoy("/documents/plan", proxy.gateway.key, "X-Auth-User: bob", method="GET")
            request = outer.replace(b"content-length: 0", b"content-length: %d" % len(inner)) + inner
            assert proxy.send(request) == (403, "")
            if size:
                break
            assert proxy.ask("/documents/plan", "X-Auth-User: ann") == (200, "user:ann")
            doubled = outer.replace(b"content-length: 0", b"content-length: 0\r\ncontent-length: 5")
            with socket.create_connection(proxy.connection.getpeername(), timeout=20) as other:
                assert Proxy("envoy", proxy.gateway, other).send(doubled)[0] == 400


@pytest.mark.parametrize("name", PROXIES)
def test_the_user_is_that_of_a_token_of_the_provider(name: str, tmp_path: Path, fast_path: str) -> None:
    with ExitStack() as stack:
        provider = stack.enter_context(jwks_server(jwk(RSA, kid="rsa")))
        claims = {"jwt_keys": provider.url, "jwt_issuer": ISSUER, "jwt_audience": AUDIENCE}
        proxy = stack.enter_context(open_proxy(name, tmp_path, JWT, fast_path=fast_path, **claims))
        good, bob, foreign = token(RSA, "rsa"), token(RSA, "rsa", sub="bob"), token(rsa_key(), "rsa")
        expired, other_audience = token(RSA, "rsa", exp=1), token(RSA, "rsa", aud="other")
        keep_secret([good, bob])

        for _ in range(2):
            assert proxy.ask("/documents/plan", *bearing(good), "X-Auth-User: bob") == (200, "user:ann")
            assert proxy.ask("/documents/plan", *bearing(bob), "X-Auth-User: ann") == (403, "")
            assert proxy.ask("/profile", *bearing(bob)) == (200, "user:bob")
            for refused in (foreign, expired, other_audience, good[:-8], "x", proxy.gateway.key):
                assert proxy.ask("/documents/plan", *bearing(refused)) == (401, "")
            assert proxy.ask("/documents/plan", "X-Auth-User: ann") == (401, "")
            assert proxy.ask("/documents/plan", *bearing(good), *bearing(good)) == (403, "")
            assert proxy.ask("/documents/other", *bearing(good)) == (403, "")
            assert proxy.ask("/nothing", *bearing(good)) == (403, "")


def bearing(token: str) -> Sequence[str]:
    return [*OF_A_BROWSER, f"Authorization: Bearer {token}"]


def test_a_service_of_the_provider_is_no_user(tmp_path: Path) -> None:
    """Its token has scopes: it is a key, and no subject."""
    with ExitStack() as stack:
        provider = stack.enter_context(jwks_server(jwk(RSA, kid="rsa")))
        claims = {"jwt_keys": provider.url, "jwt_issuer": ISSUER, "jwt_audience": AUDIENCE, "jwt_scopes_claim": "scope"}
        proxy = stack.enter_context(open_proxy("traefik", tmp_path, JWT, **claims))
        service = token(RSA, "rsa", sub="billing", scope="magistrate:check magistrate:forward")
        keep_secret([service])

        assert proxy.ask("/documents/plan", *bearing(service)) == (401, "")
        assert proxy.ask("/documents/plan", *bearing(token(RSA, "rsa"))) == (200, "user:ann")


def test_a_session_is_no_token_of_the_provider(tmp_path: Path) -> None:
    with ExitStack() as stack:
        provider = stack.enter_context(jwks_server(jwk(RSA, kid="rsa")))
        claims = {"jwt_keys": provider.url, "jwt_issuer": ISSUER, "jwt_audience": AUDIENCE}
        client, gateway = stack.enter_context(serving(tmp_path, JWT, **claims))
        session = client.post("/v2/sessions", json={"type": "sess", "userId": "ann"}).json()["token"]
        keep_secret([session])

        assert gateway.ask("/documents/plan", None, ("Authorization", f"Bearer {session}")).status_code == 401
        good = ("Authorization", f"Bearer {token(RSA, 'rsa')}")
        assert gateway.ask("/documents/plan", None, good).status_code == 200


def test_what_no_service_can_answer_is_no_200(tmp_path: Path) -> None:
    """The keys of the provider cannot be fetched."""
    with ExitStack() as stack:
        provider = stack.enter_context(jwks_server())
        provider.status = 500
        claims = {"jwt_keys": provider.url, "jwt_issuer": ISSUER, "jwt_audience": AUDIENCE}
        proxy = stack.enter_context(open_proxy("caddy", tmp_path, JWT, **claims))

        assert proxy.ask("/documents/plan", *bearing(token(RSA, "rsa"))) == (503, "")
        assert proxy.ask("/public/x") == (200, "")


def test_a_client_cannot_name_a_store(tmp_path: Path) -> None:
    """The store is that of the key."""
    with serving(tmp_path, RULES.replace("x-original", "envoy")) as (client, gateway), connect(client) as connection:
        grant_elsewhere(client)
        proxy = Proxy("envoy", gateway, connection)

        for _ in range(2):
            assert proxy.ask("/stores/acme/documents/secret", "X-Auth-User: ann") == (403, "")
            assert proxy.ask("/documents/secret", "X-Auth-User: ann", "X-Store: acme") == (403, "")
        request = write_envoy("/documents/secret", gateway.key, "X-Auth-User: ann")
        assert proxy.send(request.replace(b"GET /authz", b"GET /stores/acme/authz")) == (404, "")


def grant_elsewhere(client: Client) -> None:
    client.post("/v2/stores", json={"name": "acme"}).raise_for_status()
    definition = {"type": "document", "relations": {"viewer": {}}}
    client.post("/stores/acme/v2/object-types", json=definition).raise_for_status()
    warrant = {
        "objectType": "document",
        "objectId": "secret",
        "relation": "viewer",
        "subject": {"objectType": "user", "objectId": "ann"},
    }
    client.post("/stores/acme/v2/warrants", json=warrant).raise_for_status()
