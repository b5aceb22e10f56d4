"""Reads of OpenFGA's API (docs/openfga.md#tuples)."""

from typing import Any

import pytest

from tests.openfga.conversation import OpenFga, define, model, this
from tests.openfga.requests import delete, key, write

TUPLES = (
    "file:a viewer user:ann",
    "file:a viewer team:core#can.read",
    "file:a viewer user:*",
    "file:a blocked user:ann",
    "file:b viewer user:ann",
    "Datei:Ü*% viewer user:a|b@c",
    "Datei:é can.read user:😀",
    "Datei:. can.read user:a%2A",
)
USERS = ["user", "user:*", "team#can.read"]


@pytest.fixture
def filled(openfga: OpenFga) -> OpenFga:
    openfga.write_model(
        model(
            define("user"),
            define("team", **{"can.read": (this(), ["user"])}),
            define("file", viewer=(this(), USERS), blocked=(this(), USERS)),
            define("Datei", viewer=(this(), USERS), **{"can.read": (this(), ["user"])}),
        )
    )
    for text in TUPLES:
        assert write(openfga, text).json() == {}
    return openfga


def read(openfga: OpenFga, tuple_key: Any = None, **others: Any) -> list[str]:
    answer = openfga.post("read", {"tuple_key": tuple_key, **others})
    assert answer.status_code == 200, answer.text
    rows = answer.json()["tuples"]
    assert all(row["key"]["condition"] is None and row["timestamp"].endswith("Z") for row in rows)
    return [f"{row['key']['object']} {row['key']['relation']} {row['key']['user']}" for row in rows]


def test_what_was_written_is_read_back_to_the_byte(filled: OpenFga) -> None:
    assert read(filled) == [*TUPLES]


def test_pages_lose_and_repeat_none(filled: OpenFga) -> None:
    seen: list[str] = []
    token = ""
    for size in (3, 2.0, "1", 50):
        answer = filled.post("read", {"page_size": size, "continuation_token": token}).json()
        token = answer["continuation_token"]
        seen += [row["key"]["object"] for row in answer["tuples"]]
        assert bool(token) == (size != 50)
    assert seen == [text.split(" ")[0] for text in TUPLES]
    refused = filled.post("read", {"tuple_key": {"object": "file:a"}, "continuation_token": "abcd"})
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_continuation_token")


@pytest.mark.parametrize(
    ("tuple_key", "places"),
    [
        ({"object": "file:a"}, [0, 1, 2, 3]),
        ({"object": "file:a", "relation": "viewer"}, [0, 1, 2]),
        ({"object": "file:a", "user": "user:ann"}, [0, 3]),
        ({"object": "file:a", "relation": "viewer", "user": "user:*"}, [2]),
        ({"object": "file:a", "relation": "viewer", "user": "team:core#can.read"}, [1]),
        ({"object": "file:", "user": "user:ann"}, [0, 3, 4]),
        ({"object": "file:", "relation": "blocked", "user": "user:ann"}, [3]),
        ({"object": "Datei:.", "relation": "", "user": ""}, [7]),
        ({"object": "nothing:a"}, []),
        ({"object": "file:a", "relation": "nothing"}, []),
        ({"object": "file:a", "user": "team:core"}, []),
    ],
)
def test_a_key_selects_by_what_it_has(filled: OpenFga, tuple_key: Any, places: list[int]) -> None:
    assert read(filled, tuple_key) == [TUPLES[place] for place in places]


@pytest.mark.parametrize(
    "tuple_key",
    [
        {},
        {"user": "user:ann"},
        {"object": "file:"},
        {"object": "file"},
        {"object": "file:a", "user": "ann"},
        {"object": "file:*"},
    ],
)
def test_other_keys_are_refused(filled: OpenFga, tuple_key: Any) -> None:
    refused = filled.post("read", {"tuple_key": tuple_key})
    assert (refused.status_code, refused.json()["code"]) == (400, "validation_error")


def test_tuples_whose_names_are_gone_are_read_and_deleted(filled: OpenFga) -> None:
    filled.write_model(model(define("user")))
    assert read(filled) == [*TUPLES]
    assert delete(filled, *TUPLES).status_code == 200
    assert read(filled) == []


def test_a_store_without_a_model_is_read(openfga: OpenFga) -> None:
    assert read(openfga) == []
    assert key("a b c") == {"object": "a", "relation": "b", "user": "c"}
