"""Strict reads: a name that the model does not define is an error (docs/compatibility.md#strict-reads)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.running import Client, running_service, settings_for

PAGE: dict[str, Any] = {"can-edit": {}, "reader": {}}
MODEL: dict[str, Any] = {"user": {}, "team": {"member": {}}, "page": PAGE, "book": {"owner": {}}}
NO_RELATION = "relation can-edt is not defined on page; did you mean can-edit?"
NO_USER = "object type usr is not defined; did you mean user?"
NO_FILTER = "is no parameter of {}; did you mean objectType?"


@pytest.fixture
def defined(client: Client) -> Client:
    client.define(MODEL)
    client.grant("page:home#reader@user:ann")
    return client


def check(client: Client, *written: str, **members: Any) -> tuple[int, Any, Any]:
    """Returns the status, the code or result, and the parameter and message of an error."""
    warrants = []
    for text in written:
        ref, _, subject = text.partition("@")
        object_name, _, relation = ref.partition("#")
        name, _, group = subject.partition("#")
        warrants.append(
            {
                "objectType": object_name.split(":")[0], "objectId": object_name.split(":")[1], "relation": relation,
                "subject": {
                    "objectType": name.split(":")[0], "objectId": name.split(":")[1],
                    **({"relation": group} if group else {}),
                },
            }
        )  # fmt: skip
    answer = client.post("/v2/check", json={"warrants": warrants, **members})
    body = answer.json()
    if answer.status_code == 200:
        return 200, body["result"] if isinstance(body, dict) else [one["result"] for one in body], None
    return answer.status_code, body["code"], (body["parameter"], body["message"])


@pytest.mark.parametrize(
    ("written", "parameter", "message"),
    [
        ("page:home#can-edt@user:ann", "relation", NO_RELATION),
        ("page:home#reader@usr:ann", "objectType", NO_USER),
        ("page:home#reader@team:eng#membr", "relation", "relation membr is not defined on team; did you mean member?"),
        ("page:home#xyz@user:ann", "relation", "relation xyz is not defined on page"),
    ],
)
def test_a_strict_check_refuses_undefined_names(defined: Client, written: str, parameter: str, message: str) -> None:
    refused = (400, "invalid_parameter", (parameter, message))

    assert check(defined, written) == (200, "Not Authorized", None)
    assert check(defined, written, strict=False) == (200, "Not Authorized", None)
    for _ in range(2):  # the second time from the graph cache
        assert check(defined, written, strict=True) == refused
    assert check(defined, "page:home#reader@user:ann", written, op="batch", strict=True) == refused
    assert check(defined, "page:home#reader@user:ann", written, op="allOf", strict=True) == refused


def test_a_strict_check_of_defined_names_is_as_any_other(defined: Client) -> None:
    written = ("page:home#reader@user:ann", "page:home#can-edit@user:ann", "page:home#reader@team:eng#member")

    results = ["Authorized", "Not Authorized", "Not Authorized"]
    assert check(defined, *written, op="batch", strict=True) == (200, results, None)
    assert check(defined, written[0], "page:home#can-edt@user:ann", op="anyOf", strict=True) == (
        200,
        "Authorized",
        None,
    )


def test_the_error_for_a_type_of_subjects_names_what_is_allowed(defined: Client) -> None:
    limited = {"owner": ["user", "team#member"], "auditor": ["team"], "can-file": []}
    ledger = {"type": "ledger", "relations": {relation: {} for relation in limited}, "allowedTypes": limited}
    defined.post("/v2/object-types", json=ledger).raise_for_status()
    allowed = "; ledger#owner allows user, team#member"

    _, _, told = check(defined, "ledger:a#owner@usr:ann", strict=True)
    messages = [
        defined.get(f"/v2/query?q={q}&strict=true").json()["message"]
        for q in (
            "select ledger where usr:ann is owner",
            "select ledger where usr:ann is owner,auditor,can-file",
            "select * where usr:ann is owner",
            "select page where usr:ann is reader",
        )
    ]

    assert told[1] == NO_USER + allowed
    assert messages == [
        NO_USER + allowed,
        NO_USER + allowed + "; ledger#auditor allows team",
        NO_USER + allowed,
        NO_USER,
    ]


def test_a_strict_check_sees_a_type_that_was_just_changed(defined: Client) -> None:
    assert check(defined, "page:home#owner@user:ann", strict=True)[0] == 400

    defined.define({**MODEL, "page": {"owner": {}}})

    assert check(defined, "page:home#owner@user:ann", strict=True) == (200, "Not Authorized", None)
    assert check(defined, "page:home#can-edit@user:ann", strict=True)[0] == 400


@pytest.mark.parametrize(
    ("path", "parameter", "message"),
    [
        ("/v2/objects?objectType=pag", "objectType", "object type pag is not defined; did you mean page?"),
        ("/v2/objects?objctType=page", "objctType", NO_FILTER.format("/v2/objects")),
        ("/v2/object-types?x=1", "x", "is no parameter of /v2/object-types"),
        ("/v2/warrants?objectType=pag", "objectType", "object type pag is not defined; did you mean page?"),
        ("/v2/warrants?objectType=page&relation=can-edt", "relation", NO_RELATION),
        (
            "/v2/warrants?relation=can-edt",
            "relation",
            "relation can-edt is not defined on any object type; did you mean can-edit?",
        ),
        ("/v2/warrants?subjectType=usr", "subjectType", NO_USER),
        (
            "/v2/warrants?subjectType=team&subjectRelation=membr",
            "subjectRelation",
            "relation membr is not defined on team; did you mean member?",
        ),
        ("/v2/query?q=select page where user:ann is can-edt", "q", NO_RELATION),
        ("/v2/query?q=select * where user:ann is xyz", "q", "relation xyz is not defined on any object type"),
        ("/v2/query?q=select page,book where user:ann is xyz", "q", "relation xyz is not defined on page or book"),
        ("/v2/query?q=select can-edt of type user for page:home", "q", NO_RELATION),
        ("/v2/query?q=select page where usr:ann is reader", "q", NO_USER),
        (
            "/v2/access-events?objctType=page",
            "objctType",
            NO_FILTER.format("/v2/access-events"),
        ),
    ],
)
def test_a_strict_list_refuses_undefined_names(defined: Client, path: str, parameter: str, message: str) -> None:
    assert defined.get(path).json()["results"] is not None

    refused = defined.get(path + "&strict=true")

    assert (refused.status_code, refused.json()) == (
        400,
        {"code": "invalid_parameter", "parameter": parameter, "message": message},
    )


@pytest.mark.parametrize(
    ("path", "parameter", "message"),
    [
        ("/v1/objects?objectType=pag", "objectType", "object type pag is not defined; did you mean page?"),
        ("/v1/objects?objctType=page", "objctType", NO_FILTER.format("/v1/objects")),
        ("/v1/warrants?objectType=page&relation=can-edt", "relation", NO_RELATION),
        ("/v1/query?q=select page where user:ann is can-edt", "q", NO_RELATION),
        ("/v1/users?x=1", "x", "is no parameter of /v1/users"),
    ],
)
def test_a_strict_list_of_v1_refuses_undefined_names(defined: Client, path: str, parameter: str, message: str) -> None:
    assert defined.get(path).status_code == 200

    refused = defined.get(path + "&strict=true")

    assert (refused.status_code, refused.json()) == (
        400,
        {"code": "invalid_parameter", "parameter": parameter, "message": message},
    )


def test_a_strict_list_of_defined_names_is_as_any_other(defined: Client) -> None:
    for path in (
        "/v2/objects?objectType=page",
        "/v2/warrants?objectType=page&relation=reader&subjectType=user",
        "/v2/query?q=select page,book where user:ann is reader",
        "/v2/query?q=select * of type * for page:home",
    ):
        assert defined.get(path + "&strict=true").json() == defined.get(path).json()


@pytest.mark.parametrize("text", ["yes", "1", "TRUE", "true ", "true,false", "%00", "null"])
def test_strict_is_true_or_false(defined: Client, text: str) -> None:
    refused = defined.get(f"/v2/objects?strict={text}")

    assert (refused.status_code, refused.json()["parameter"]) == (400, "strict")
    assert refused.json()["message"] == "must be true or false"


CHECK = {
    "objectType": "page",
    "objectId": "home",
    "relation": "can-edt",
    "subject": {"objectType": "user", "objectId": "ann"},
}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v2/check", {"warrants": [CHECK]}),
        ("/v2/explain", CHECK),
        ("/v2/query", {"q": "select page where user:ann is can-edt"}),
    ],
)
def test_the_member_strict_is_a_boolean(defined: Client, path: str, body: dict[str, Any]) -> None:
    for value in ("true", 1, [True], {"strict": True}):
        refused = defined.post(path, json=body | {"strict": value})
        assert (refused.status_code, refused.json()["parameter"]) == (400, "strict")
        assert refused.json()["message"] == "must be true or false"

    assert defined.post(path, json=body | {"strict": None}).status_code == 200
    assert defined.post(path, json=body | {"strict": True}).json()["message"] == NO_RELATION


@pytest.fixture
def strict_client(tmp_path: Path) -> Iterator[Client]:
    with running_service(settings_for(f"sqlite:///{tmp_path}/m.db", strict=True)) as url, Client(url) as client:
        client.define(MODEL)
        client.grant("page:home#reader@user:ann")
        yield client


def test_the_setting_is_the_default_of_reads(strict_client: Client) -> None:
    assert check(strict_client, "page:home#can-edt@user:ann")[0] == 400
    assert check(strict_client, "page:home#can-edt@user:ann", strict=False) == (200, "Not Authorized", None)
    assert strict_client.get("/v2/objects?objectType=pag").status_code == 400
    assert strict_client.get("/v2/objects?objectType=pag&strict=false").json() == {"results": []}
    assert strict_client.post("/v2/objects?x=1", json={"objectType": "page"}).status_code == 200
