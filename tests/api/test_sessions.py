"""Sessions, and checks with their tokens (docs/compatibility.md#sessions)."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest

from magistrate.engine.names import Revision
from magistrate.operations.consistency import write_token
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.stored_rows import Identity
from tests.api.check_answers import ALLOWED, DENIED
from tests.conftest import STORES, new_database_url
from tests.ids import id_message
from tests.scenario_files import warrant_body
from tests.sessions import EXPIRED, INVALID, Served, decoded, encoded, seconds_from_now, serving, unsigned, unsubjected

MAX_TTL = 604_800
PREFIX = "Invalid authorization header: authorization header prefix must be one of: "
FORMAT = {"code": "unauthorized", "message": "Invalid authorization header: invalid format"}


@pytest.fixture(scope="module", params=STORES)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    url = new_database_url(request.param, tmp_path_factory.mktemp("sessions"), request)
    with serving(url) as served:
        yield served


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_session_answers_a_token_and_the_revision_like_everything_else(served: Served, version: str) -> None:
    begun = served.client.post(f"/{version}/sessions", json={"type": "sess", "userId": "ann"})
    read = served.client.get("/v2/objects")

    assert begun.status_code == 200
    assert list(begun.json()) == ["token"]
    assert begun.headers["warrant-token"] == begun.headers["service-token"] == read.headers["service-token"]
    assert served.ask(begun.json()["token"], "report:a#viewer").json() == ALLOWED


def test_a_session_takes_the_headers_of_reads(served: Served) -> None:
    body = {"type": "sess", "userId": "ann"}
    known = served.client.post("/v2/objects", json={"objectType": "d"}).headers["service-token"]
    future = write_token(Identity(served.store_id(), ""), RevisionId(Revision(1_000_000), None))

    assert served.client.post("/v2/sessions", json=body, headers={"Service-Token": known}).status_code == 200
    assert served.client.post("/v2/sessions", json=body, headers={"Service-Token": future}).status_code == 409


@pytest.mark.parametrize("path", ["/v2/check", "/v2/authorize"])
def test_the_subject_is_the_user_of_the_token(served: Served, path: str) -> None:
    ann, bob = served.session(), served.session(userId="bob")

    assert served.ask(ann, "report:a#viewer", path=path).json() == ALLOWED
    assert served.ask(bob, "report:a#viewer", path=path).json() == DENIED
    assert served.ask(bob, "report:d#viewer", path=path).json() == ALLOWED


def test_all_operators_take_a_token(served: Served) -> None:
    token = served.session()

    def code(op: str) -> Any:
        return served.ask(token, "report:a#viewer", "report:d#viewer", op=op).json()

    assert code("anyOf") == ALLOWED
    assert code("allOf") == DENIED
    assert code("batch") == [ALLOWED, DENIED]


@pytest.mark.parametrize("subject", [None, {"objectType": "user", "objectId": "ann"}, {"relation": ""}])
def test_the_user_itself_may_be_named(served: Served, subject: dict[str, Any] | None) -> None:
    named = subject if subject is None else {"objectType": "user", "objectId": "ann", **subject}
    asked = unsubjected("report:a#viewer") | {"subject": named}

    assert served.check(served.session(), {"warrants": [asked]}).json() == ALLOWED


@pytest.mark.parametrize(
    "asked", ["report:d#viewer@user:bob", "report:a#viewer@user:*", "report:a#viewer@role:ann", "report:a#x@user:ann#y"]
)
def test_nobody_else_may_be_named(served: Served, asked: str) -> None:
    refused = served.check(
        served.session(),
        {"warrants": [warrant_body("report:a#viewer@user:ann"), warrant_body(asked)]} | {"op": "anyOf"},
    )

    assert refused.status_code == 403
    assert refused.json() == {
        "code": "forbidden",
        "message": "a bearer token can only check its own user",
    }


def test_a_subject_that_is_none_is_a_bad_request(served: Served) -> None:
    refused = served.check(served.session(), {"warrants": [unsubjected("report:a#viewer") | {"subject": {}}]})

    assert (refused.status_code, refused.json()["parameter"]) == (400, "objectType")


def test_with_a_key_a_subject_is_needed(served: Served) -> None:
    refused = served.client.post("/v2/check", json={"warrants": [unsubjected("report:a#viewer")]})

    assert (refused.status_code, refused.json()["parameter"]) == (400, "subject")


def test_the_tenant_of_the_token_is_read_by_policies(served: Served) -> None:
    acme, other = served.session(tenantId="acme"), served.session(tenantId="other")

    assert served.ask(acme, "report:b#viewer").json() == ALLOWED
    assert served.ask(other, "report:b#viewer").json() == DENIED


def test_what_the_token_says_wins_over_what_the_caller_says(served: Served) -> None:
    token = served.session(tenantId="other", context={"amount": 100})
    asked = unsubjected("report:c#viewer") | {"context": {"tenant": "acme", "amount": 1}}
    session = served.session(tenantId="acme", context={"amount": 1, "tenant": "other"})

    assert served.check(token, {"warrants": [asked], "context": {"tenant": "acme", "amount": 1}}).json() == DENIED
    assert served.ask(session, "report:c#viewer", context={"amount": 100}).json() == ALLOWED


def test_only_the_token_can_say_which_tenant_it_is(served: Served) -> None:
    asked = unsubjected("report:b#viewer") | {"context": {"tenant": "acme"}}

    assert served.check(served.session(), {"warrants": [asked], "context": {"tenant": "acme"}}).json() == DENIED
    assert served.check(served.session(context={"tenant": "acme"}), {"warrants": [asked]}).json() == ALLOWED


def test_what_the_caller_says_besides_counts(served: Served) -> None:
    token = served.session(tenantId="acme")
    own = unsubjected("report:c#viewer") | {"context": {"amount": 1}}

    assert served.check(token, {"warrants": [own]}).json() == ALLOWED
    assert served.ask(token, "report:c#viewer", context={"amount": 1}).json() == ALLOWED
    assert served.check(token, {"warrants": [own], "context": {"amount": 100}}).json() == ALLOWED
    assert served.ask(token, "report:c#viewer", context={"amount": 100}).json() == DENIED


@pytest.mark.parametrize(("checks", "status"), [(100, 200), (101, 400)])
def test_a_token_may_send_a_hundred_checks_at_once(served: Served, checks: int, status: int) -> None:
    asked = served.ask(served.session(), *["report:a#viewer"] * checks, op="batch")

    assert asked.status_code == status
    if status == 400:
        assert asked.json() == {
            "code": "invalid_parameter",
            "message": "must be less than 101",
            "parameter": "warrants",
        }


def test_debug_shows_nothing_to_a_token(served: Served) -> None:
    assert served.ask(served.session(), "report:a#viewer", debug=True).json() == ALLOWED


def test_a_check_with_a_token_is_as_fresh_as_is_demanded(served: Served) -> None:
    token = served.session(userId="zoe")
    assert served.ask(token, "report:z#viewer").json() == DENIED
    granted = served.client.post("/v2/warrants", json=warrant_body("report:z#viewer@user:zoe"))

    headers = {"Authorization": f"Bearer {token}", "Service-Token": granted.headers["service-token"]}
    asked = served.client.post("/v2/check", json={"warrants": [unsubjected("report:z#viewer")]}, headers=headers)

    assert asked.json() == ALLOWED
    assert asked.headers["service-token"] == granted.headers["service-token"]


NAME_MESSAGE = "can only contain lower-case alphanumeric characters and/or '-' and '_'"
DASHBOARD = {"type": "ssdash", "tenantId": "acme", "selfServiceStrategy": "fgac"}


@pytest.mark.parametrize(
    ("members", "parameter", "message"),
    [
        ({"type": "else"}, "type", "must be either sess or ssdash"),
        ({"type": 1}, "type", "must be a string"),
        ({"userId": "*"}, "userId", id_message("*", 1)),
        ({"userId": "x" * 1025}, "userId", "must be at most 1024 characters long"),
        ({"tenantId": "a b"}, "tenantId", id_message(" ", 2)),
        ({"ttl": -1}, "ttl", "must be greater than or equal to 1"),
        ({"ttl": MAX_TTL + 1}, "ttl", "must be less than 604801"),
        ({"ttl": "60"}, "ttl", "must be a number"),
        ({"ttl": True}, "ttl", "must be a number"),
        ({"context": []}, "context", "must be an object"),
        ({"context": {"a": "x" * 4_089}}, "context", "must be at most 4096 bytes of JSON"),
        (DASHBOARD | {"selfServiceStrategy": "x"}, "selfServiceStrategy", "must be either rbac or fgac"),
        (DASHBOARD | {"objectType": "A"}, "objectType", NAME_MESSAGE),
        (DASHBOARD | {"objectId": "*"}, "objectId", id_message("*", 1)),
    ],
)
def test_a_session_that_cannot_be_is_refused(
    served: Served, members: dict[str, Any], parameter: str, message: str
) -> None:
    refused = served.client.post("/v2/sessions", json={"type": "sess", "userId": "ann"} | members)

    assert refused.status_code == 400
    assert refused.json() == {"code": "invalid_parameter", "message": message, "parameter": parameter}


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ({}, "type"),
        ({"type": "", "userId": "ann"}, "type"),
        ({"type": None, "userId": "ann"}, "type"),
        ({"type": "sess"}, "userId"),
        ({"type": "sess", "userId": ""}, "userId"),
        (DASHBOARD, "userId"),
        ({"type": "ssdash", "userId": "ann"}, "tenantId"),
        ({"type": "ssdash", "userId": "ann", "tenantId": "a"}, "selfServiceStrategy"),
    ],
)
def test_what_a_session_needs_is_demanded(served: Served, body: dict[str, Any], parameter: str) -> None:
    refused = served.client.post("/v2/sessions", json=body)

    assert refused.status_code == 400
    message = f"Missing required parameter {parameter}"
    assert refused.json() == {"code": "missing_required_parameter", "message": message, "parameter": parameter}


@pytest.mark.parametrize(
    ("given", "seconds"),
    [({}, 86_400), ({"ttl": 0}, 86_400), ({"ttl": 1}, 1), ({"ttl": MAX_TTL}, MAX_TTL), ({"ttl": None}, 86_400)],
)
def test_a_token_is_good_for_as_long_as_is_said(served: Served, given: dict[str, Any], seconds: int) -> None:
    before = time.time()

    claims = jwt.decode(served.session(**given), options={"verify_signature": False})

    assert before + seconds <= claims["exp"] < time.time() + seconds + 1


def test_the_largest_session_fits_into_a_header_and_is_good(served: Served) -> None:
    token = served.session(userId="u" * 255, tenantId="t" * 255, context={"a": "é" * 2_044})

    assert len(token) < 7_000
    assert served.ask(token, "report:a#viewer").json() == DENIED


def test_a_token_expires(served: Served) -> None:
    token = served.session(ttl=2)
    expires_at = jwt.decode(token, options={"verify_signature": False})["exp"]

    while (asked_at := time.time()) < expires_at:
        answer = served.ask(token, "report:a#viewer")
        # On a busy machine the token may expire between being sent and being read.
        assert answer.json() == ALLOWED or time.time() >= expires_at
        time.sleep(0.1)

    expired = served.ask(token, "report:a#viewer")
    assert asked_at >= expires_at
    assert (expired.status_code, expired.json()) == (401, EXPIRED)


def test_a_token_that_is_over_is_refused_as_such_only_if_it_was_ours(served: Served) -> None:
    ours = served.ask(served.forged(exp=seconds_from_now(-1)), "report:a#viewer")
    not_ours = served.ask(served.forged(secret="x" * 64, exp=seconds_from_now(-1)), "report:a#viewer")

    assert (ours.status_code, ours.json()) == (401, EXPIRED)
    assert (not_ours.status_code, not_ours.json()) == (401, INVALID)


def test_a_token_signed_like_ours_is_good(served: Served) -> None:
    """The base of the next test: nothing but what it changes makes those tokens bad."""
    assert served.ask(served.forged(), "report:a#viewer").json() == ALLOWED


@pytest.mark.parametrize(
    "changed",
    [
        {"exp": None},
        {"exp": "never"},
        {"aud": None},
        {"aud": "ssdash"},
        {"aud": ["other"]},
        {"iss": None},
        {"iss": "0" * 16},
        {"nbf": seconds_from_now(86_400)},
        {"secret": "x" * 64},
        {"algorithm": "HS384"},
        {"algorithm": "none", "secret": ""},
    ],
)
def test_a_token_with_something_wrong_is_invalid(served: Served, changed: dict[str, Any]) -> None:
    refused = served.ask(served.forged(**changed), "report:a#viewer")

    assert (refused.status_code, refused.json()) == (401, INVALID)


def test_a_token_for_a_dashboard_is_no_good_for_checks(served: Served) -> None:
    members = {"tenantId": "acme", "selfServiceStrategy": "fgac", "objectType": "report", "objectId": "a"}
    token = served.session(type="ssdash", **members)

    refused = served.ask(token, "report:a#viewer")

    assert (refused.status_code, refused.json()) == (401, INVALID)
    claims = jwt.decode(token, options={"verify_signature": False})
    assert {name: claims[name] for name in ("sub", "tenant", "selfServiceStrategy", "objectType", "objectId")} == {
        "sub": "ann",
        "tenant": "acme",
        "selfServiceStrategy": "fgac",
        "objectType": "report",
        "objectId": "a",
    }


CLAIMS = {"sub": "ann", "aud": "sess", "iss": "x", "exp": seconds_from_now(86_400)}
NOT_SIGNED = {
    "no base64": "!.!.!",
    "not ASCII": "é.é.é",
    "no JSON": "YWJj.YWJj.YWJj",
    "an array": unsigned([], CLAIMS, "YWJj"),  # type: ignore[arg-type]  # a bad one
    "deep nesting": encoded(b'{"x":' + b"[" * 11_000) + ".YWJj.YWJj",
    "alg none": unsigned({"alg": "none"}, CLAIMS),
    "alg NONE": unsigned({"alg": "NONE"}, CLAIMS),
    "no alg": unsigned({}, CLAIMS),
    "alg a number": unsigned({"alg": 5}, CLAIMS, "YWJj"),
    "alg a list": unsigned({"alg": ["HS256"]}, CLAIMS, "YWJj"),
    "no key id": unsigned({"alg": "HS256"}, CLAIMS, "YWJj"),
    "key id a number": unsigned({"alg": "HS256", "kid": 5}, CLAIMS, "YWJj"),
    "an unknown key": unsigned({"alg": "HS256", "kid": "0" * 16}, CLAIMS, "YWJj"),
    "a strange key id": unsigned({"alg": "HS256", "kid": "' OR true --"}, CLAIMS, "YWJj"),
    "an algorithm of providers": unsigned({"alg": "RS256", "kid": "x"}, CLAIMS, "YWJj"),
}  # fmt: skip


@pytest.mark.parametrize("token", [pytest.param(token, id=name) for name, token in NOT_SIGNED.items()])
def test_what_nobody_signed_is_invalid(served: Served, token: str) -> None:
    headers = {b"Authorization": f"Bearer {token}".encode()}

    refused = served.client.post("/v2/check", json={"warrants": [unsubjected("report:a#viewer")]}, headers=headers)

    assert (refused.status_code, refused.json()) == (401, INVALID)


def test_a_token_that_is_too_long_is_invalid(served: Served) -> None:
    lengths = (9_000, 13_000)  # of a claim, in base64 a third more

    answers = [served.ask(served.forged(further="x" * length), "report:a#viewer") for length in lengths]

    assert [answer.json() for answer in answers] == [ALLOWED, INVALID]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_token_that_was_changed_is_invalid(served: Served, place: int) -> None:
    parts = served.session().split(".")
    parts[place] = parts[place][:10] + ("A" if parts[place][10] != "A" else "B") + parts[place][11:]

    refused = served.ask(".".join(parts), "report:a#viewer")

    assert (refused.status_code, refused.json()) == (401, INVALID)


def test_a_token_of_another_store_is_invalid(served: Served, tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/other.db") as other:
        refused = served.ask(other.session(), "report:a#viewer")

    assert (refused.status_code, refused.json()) == (401, INVALID)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v2/objects"),
        ("POST", "/v2/warrants"),
        ("GET", "/v2/query"),
        ("POST", "/v2/sessions"),
        ("POST", "/v1/sessions"),
        ("GET", "/metrics"),
    ],
)
def test_a_token_is_good_for_nothing_but_checks(served: Served, method: str, path: str) -> None:
    refused = served.client.request(method, path, headers={"Authorization": f"Bearer {served.session()}"})

    assert refused.status_code == 401
    assert refused.json() == {"code": "unauthorized", "message": PREFIX + "ApiKey"}


@pytest.mark.parametrize("path", ["/v2/check", "/v2/authorize"])
@pytest.mark.parametrize(
    ("header", "body"),
    [
        ("Basic dGVzdA==", {"code": "unauthorized", "message": PREFIX + "ApiKey, Bearer"}),
        ("bearer a.b.c", INVALID),
        ("ApiKey wrong", {"code": "unauthorized", "message": "Invalid API key"}),
        ("Bearer", FORMAT),
        ("Bearer a.b.c d", FORMAT),
        ("Bearer  a.b.c", INVALID),
        ("", FORMAT),
        ("Bearer token", INVALID),
        ("Bearer a.b", INVALID),
        ("Bearer a.b.c", INVALID),
    ],
)
def test_a_check_says_what_it_takes(served: Served, path: str, header: str, body: dict[str, str]) -> None:
    refused = served.client.post(path, json={"warrants": []}, headers={"Authorization": header})

    assert (refused.status_code, refused.json()) == (401, body)


def test_the_token_comes_before_the_body(served: Served) -> None:
    headers = {"Authorization": "Bearer a.b.c"}

    assert served.client.post("/v2/check", content=b"{no json", headers=headers).json() == INVALID


def test_a_token_is_good_at_every_service_on_the_database(served: Served) -> None:
    with serving(served.database_url) as other:
        assert other.ask(served.session(), "report:a#viewer").json() == ALLOWED
        assert served.ask(other.session(), "report:a#viewer").json() == ALLOWED
        assert served.signing_key() == other.signing_key()


def test_the_secret_is_in_no_answer(served: Served) -> None:
    token = served.session()
    _, secret = served.signing_key()

    assert all(secret not in part for part in map(decoded, token.split(".")[:2]))
    assert all(secret not in served.client.get(path).text for path in ("/metrics", "/openapi.json", "/v2/objects"))
