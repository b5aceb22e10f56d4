"""Changes of OpenFGA's API (docs/openfga.md#changes)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.openfga.conversation import OpenFga, define, model, this
from tests.openfga.requests import delete, key, write

TYPES = model(
    define("user"),
    define("team", member=(this(), ["user"])),
    define("file", **{"can.view": (this(), ["user", "user:*", "team#member"])}),
    define("Datei", viewer=(this(), ["user"])),
)


def list_changes(openfga: OpenFga, **parameters: Any) -> tuple[list[str], str]:
    """Returns what was written (+) and deleted (-), and the token."""
    answer = openfga.get("changes", **parameters)
    assert answer.status_code == 200, answer.text
    signs = {"TUPLE_OPERATION_WRITE": "+", "TUPLE_OPERATION_DELETE": "-"}
    rows = []
    for change in answer.json()["changes"]:
        named = change["tuple_key"]
        assert named["condition"] is None
        assert change["timestamp"].endswith("Z")
        rows.append(f"{signs[change['operation']]}{named['object']} {named['relation']} {named['user']}")
    return rows, answer.json()["continuation_token"]


def exchange(openfga: OpenFga, written: str, deleted: str) -> None:
    body = {"writes": {"tuple_keys": [key(written)]}, "deletes": {"tuple_keys": [key(deleted)]}}
    assert openfga.post("write", body).status_code == 200


@pytest.fixture
def written(openfga: OpenFga) -> OpenFga:
    openfga.write_model(TYPES)
    write(openfga, "file:a can.view user:ann", "Datei:Ü* viewer user:bob")
    write(openfga, "file:a can.view team:core#member")
    exchange(openfga, "file:b can.view user:*", "file:a can.view user:ann")
    write(openfga, "file:b can.view user:*", on_duplicate="ignore")
    delete(openfga, "file:z can.view user:*", on_missing="ignore")
    return openfga


CHANGES = [
    "+file:a can.view user:ann",
    "+Datei:Ü* viewer user:bob",
    "+file:a can.view team:core#member",
    "-file:a can.view user:ann",
    "+file:b can.view user:*",
]


def test_changes_come_in_the_order_in_which_they_were_made(written: OpenFga) -> None:
    rows, token = list_changes(written)
    assert rows == CHANGES
    assert token
    assert list_changes(written, continuation_token=token) == ([], token)
    delete(written, "file:b can.view user:*")
    rows, later = list_changes(written, continuation_token=token)
    assert rows == ["-file:b can.view user:*"]
    assert later != token
    assert list_changes(written, continuation_token=later) == ([], later)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_pages_lose_and_repeat_none(written: OpenFga, size: int) -> None:
    seen: list[str] = []
    token = ""
    while True:
        rows, following = list_changes(written, page_size=size, continuation_token=token)
        assert len(rows) <= size
        if not rows:
            break
        seen += rows
        token = following
    assert (seen, following) == (CHANGES, token)


def test_a_type_selects_changes_and_tokens_belong_to_it(written: OpenFga) -> None:
    rows, token = list_changes(written, type="Datei")
    assert rows == CHANGES[1:2]
    assert list_changes(written, type="Datei", continuation_token=token) == ([], token)
    assert list_changes(written, type="nothing") == ([], "")
    assert list_changes(written, type="user") == ([], "")
    for other in ("", "file"):
        refused = written.get("changes", type=other, continuation_token=token)
        code = "query_string_type_continuation_token_mismatch"
        assert (refused.status_code, refused.json()["code"]) == (400, code)


def test_nothing_was_ever_written(openfga: OpenFga) -> None:
    assert list_changes(openfga) == ([], "")
    openfga.write_model()
    assert list_changes(openfga) == ([], "")


def test_a_time_selects_what_came_later(written: OpenFga) -> None:
    times = [change["timestamp"] for change in written.get("changes").json()["changes"]]
    assert times == sorted(times)
    assert list_changes(written, start_time=times[0])[0] == CHANGES
    assert list_changes(written, start_time=times[2])[0] == CHANGES[2:]
    assert list_changes(written, start_time="2001-01-01T00:00:00.123456789+01:00")[0] == CHANGES
    after = datetime.fromisoformat(times[-1]) + timedelta(microseconds=1)
    rows, token = list_changes(written, start_time=after.isoformat())
    assert rows == []
    delete(written, "file:b can.view user:*")
    assert list_changes(written, continuation_token=token)[0] == ["-file:b can.view user:*"]
    future = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    assert list_changes(written, continuation_token=token, start_time=times[0])[0] == ["-file:b can.view user:*"]
    for wrong in (future, "yesterday", "2001-01-01T00:00:00"):
        refused = written.get("changes", start_time=wrong)
        assert (refused.status_code, refused.json()["code"]) == (400, "validation_error")


def test_what_v2_writes_is_a_change_if_it_is_a_tuple(written: OpenFga) -> None:
    _, token = list_changes(written)
    path = f"/stores/{written.store_id}/v2"
    written.client.post(f"{path}/objects", json={"objectType": "file", "objectId": "plain"}).raise_for_status()
    written.client.delete(f"{path}/objects/file/b").raise_for_status()
    assert list_changes(written, continuation_token=token)[0] == ["-file:b can.view user:*"]


def test_other_changes_between_tuples_are_passed_over(written: OpenFga) -> None:
    _, token = list_changes(written)
    path = f"/stores/{written.store_id}/v2"
    for start in range(0, 500, 100):
        objects = [{"objectType": "file", "objectId": f"o{start + number}"} for number in range(100)]
        written.client.post(f"{path}/objects", json=objects).raise_for_status()
    write(written, "Datei:z viewer user:bob")
    assert list_changes(written, continuation_token=token)[0] == ["+Datei:z viewer user:bob"]


def test_names_of_models_that_are_gone_are_known(written: OpenFga) -> None:
    written.write_model(model(define("user")))
    assert list_changes(written)[0] == CHANGES


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"page_size": 0}, "page_size_invalid"),
        ({"page_size": 101}, "page_size_invalid"),
        ({"page_size": "many"}, "validation_error"),
        ({"continuation_token": "abcd"}, "invalid_continuation_token"),
        ({"type": "a:b"}, "validation_error"),
        ({"type": "x" * 255}, "validation_error"),
    ],
)
def test_malformed_parameters_are_refused(written: OpenFga, parameters: dict[str, Any], code: str) -> None:
    refused = written.get("changes", **parameters)
    assert (refused.status_code, refused.json()["code"]) == (400, code)


def test_a_token_belongs_to_its_store(written: OpenFga) -> None:
    _, token = list_changes(written)
    other = OpenFga.create(written.client)
    refused = other.get("changes", continuation_token=token)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_continuation_token")
