"""Tokens of an outside provider: which are good, whom they are for, and where their keys come from."""

import asyncio
import base64
import hashlib
import hmac
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import jwt
import msgspec
import pytest

from magistrate.api.auth import key_url, provider_keys
from magistrate.api.auth.bearer import LEEWAY_SECONDS
from magistrate.api.auth.key_url import KeyUrl
from magistrate.api.auth.provider_keys import MAX_KEYS_BYTES, FetchedKeys, KeyFile
from magistrate.errors import ProviderUnavailable
from magistrate.operations.sessions.bearer_tokens import TokenHeader
from tests.api.check_answers import ALLOWED, DENIED
from tests.api.watching import watching
from tests.conftest import STORES, new_database_url
from tests.ids import STRANGE_IDS
from tests.jwks_server import AUDIENCE, ISSUER, JwksServer, ec_key, jwk, jwks_server, pem, rsa_key, token
from tests.scenario_files import warrant_body
from tests.sessions import EXPIRED, INVALID, Served, seconds_from_now, serving, unsigned
from tests.waiting import wait_until

TENANT = "https://login.example/tenant"
RSA, OTHER_RSA, EC, OTHER_EC = rsa_key(), rsa_key(), ec_key(), ec_key()
KEYS = (jwk(RSA, kid="rsa", use="sig", alg="RS256"), jwk(EC, kid="ec"))
UNAVAILABLE = {"code": "unavailable", "message": "the keys of the token provider cannot be fetched"}


def good(**claims: Any) -> str:
    return token(RSA, "rsa", **claims)


@contextmanager
def trusting(keys: str, database_url: str) -> Iterator[Served]:
    """A service that takes tokens of the provider with these keys."""
    claims = {"jwt_issuer": ISSUER, "jwt_audience": AUDIENCE, "jwt_tenant_claim": TENANT}
    with serving(database_url, jwt_keys=keys, **claims) as served:
        yield served


@pytest.fixture(scope="module", params=STORES)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    url = new_database_url(request.param, tmp_path_factory.mktemp("provider"), request)
    with jwks_server(*KEYS) as provider, trusting(provider.url, url) as served:
        yield served


def refused(served: Served, bearer: str) -> tuple[int, Any]:
    answer = served.ask(bearer, "report:a#viewer")
    return answer.status_code, answer.json()


@pytest.mark.parametrize(
    "bearer",
    [
        good(),
        token(EC, "ec"),
        token(RSA, None),
        token(EC, None),
        good(aud=["other", AUDIENCE]),
        good(groups="x" * 11_000),
    ],
)
def test_a_token_that_the_provider_signed_for_us_is_good(served: Served, bearer: str) -> None:
    assert served.ask(bearer, "report:a#viewer").json() == ALLOWED
    assert served.ask(bearer, "report:d#viewer").json() == DENIED


@pytest.mark.parametrize(("checks", "status"), [(100, 200), (101, 400)])
def test_it_may_send_a_hundred_checks_at_once(served: Served, checks: int, status: int) -> None:
    for path in ("/v2/check", "/v2/authorize"):
        asked = served.ask(good(), *["report:a#viewer"] * checks, path=path, op="batch")

        assert asked.status_code == status
        assert status == 200 or asked.json()["message"] == "must be less than 101"


def test_its_clock_may_differ_a_little(served: Served) -> None:
    for bearer in (
        good(iat=seconds_from_now(60), nbf=seconds_from_now(8)),
        good(exp=seconds_from_now(-5)),
    ):
        assert served.ask(bearer, "report:a#viewer").json() == ALLOWED


def test_sessions_are_good_beside_it(served: Served) -> None:
    assert served.ask(served.session(), "report:a#viewer").json() == ALLOWED


def test_its_tenant_is_read_by_policies(served: Served) -> None:
    assert served.ask(good(**{TENANT: "acme"}), "report:b#viewer").json() == ALLOWED
    assert served.ask(good(**{TENANT: "other"}), "report:b#viewer").json() == DENIED
    for without in (good(), good(tenant="acme"), good(context={"tenant": "acme"})):
        assert served.ask(without, "report:b#viewer", context={"tenant": "acme"}).json() == DENIED


@pytest.mark.parametrize("user_id", STRANGE_IDS)
def test_its_user_may_have_any_id(served: Served, user_id: str) -> None:
    assert served.ask(good(sub=user_id), "report:a#viewer").json() == DENIED


def test_a_token_whose_time_is_over_is_refused_as_such(served: Served) -> None:
    assert refused(served, good(exp=seconds_from_now(-15))) == (401, EXPIRED)
    assert refused(served, token(OTHER_RSA, "rsa", exp=seconds_from_now(-15))) == (401, INVALID)


def with_secret(secret: bytes, head: dict[str, Any], claims: dict[str, Any]) -> str:
    """Signed by HMAC, as a library that guards against it would not."""
    signed = unsigned(head, claims).removesuffix(".")
    digest = hmac.new(secret, signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


CLAIMS = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": seconds_from_now(86_400)}


def written(times: str) -> str:
    """Signed by the provider, with these times as they stand: JSON libraries do not write all that can be read."""
    others = {name: value for name, value in CLAIMS.items() if name != "exp"}
    return jwt.PyJWS().encode(f"{msgspec.json.encode(others).decode()[:-1]},{times}}}".encode(), RSA, "RS256")


SOON = seconds_from_now(86_400)
NO_TIMES = {
    "a text": f'"{SOON}"',
    "true": "true",
    "null": "null",
    "a list": f"[{SOON}]",
    "an object": "{}",
    "negative": "-1",
    "beyond all doubles": "1e400",
    "minus infinity": "-Infinity",
    "NaN": "NaN",
    "beyond the year 9999": "253402300800",
    "of a thousand digits": "1" + "0" * 999,
    "of five thousand digits": "1" + "0" * 4_999,
}
BAD_TIMES = {
    **{f"exp {name}": written(f'"exp":{text}') for name, text in NO_TIMES.items()},
    **{
        f"{claim} {name}": written(f'"exp":{SOON},"{claim}":{text}')
        for name, text in NO_TIMES.items()
        for claim in ("iat", "nbf")
    },
    "made next year": good(iat=seconds_from_now(365 * 86_400)),
    "a payload nested too deep": written(f'"exp":{SOON},"x":{"[" * 5_000}{"]" * 5_000}'),
}
BAD = BAD_TIMES | {
    "another issuer": good(iss="https://other.example/"),
    "no issuer": good(iss=None),
    "another audience": good(aud="other"),
    "no audience": good(aud=None),
    "no end": good(exp=None),
    "an end that is none": good(exp="soon"),
    "an infinite end": good(exp=float("inf")),
    "not yet": good(nbf=seconds_from_now(86_400)),
    "signed by another": token(OTHER_RSA, "rsa"),
    "signed by another of the other kind": token(OTHER_EC, "ec"),
    "the key of the other kind": token(EC, "rsa"),
    "an unknown key": token(RSA, "unknown"),
    "another algorithm for the key": token(RSA, "rsa", algorithm="RS512"),
    "a padding that is not ours": token(RSA, "rsa", algorithm="PS256"),
    "not signed": unsigned({"alg": "none", "kid": "rsa"}, CLAIMS),
    "an empty signature": unsigned({"alg": "RS256", "kid": "rsa"}, CLAIMS),
    "the public key as secret": with_secret(pem(RSA), {"alg": "HS256", "kid": "rsa"}, CLAIMS),
    "the public key as secret, RS256": with_secret(pem(RSA), {"alg": "RS256", "kid": "rsa"}, CLAIMS),
    "the JWK as secret": with_secret(msgspec.json.encode(KEYS[0]), {"alg": "HS256", "kid": "rsa"}, CLAIMS),
    "a key of its own": jwt.encode(CLAIMS, OTHER_RSA, "RS256", {"jwk": jwk(OTHER_RSA)}),
    "what must be understood and is not": jwt.encode(CLAIMS, RSA, "RS256", {"crit": ["x"], "x": 1}),
    "longer than is read": good(groups="x" * 12_000),
    "no user": good(sub=None),
    "a user that is a number": good(sub=7),
    "every user": good(sub="*"),
    "a user that cannot be": good(sub="ann smith"),
    "a user that is not in NFC": good(sub="jose\u0301"),
    "a user that is too long": good(sub="x" * 1_025),
    "an empty user": good(sub=""),
    "a tenant that is a list": good(**{TENANT: ["acme"]}),
    "a tenant that cannot be": good(**{TENANT: "a b"}),
}


@pytest.mark.parametrize("bearer", [pytest.param(bearer, id=name) for name, bearer in BAD.items()])
def test_a_token_with_something_wrong_is_invalid(served: Served, bearer: str) -> None:
    assert refused(served, bearer) == (401, INVALID)


@pytest.mark.parametrize(
    "times",
    [f'"exp":{SOON}.5', '"exp":253402300799', f'"exp":{SOON},"iat":0,"nbf":1.5e9'],
    ids=["a fraction", "the last", "others"],
)
def test_times_may_be_any_numbers_of_four_digit_years(served: Served, times: str) -> None:
    assert served.ask(written(times), "report:a#viewer").json() == ALLOWED


def test_a_token_may_not_be_made_in_ten_minutes(served: Served) -> None:
    assert refused(served, good(iat=seconds_from_now(600))) == (401, INVALID)


def test_a_token_that_is_over_and_for_another_is_invalid(served: Served) -> None:
    assert refused(served, good(exp=seconds_from_now(-15), aud="other")) == (401, INVALID)


def test_a_tenant_that_is_null_is_none(served: Served) -> None:
    claims = CLAIMS | {TENANT: None}

    assert served.ask(jwt.encode(claims, RSA, algorithm="RS256"), "report:a#viewer").json() == ALLOWED


@pytest.mark.parametrize("key", [RSA, EC])
def test_a_public_key_in_pem_will_do(key: Any, tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_bytes(pem(key))

    with trusting(f"{tmp_path}/key.pem", f"sqlite:///{tmp_path}/m.db") as served:
        assert served.ask(token(key, "any"), "report:a#viewer").json() == ALLOWED
        assert refused(served, token(OTHER_RSA, None)) == (401, INVALID)
        assert refused(served, token(OTHER_EC, None)) == (401, INVALID)
        secret = with_secret(pem(key), {"alg": "HS256"}, CLAIMS)
        assert refused(served, secret) == (401, INVALID)


def test_a_file_with_a_key_set_and_another_claim_for_the_user_will_do(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_bytes(msgspec.json.encode({"keys": KEYS}))
    claims = {"jwt_issuer": ISSUER, "jwt_audience": AUDIENCE, "jwt_user_claim": "email"}

    with serving(f"sqlite:///{tmp_path}/m.db", jwt_keys=f"{tmp_path}/keys.json", **claims) as served:
        assert served.ask(good(sub={"no": "text"}, email="ann"), "report:a#viewer").json() == ALLOWED
        assert served.ask(token(EC, "ec", email="bob"), "report:a#viewer").json() == DENIED
        assert refused(served, good()) == (401, INVALID)
        assert served.ask(good(email="ann", tenant="acme"), "report:b#viewer").json() == DENIED


def test_a_file_that_is_replaced_is_read_again(tmp_path: Path, hurried: None) -> None:
    path = tmp_path / "key.pem"
    path.write_bytes(pem(RSA))
    with trusting(str(path), f"sqlite:///{tmp_path}/m.db") as served:
        assert served.ask(good(), "report:a#viewer").json() == ALLOWED

        path.write_bytes(pem(OTHER_RSA)[:100])  # half written
        time.sleep(0.3)  # it is read meanwhile, more than once
        assert served.ask(good(), "report:a#viewer").json() == ALLOWED
        path.write_bytes(pem(OTHER_RSA))

        wait_until(lambda: refused(served, good()) == (401, INVALID))
        assert served.ask(token(OTHER_RSA, "rsa"), "report:a#viewer").json() == ALLOWED


def test_a_file_that_is_away_is_waited_for(tmp_path: Path, hurried: None) -> None:
    path = tmp_path / "key.pem"
    with trusting(str(path), f"sqlite:///{tmp_path}/m.db") as served:
        assert refused(served, good()) == (503, UNAVAILABLE)
        assert served.ask(served.session(), "report:a#viewer").json() == ALLOWED

        path.write_bytes(pem(RSA))

        wait_until(lambda: served.ask(good(), "report:a#viewer").json() == ALLOWED)


def test_without_a_provider_its_tokens_are_invalid(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/m.db") as served:
        assert refused(served, good()) == (401, INVALID)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little time goes by between fetches, and none is long."""
    monkeypatch.setattr(provider_keys, "PAUSE_SECONDS", 0.1)
    monkeypatch.setattr(KeyFile, "every_seconds", 0.1)
    monkeypatch.setattr(key_url, "FETCH_EVERY_SECONDS", 0.1)
    monkeypatch.setattr(key_url, "TIMEOUT_SECONDS", 0.5)


def test_a_new_key_of_the_provider_is_fetched_when_a_token_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_keys, "PAUSE_SECONDS", 0.0)
    with jwks_server(KEYS[0]) as provider, trusting(provider.url, f"sqlite:///{tmp_path}/m.db") as served:
        assert refused(served, token(EC, "ec")) == (401, INVALID)

        provider.publish(*KEYS)

        assert served.ask(token(EC, "ec"), "report:a#viewer").json() == ALLOWED


def test_tokens_with_unknown_keys_do_not_have_them_fetched_often(tmp_path: Path) -> None:
    with jwks_server(*KEYS) as provider, trusting(provider.url, f"sqlite:///{tmp_path}/m.db") as served:
        assert served.ask(good(), "report:a#viewer").json() == ALLOWED

        for number in range(20):
            assert refused(served, token(EC, f"unknown-{number}")) == (401, INVALID)

        assert provider.answered == 1


def test_a_key_that_the_provider_withdrew_is_no_good_soon_after(tmp_path: Path, hurried: None) -> None:
    with jwks_server(*KEYS) as provider, trusting(provider.url, f"sqlite:///{tmp_path}/m.db") as served:
        assert served.ask(good(), "report:a#viewer").json() == ALLOWED

        provider.publish(KEYS[1])

        wait_until(lambda: refused(served, good()) == (401, INVALID))
        provider.publish()
        wait_until(lambda: refused(served, token(EC, "ec")) == (401, INVALID))


def break_status(provider: JwksServer) -> None:
    provider.status = 500


def break_redirect(provider: JwksServer) -> None:
    provider.status, provider.headers = 302, {"Location": provider.url + "?moved"}


def break_json(provider: JwksServer) -> None:
    provider.parts = (b"<html>",)


def break_shape(provider: JwksServer) -> None:
    provider.parts = (b'{"keys":{"no":"array"}}',)


def break_length(provider: JwksServer) -> None:
    provider.parts = (msgspec.json.encode({"keys": [*KEYS, {"x": "x" * MAX_KEYS_BYTES}]}),)


def break_speed(provider: JwksServer) -> None:
    """Each part in time, all of them not."""
    whole = provider.parts[0]
    provider.parts = tuple(whole[start : start + 100] for start in range(0, len(whole), 100))
    provider.delay_seconds = 0.2


def break_depth(provider: JwksServer) -> None:
    provider.parts = (b'{"keys":[{"x":' + b"[" * 10_000,)


BREAKS = [break_status, break_redirect, break_json, break_shape, break_length, break_speed, break_depth]


@pytest.mark.parametrize("break_", BREAKS)
def test_while_the_keys_are_unreachable_tokens_are_503(
    tmp_path: Path, hurried: None, break_: Callable[[JwksServer], None]
) -> None:
    with jwks_server(*KEYS) as provider:
        break_(provider)
        with trusting(provider.url, f"sqlite:///{tmp_path}/m.db") as served:
            answer = served.ask(good(), "report:a#viewer")

            assert (answer.status_code, answer.json()) == (503, UNAVAILABLE)
            assert answer.headers["retry-after"] == "1"
            assert served.ask(served.session(), "report:a#viewer").json() == ALLOWED
            assert served.client.get("/readyz").status_code == 200
            provider.delay_seconds = 0.0
            provider.publish(*KEYS)
            wait_until(lambda: served.ask(good(), "report:a#viewer").json() == ALLOWED)


def test_what_was_fetched_is_used_while_the_provider_is_away(tmp_path: Path, hurried: None) -> None:
    with jwks_server(*KEYS) as provider, trusting(provider.url, f"sqlite:///{tmp_path}/m.db") as served:
        assert served.ask(good(), "report:a#viewer").json() == ALLOWED

        provider.status = 503
        answered = provider.answered
        wait_until(lambda: provider.answered > answered + 1)

        assert served.ask(good(), "report:a#viewer").json() == ALLOWED
        assert refused(served, token(EC, "new")) == (503, UNAVAILABLE)


@pytest.mark.anyio
async def test_what_was_fetched_is_used_for_a_day_at_the_most() -> None:
    now = 1_000.0
    with jwks_server(*KEYS) as provider:
        keys = FetchedKeys(KeyUrl(provider.url), lambda: now)
        head = TokenHeader("RS256", "rsa")
        assert len(await keys.fitting(head)) == 1
        provider.status = 500

        now += provider_keys.KEPT_SECONDS
        assert len(await keys.fitting(head)) == 1
        now += 1
        with pytest.raises(ProviderUnavailable):
            await keys.fitting(head)


@pytest.mark.anyio
async def test_who_stops_waiting_for_the_keys_leaves_nobody_in_the_belief_that_they_are_known() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.setblocking(False)
        keys = FetchedKeys(KeyUrl(f"http://127.0.0.1:{silent.getsockname()[1]}/keys"))
        head = TokenHeader("RS256", "rsa")
        first, second = (asyncio.create_task(keys.fitting(head)) for _ in range(2))
        loop = asyncio.get_running_loop()
        connection, _ = await loop.sock_accept(silent)
        with connection:
            assert await loop.sock_recv(connection, 1)  # the request is on its way
            first.cancel()

            with pytest.raises(ProviderUnavailable):
                await second


def test_a_provider_that_does_not_listen_harms_nobody_else(tmp_path: Path) -> None:
    with trusting("http://127.0.0.1:1/keys", f"sqlite:///{tmp_path}/m.db") as served:
        assert refused(served, good()) == (503, UNAVAILABLE)
        assert refused(served, "a.b.c") == (401, INVALID)
        assert served.client.get("/v2/objects").status_code == 200
        with httpx.Client(base_url=served.client.base_url, trust_env=False) as stranger:
            assert stranger.post("/v2/check", json={}).status_code == 401


@contextmanager
def trusting_services(keys: str, database_url: str) -> Iterator[Served]:
    settings = {"jwt_issuer": ISSUER, "jwt_audience": AUDIENCE, "jwt_scopes_claim": "scope"}
    with serving(database_url, jwt_keys=keys, **settings) as served:
        yield served


@pytest.fixture(scope="module", params=STORES)
def services(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service that knows scopes in the claim `scope`."""
    url = new_database_url(request.param, tmp_path_factory.mktemp("services"), request)
    with jwks_server(*KEYS) as provider, trusting_services(provider.url, url) as served:
        yield served


def send(served: Served, bearer: str, method: str, path: str, body: object = None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {bearer}"}
    return served.client.request(method, path, json=body, headers=headers)


@pytest.mark.parametrize(
    "scope", ["openid magistrate:check magistrate:read", ["magistrate:read", "magistrate:check", 5, "magistrate:later"]]
)
def test_a_service_may_do_what_the_scopes_in_its_token_say(services: Served, scope: object) -> None:
    bearer = good(sub="billing", scope=scope)
    body = {"warrants": [warrant_body("report:a#viewer@user:ann")], "debug": True}

    assert send(services, bearer, "GET", "/v2/objects").status_code == 200
    assert send(services, bearer, "POST", "/v2/check", body).json()["decisionPath"]
    refused = send(services, bearer, "POST", "/v2/objects", {"objectType": "d"})
    message = "this request needs the scope write, which service:billing does not have"
    assert (refused.status_code, refused.json()["message"]) == (403, message)


def test_admin_in_a_token_means_everything(services: Served) -> None:
    bearer = good(sub="boss", scope="magistrate:admin")

    assert send(services, bearer, "POST", "/v2/objects", {"objectType": "d"}).status_code == 200
    assert send(services, bearer, "GET", "/metrics").status_code == 200


@pytest.mark.parametrize(
    "scope", [None, "", "admin read", "magistrate:", "magistrate:none", 5, {"magistrate:admin": 1}]
)
def test_a_token_without_scopes_is_that_of_a_user(services: Served, scope: object) -> None:
    bearer = good(scope=scope)

    assert services.ask(bearer, "report:a#viewer").json() == ALLOWED
    for method, path in (("GET", "/v2/objects"), ("POST", "/v2/sessions"), ("GET", "/metrics")):
        refused = send(services, bearer, method, path, {})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


def test_a_session_is_good_for_checks_alone_where_services_have_tokens(services: Served) -> None:
    assert services.ask(services.session(), "report:a#viewer").json() == ALLOWED
    assert send(services, services.session(), "POST", "/v2/sessions", {}).status_code == 403


def test_a_token_that_is_not_good_is_refused_on_every_route(services: Served) -> None:
    for bearer in (token(OTHER_RSA, "rsa", scope="magistrate:admin"), good(iss="x", scope="magistrate:admin")):
        refused = send(services, bearer, "GET", "/v2/objects")
        assert (refused.status_code, refused.json()) == (401, INVALID)
    late = good(exp=seconds_from_now(-60), scope="magistrate:admin")
    assert send(services, late, "GET", "/v2/objects").json() == EXPIRED


def test_a_service_follows_a_watch_until_its_token_expires(services: Served) -> None:
    soon = good(exp=seconds_from_now(2 - LEEWAY_SECONDS), scope="magistrate:events")
    late = good(scope="magistrate:events")
    follow = partial(watching, services.client, scheme="Bearer")
    with follow(key=late) as followed, follow(key=soon) as ended:
        assert ended.read_all()[-1]["reason"] == "key_ended"
        services.client.post("/v2/objects", json={"objectType": "d"}).raise_for_status()
        assert followed.take(1)[0]["objects"].keys() == {"created"}


def test_scopes_count_for_nothing_unless_their_claim_is_configured(served: Served) -> None:
    bearer = good(scope="magistrate:admin")

    assert served.ask(bearer, "report:a#viewer").json() == ALLOWED
    assert send(served, bearer, "GET", "/v2/objects").status_code == 401
