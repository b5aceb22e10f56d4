"""Relationships of other products: what is read of them, and what is wrong with one."""

import json
from typing import Any

import msgspec
import pytest

from magistrate.engine.importers.conversion import convert_model
from magistrate.engine.importers.names import Faults, ForeignRefusal
from magistrate.engine.importers.openfga_relationships import read_body, read_csv, read_json_array, read_yaml_sequence
from magistrate.engine.importers.relationships import ForeignRelationship, RelationshipConverter, RelationshipRefusal
from magistrate.engine.importers.spicedb import read_relationships
from magistrate.engine.testing.yaml_documents import YamlFault, read_yaml_nodes
from tests.importers.models import read_openfga, read_spicedb

HEADINGS = "user_type,user_id,user_relation,relation,object_type,object_id,condition_name,condition_context"
MODEL = """
model
  schema 1.1
type user
type Org/team
  relations
    define member: [user, user:*, Org/team#member, user with fresh]
    define lead: [user] and member
    define any: member
condition fresh(level: int, l: list<string>) { level > 2 && "a" in l }
"""
SCHEMA = """
caveat fresh(level int) { level > 2 }
definition user {}
definition doc { relation reader: user | user with fresh and expiration | doc#reader permission read = reader }
"""


def only(placed: Any) -> tuple[str, Any]:
    place, found = next(iter(placed))
    at = place()
    return f"{at.line}:{at.column}", found


def openfga_converter() -> RelationshipConverter:
    faults = Faults()
    model = read_openfga(MODEL, faults)
    return RelationshipConverter(model, convert_model(model, faults))


def convert_line(converter: RelationshipConverter, found: ForeignRelationship | RelationshipRefusal) -> Any:
    if isinstance(found, RelationshipRefusal):
        raise found
    return json.loads(converter.convert(found))


def test_a_tuple_is_read_alike_in_every_format() -> None:
    written = {"user": "Org/team:a#member", "relation": "member", "object": "Org/team:b"}
    wanted = ForeignRelationship("Org/team", "b", "member", "Org/team", "a", "member")
    rows = [HEADINGS, "Org/team,a,member,member,Org/team,b,,"]

    assert only(read_csv(rows, "t.csv")) == ("2:1", wanted)
    assert read_body(json.dumps(written).encode()) == wanted
    assert read_body(json.dumps({"key": written, "timestamp": "2026-01-01T00:00:00Z"}).encode()) == wanted
    nodes = read_yaml_nodes(f"# one\n- {json.dumps(written)}\n")
    assert only(read_yaml_sequence(nodes, "t.yaml")) == ("2:3", wanted)


def test_a_tuple_becomes_a_warrant_with_the_names_and_the_policy_of_here() -> None:
    converter = openfga_converter()
    rows = [HEADINGS, 'user,ann,,member,Org/team,b,fresh,"{""l"":[""a""]}"', "user,*,,member,Org/team,b,,"]
    rows.append("user,ann,,lead,Org/team,b,,")

    [conditional, wildcard, direct] = [convert_line(converter, found) for _, found in read_csv(rows, "t.csv")]

    subject = {"objectType": "user", "objectId": "ann"}
    warrant = {"objectType": "org--team", "objectId": "b", "relation": "member", "subject": subject}
    assert conditional == warrant | {"policy": 'as(level, "int") > 2 && "a" in ["a"]'}
    assert wildcard == warrant | {"subject": {"objectType": "user", "objectId": "*"}}
    assert direct == warrant | {"relation": "direct_lead"}


@pytest.mark.parametrize("object_id", ["josé", "日本", "o'brien", "\U00020000?"])
def test_ids_beyond_ascii_stay_as_they_are(object_id: str) -> None:
    written = {"user": f"user:{object_id}", "relation": "lead", "object": f"Org/team:{object_id}"}
    nodes = read_yaml_nodes(f"- {json.dumps(written, ensure_ascii=False)}\n")

    for found in (
        only(read_csv([HEADINGS, f"user,{object_id},,lead,Org/team,{object_id},,"], "t.csv"))[1],
        read_body(json.dumps(written).encode()),
        only(read_yaml_sequence(nodes, "t.yaml"))[1],
    ):
        line = convert_line(openfga_converter(), found)
        assert (line["objectId"], line["subject"]["objectId"]) == (object_id, object_id)


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ("user,ann,,member,Org/team", "invalid_tuple"),
        ("user,,,member,Org/team,b,,", "invalid_tuple"),
        ("user,ann,,member,Org/team,b,fresh,[1]", "invalid_tuple"),
        ("user,ann,,member,Org/team,b,fresh,{", "invalid_tuple"),
        ("user,an n,,member,Org/team,b,,", "invalid_id"),
        ("user,jose\u0301,,member,Org/team,b,,", "invalid_id"),
        ("user,ann,,member,Org/team,*,,", "invalid_id"),
        ("user,ann,,member,Org/teem,b,,", "unknown_type"),
        ("user,ann,,membre,Org/team,b,,", "unknown_relation"),
        ("user,ann,,any,Org/team,b,,", "not_allowed"),
        ("Org/team,a,,member,Org/team,b,,", "not_allowed"),
        ("user,*,,lead,Org/team,b,,", "not_allowed"),
        ("user,ann,,lead,Org/team,b,fresh,", "not_allowed"),
        ("user,ann,,member,Org/team,b,stale,", "not_allowed"),
        ('user,ann,,member,Org/team,b,fresh,"{""x"":1}"', "not_expressible"),
        ('user,ann,,member,Org/team,b,fresh,"{""level"":""one""}"', "not_expressible"),
        ('user,ann,,member,Org/team,b,fresh,"{""level"":1.5}"', "not_expressible"),
    ],
)
def test_a_tuple_that_is_wrong_is_refused(row: str, code: str) -> None:
    place, found = only(read_csv([HEADINGS, row], "t.csv"))

    with pytest.raises(RelationshipRefusal) as refused:
        convert_line(openfga_converter(), found)

    assert (place, refused.value.code) == ("2:1", code)


@pytest.mark.parametrize(
    "lines",
    [
        ["user,ann"],
        [HEADINGS + ",more"],
        [HEADINGS + ",relation"],
        [HEADINGS, 'user,"ann,,member,Org/team,b,,'],
        [HEADINGS, "user," + "a" * 200_000],
    ],
)
def test_what_is_no_csv_is_refused(lines: list[str]) -> None:
    with pytest.raises(ForeignRefusal):
        [*read_csv(lines, "t.csv")]


@pytest.mark.parametrize("text", ["5", "{", '{"user": 5}', '{"user":"a","relation":"b","object":"c"}', "[" * 5_000])
def test_json_that_is_no_tuple_is_refused(text: str) -> None:
    assert isinstance(read_body(text.encode()), RelationshipRefusal)


def test_a_fault_in_an_array_has_its_place() -> None:
    text = '[\n  {"user": "user:a", "relation": "r", "object": "o:1"},\n  {"user": "a"}\n]'
    bodies = msgspec.json.decode(text, type=list[msgspec.Raw])

    [_, (place, found)] = [*read_json_array(bodies, "", text, "t.json")]

    assert isinstance(found, RelationshipRefusal)
    assert (place().line, place().column) == (3, 3)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("doc:a/b#reader@user:ann", ForeignRelationship("doc", "a/b", "reader", "user", "ann")),
        ("x/doc:a#reader@user:ann#...", ForeignRelationship("x/doc", "a", "reader", "user", "ann")),
        ("doc:a#reader@doc:b#reader", ForeignRelationship("doc", "a", "reader", "doc", "b", "reader")),
        ("doc:a#reader@user:*", ForeignRelationship("doc", "a", "reader", "user", "*")),
        ("doc:a#r@user:b[c]", ForeignRelationship("doc", "a", "r", "user", "b", "", "c")),
        ('doc:a#r@user:b[c:{"x":["]"]}]', ForeignRelationship("doc", "a", "r", "user", "b", "", "c", {"x": ["]"]})),
        (
            'doc:a#r@user:b[c:{"x":1}][expiration:2030-01-01T00:00:00Z]',
            ForeignRelationship("doc", "a", "r", "user", "b", "", "c", {"x": 1}, "2030-01-01T00:00:00Z"),
        ),
        (
            "doc:a#r@user:b[expiration:2030-01-01T00:00:00Z]",
            ForeignRelationship("doc", "a", "r", "user", "b", expires_at="2030-01-01T00:00:00Z"),
        ),
    ],
)
def test_a_relationship_is_read(text: str, wanted: ForeignRelationship) -> None:
    assert only(read_relationships(["// first", "", f"  {text} "], "r.txt")) == ("3:1", wanted)


@pytest.mark.parametrize("text", ["doc:a", "doc:a#r@user", "doc:a#r@user:b[c:{x}]", "doc:a#r@user:b[", "a b#c@d:e"])
def test_what_is_no_relationship_is_refused(text: str) -> None:
    assert isinstance(only(read_relationships([text], "r.txt"))[1], RelationshipRefusal)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("doc:a#read@user:ann", "not_allowed"),
        ("doc:a#reader@user:ann[fresh]", "not_allowed"),
        ("doc:a#reader@user:ann[expiration:2030-01-01T00:00:00Z]", "not_allowed"),
        ("doc:a#reader@user:ann[fresh][expiration:soon]", "invalid_time"),
        ("doc:a#reader@user:ann[fresh][expiration:2030-13-01T00:00:00Z]", "invalid_time"),
    ],
)
def test_a_relationship_that_does_not_fit_is_refused(text: str, code: str) -> None:
    faults = Faults()
    model = read_spicedb(SCHEMA, faults)
    converter = RelationshipConverter(model, convert_model(model, faults))

    with pytest.raises(RelationshipRefusal) as refused:
        convert_line(converter, only(read_relationships([text], "r.txt"))[1])

    assert (faults.total, refused.value.code) == (0, code)


@pytest.mark.parametrize(
    "text",
    [
        "a: &x [1]\nb: *x\n",
        "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
        "a: 1\na: 2\n",
        "? [a]\n: b\n",
        "[" * 1_000,
        "a: [\n",
        "a: 'b\n",
    ],
)
def test_yaml_that_is_a_bomb_or_not_clear_is_refused(text: str) -> None:
    with pytest.raises(YamlFault):
        read_yaml_nodes(text)
