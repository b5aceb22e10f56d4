"""`magistrate objects`: create, get, update, delete and list."""

import re
from pathlib import Path

import pytest

from tests.cli.cases import Magistrate

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"


def test_an_object_from_its_creation_to_its_end(magistrate: Magistrate) -> None:
    assert magistrate.done("objects", "create", "car:vw", "--meta", '{"wheels": 4}') == "created  car:vw\n"
    created = magistrate.json("objects", "get", "car:vw")
    shown = magistrate.done("objects", "get", "car:vw").splitlines()
    updated = magistrate.json("objects", "update", "car:vw", "--meta", '{"wheels": 3}')

    assert created["meta"] == {"wheels": 4}
    assert re.fullmatch(r"OBJECT  META           CREATED", shown[0])
    assert re.fullmatch(rf'car:vw  {{"wheels": 4}}  {TIME}', shown[1])
    assert updated == {**created, "meta": {"wheels": 3}}
    assert magistrate.done("objects", "update", "car:vw", "--meta", "{}").splitlines()[1].split() == [
        "car:vw",
        created["createdAt"],
    ]
    assert magistrate.done("objects", "delete", "car:vw") == "deleted  car:vw\n"
    assert magistrate.failed("objects", "get", "car:vw") == "car vw not found"


def test_the_service_makes_an_id_where_none_is_typed(magistrate: Magistrate) -> None:
    assert re.fullmatch(r"created  car:[0-9a-f-]{36}\n", magistrate.done("objects", "create", "car"))
    assert re.fullmatch(r"[0-9a-f-]{36}", magistrate.json("objects", "create", "car:")["objectId"])


def test_lists_are_filtered_and_limited(magistrate: Magistrate) -> None:
    for object_id, meta in (("a1", "{}"), ("a2", '{"note": "Zürich"}'), ("b1", "{}")):
        magistrate.done("objects", "create", f"boat:{object_id}", "--meta", meta)
    magistrate.done("objects", "create", "ship:a1")

    def listed(*options: str) -> list[str]:
        return [line.split()[0] for line in magistrate("objects", "list", *options).stdout.splitlines()[1:]]

    assert listed("--type", "boat") == ["boat:a1", "boat:a2", "boat:b1"]
    assert listed("--type", "boat", "-q", "A") == ["boat:a1", "boat:a2"]
    assert listed("--query", "zürich") == ["boat:a2"]
    assert listed("--type", "boat", "--limit", "1") == ["boat:a1"]
    assert magistrate.json("objects", "list", "-q", "Zürich")["results"][0]["meta"] == {"note": "Zürich"}


def test_several_are_deleted_all_or_none_with_their_warrants(magistrate: Magistrate) -> None:
    magistrate.done("types", "apply", "-", typed='{"tree": {"owner": {}}}')
    magistrate.done("warrants", "create", "tree:oak#owner@user:ann", "tree:elm#owner@user:ann")

    assert magistrate.failed("objects", "delete", "tree:oak", "tree:ash") == "tree ash not found"
    assert magistrate.json("objects", "delete", "tree:oak", "tree:elm") == {"deleted": ["tree:oak", "tree:elm"]}
    assert magistrate("warrants", "list", "--object-type", "tree").stdout == ""


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["get", "car"], "'car' is not an object; write it like document:plan"),
        (["get", ":vw"], "':vw' is not an object"),
        (["delete", "car:*"], "objectId of car:*: can only contain"),
        (["create", "Car:vw"], "objectType of Car:vw: can only contain lower-case"),
        (["create", "car:vw", "--meta", "[1]"], "--meta must be a JSON object"),
        (["create", "car:vw", "--meta", "{"], "--meta is not valid JSON: "),
        (["create", "car:vw", "--meta", ""], "--meta is not valid JSON: "),
        (["create", "car:vw", "--meta", '{"a": ' + "[" * 10_000], "--meta is not valid JSON: "),
        (["create", "car:vw", "--meta", '{"a": NaN}'], "NaN is not a JSON number"),
        (["update", "car:vw"], "Missing option '--meta'"),
    ],
)
def test_what_cannot_be_is_reported(magistrate: Magistrate, arguments: list[str], fault: str) -> None:
    assert fault in magistrate.failed("objects", *arguments)


def test_lists_of_objects_and_of_warrants_filter_by_type_alike(magistrate: Magistrate, tmp_path: Path) -> None:
    (tmp_path / "types.json").write_text('[{"type": "binder", "relations": {"reader": {}}}]')
    magistrate.done("types", "apply", str(tmp_path / "types.json"))
    magistrate.done("warrants", "create", "binder:b#reader@user:ann")

    for flag in ("--object-type", "--type"):
        assert magistrate.done("objects", "list", flag, "binder").splitlines()[1].startswith("binder:b")
        assert magistrate.done("warrants", "list", flag, "binder").splitlines()[1].startswith("binder:b#reader")
