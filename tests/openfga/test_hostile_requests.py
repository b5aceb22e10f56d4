"""Whatever a member of a request is, the answer is of OpenFGA's API, and never a fault of the service."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.openfga.conversation import MODEL, OpenFga
from tests.openfga.requests import key, write
from tests.running import Client

Path = tuple[str | int, ...]
CHECKED = key("file:a viewer user:ann")
CONTEXTUAL = {"tuple_keys": [key("file:a owner user:bob")]}
COMMON = {"contextual_tuples": CONTEXTUAL, "context": {"a": 1}, "consistency": "MINIMIZE_LATENCY"}
BODIES: dict[str, dict[str, Any]] = {
    "check": {"tuple_key": CHECKED, **COMMON, "authorization_model_id": "", "trace": True},
    "batch-check": {"checks": [{"tuple_key": CHECKED, "correlation_id": "a", **COMMON}], "authorization_model_id": ""},
    "expand": {"tuple_key": {"object": "file:a", "relation": "viewer"}, **COMMON, "authorization_model_id": ""},
    "list-objects": {"type": "file", "relation": "viewer", "user": "user:ann", **COMMON, "authorization_model_id": ""},
    "streamed-list-objects": {"type": "file", "relation": "viewer", "user": "user:ann", **COMMON},
    "list-users": {
        "object": {"type": "file", "id": "a"},
        "relation": "viewer",
        "user_filters": [{"type": "team", "relation": "member"}],
        "contextual_tuples": [key("file:a owner user:bob")],
        "context": {"a": 1},
        "authorization_model_id": "",
    },
    "read": {"tuple_key": CHECKED, "page_size": 10, "continuation_token": "", "consistency": 200},
    "write": {
        "writes": {"tuple_keys": [key("file:a viewer user:new") | {"condition": None}], "on_duplicate": "ignore"},
        "deletes": {"tuple_keys": [key("file:a viewer user:old")], "on_missing": "ignore"},
        "authorization_model_id": "",
    },
    "assertions": {
        "assertions": [{"tuple_key": CHECKED, "expectation": True, "contextual_tuples": [CHECKED], "context": {"a": 1}}]
    },
    "authorization-models": MODEL,
}

DEEP: Any = []
for _ in range(200):
    DEEP = [DEEP]
HOSTILE: dict[str, Any] = {
    "true": True,
    "a number": 7,
    "a negative number": -1,
    "a large number": 1e300,
    "a fraction": 0.5,
    "no text": "",
    "a blank": " ",
    "a long text": "x" * 20_000,
    "NUL": "user:a\u0000b",
    "half a pair": "user:\ud800",
    "other letters": "user:😀é\u202e",
    "signs": "a:b#c#d@e*",
    "an array": [],
    "an object": {},
    "an array with null": [None],
    "an object with itself": {"tuple_keys": {"tuple_keys": [{}]}},
    "deep arrays": DEEP,
}
STATUSES = {200, 201, 204, 400}


def list_paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yields where the members and the elements of a body are."""
    steps: Iterator[tuple[str | int, Any]] = iter(())
    if isinstance(value, dict):
        steps = iter(value.items())
    elif isinstance(value, list):
        steps = iter(enumerate(value))
    for step, inner in steps:
        yield (*path, step)
        yield from list_paths(inner, (*path, step))


def put(body: Any, path: Path, value: Any) -> Any:
    changed = copy.deepcopy(body)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return changed


@pytest.fixture(scope="module")
def filled(shared_client: Client) -> OpenFga:
    openfga = OpenFga.create(shared_client)
    openfga.write_model()
    write(openfga, "file:a viewer user:ann", "file:a viewer team:core#member", "file:a viewer user:old")
    return openfga


@pytest.mark.parametrize("name", BODIES)
def test_every_member_is_read_with_care(filled: OpenFga, name: str) -> None:
    path = f"/stores/{filled.store_id}/{name}"
    method = "POST"
    if name == "assertions":
        path, method = f"{path}/{filled.model_id}", "PUT"
    seen: set[int] = set()
    for place in list_paths(BODIES[name]):
        for hostile, value in HOSTILE.items():
            content = json.dumps(put(BODIES[name], place, value))
            answer = filled.client.request(method, path, content=content)
            assert answer.status_code in STATUSES, (place, hostile, answer.text)
            if answer.status_code == 400:
                assert answer.json().keys() == {"code", "message"}, (place, hostile)
            seen.add(answer.status_code)
    assert 400 in seen
    if name == "authorization-models":
        filled.write_model()
    assert filled.post("check", {"tuple_key": CHECKED}).json()["allowed"]


PARAMETERS = {
    "changes": ("type", "start_time", "page_size", "continuation_token"),
    "authorization-models": ("page_size", "continuation_token"),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_is_read_with_care(filled: OpenFga, name: str) -> None:
    for parameter in PARAMETERS[name]:
        for value in (
            "",
            " ",
            "-1",
            "1e9",
            "NaN",
            "0x10",
            "x" * 5_000,
            "a\u0000b",
            "é",
            "[]",
            "9" * 400,
            "====",
            "AAAA",
        ):
            answer = filled.get(name, **{parameter: value})
            assert answer.status_code in (200, 400), (parameter, value, answer.text)
            if answer.status_code == 400:
                assert answer.json().keys() == {"code", "message"}


@pytest.mark.parametrize(
    "body", ["", "null", "[]", '"a"', "7", "{", '{"a":1', "\ufeff{}", '{"tuple_key":{},"tuple_key":{}}']
)
@pytest.mark.parametrize("name", [name for name in BODIES if name != "assertions"])
def test_what_is_no_body_is_refused(filled: OpenFga, name: str, body: str) -> None:
    refused = filled.client.post(f"/stores/{filled.store_id}/{name}", content=body.encode())
    assert refused.status_code == 400, refused.text
    assert refused.json().keys() == {"code", "message"}
