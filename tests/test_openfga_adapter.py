"""The adapter of the benchmarks for OpenFGA: the model says what the object types say, and requests have the
structure of its API."""

from typing import Any

import msgspec
import pytest

from benchmarks.datasets import DATASETS
from benchmarks.datasets.dataset import Check, RuleJson
from benchmarks.mixed.asks import Verdict
from benchmarks.mixed.dialect import RelationResult
from benchmarks.mixed.mixes import BATCHES, CHECK, LIST, PLACES, mixes_of
from benchmarks.mixed.openfga import OpenFga, fill_openfga
from benchmarks.mixed.openfga_model import Form, OpenFgaModel, form_of
from tests.openfga_evaluator import OpenFgaEvaluator
from tests.stub_server import Sent, StubServer, stub_server

SIZE = 1_000
QUESTION = Check("document", "plan", "viewer", "user", "ann")


def model_of(types: dict[str, dict[str, RuleJson]], *forms: Form) -> dict[str, Any]:
    """The relations of the model, by type."""
    made: Any = OpenFgaModel(types, forms).authorization_model()
    assert made["schema_version"] == "1.1"
    return {definition["type"]: definition for definition in made["type_definitions"]}


def user_form(object_type: str, relation: str) -> Form:
    return Form(object_type, relation, "user", False, "")


def test_what_warrants_give_comes_beside_the_rule() -> None:
    types: dict[str, dict[str, RuleJson]] = {"user": {}, "doc": {"owner": {}, "editor": {"inheritIf": "owner"}}}

    made = model_of(
        types, user_form("doc", "owner"), Form("doc", "editor", "user", True, ""), user_form("doc", "editor")
    )

    assert made["user"]["relations"] == {}
    assert made["doc"]["relations"] == {
        "owner": {"this": {}},
        "editor": {"union": {"child": [{"this": {}}, {"computedUserset": {"relation": "owner"}}]}},
    }
    assert made["doc"]["metadata"]["relations"]["editor"] == {
        "directly_related_user_types": [{"type": "user"}, {"type": "user", "wildcard": {}}]
    }


def test_a_relation_that_no_warrant_gives_is_its_rule_alone() -> None:
    types: dict[str, dict[str, RuleJson]] = {"user": {}, "doc": {"owner": {}, "editor": {"inheritIf": "owner"}}}

    made = model_of(types, Form("doc", "owner", "doc", False, "owner"))

    assert made["doc"]["relations"]["editor"] == {"computedUserset": {"relation": "owner"}}
    assert made["doc"]["metadata"]["relations"] == {
        "owner": {"directly_related_user_types": [{"type": "doc", "relation": "owner"}]},
        "editor": {"directly_related_user_types": []},
    }


def test_exclusion_becomes_a_difference_and_the_rest_an_intersection() -> None:
    blocked: RuleJson = {"inheritIf": "noneOf", "rules": [{"inheritIf": "blocked"}, {"inheritIf": "left"}]}
    rule: RuleJson = {"inheritIf": "allOf", "rules": [{"inheritIf": "member"}, blocked, {"inheritIf": "paid"}]}
    names = ("member", "paid", "blocked", "left")
    direct: dict[str, RuleJson] = {name: {} for name in names}
    types = {"user": {}, "doc": {**direct, "viewer": rule}}

    made = model_of(types, *(user_form("doc", name) for name in names))

    member, paid, out, left = ({"computedUserset": {"relation": name}} for name in names)
    assert made["doc"]["relations"]["viewer"] == {
        "difference": {
            "base": {"intersection": {"child": [member, paid]}},
            "subtract": {"union": {"child": [out, left]}},
        }
    }


@pytest.mark.parametrize(
    "rule",
    [
        {"inheritIf": "noneOf", "rules": [{"inheritIf": "owner"}]},
        {"inheritIf": "anyOf", "rules": [{"inheritIf": "noneOf", "rules": [{"inheritIf": "owner"}]}]},
        {"inheritIf": "allOf", "rules": [{"inheritIf": "noneOf", "rules": [{"inheritIf": "owner"}]}]},
    ],
)
def test_an_exclusion_from_nothing_is_refused(rule: RuleJson) -> None:
    with pytest.raises(ValueError, match="noneOf"):
        model_of({"user": {}, "doc": {"owner": {}, "viewer": rule}}, user_form("doc", "owner"))


def test_a_followed_relation_with_a_rule_of_its_own_is_kept_apart() -> None:
    member: RuleJson = {"inheritIf": "member", "ofType": "role", "withRelation": "member"}
    forms = (Form("role", "member", "role", False, ""), user_form("role", "member"))

    made = model_of({"user": {}, "role": {"member": member}}, *forms)
    role = made["role"]

    followed = {"tupleset": {"relation": "member--role"}, "computedUserset": {"relation": "member"}}
    assert role["relations"]["member--role"] == {"this": {}}
    assert role["relations"]["member"] == {
        "union": {
            "child": [{"this": {}}, {"computedUserset": {"relation": "member--role"}}, {"tupleToUserset": followed}]
        }
    }
    assert role["metadata"]["relations"] == {
        "member": {"directly_related_user_types": [{"type": "user"}]},
        "member--role": {"directly_related_user_types": [{"type": "role"}]},
    }
    model = OpenFgaModel({"user": {}, "role": {"member": member}}, forms)
    assert model.tuple_key(("role", "a", "member", "role", "b", "", "")) == ("role:b", "member--role", "role:a")
    assert model.tuple_key(("role", "a", "member", "user", "b", "", "")) == ("user:b", "member", "role:a")
    assert model.tuple_key(("role", "a", "member", "role", "b", "member", "")) == ("role:b#member", "member", "role:a")


@pytest.mark.parametrize("name", DATASETS)
def test_the_model_gives_every_check_of_a_data_set_its_answer(name: str) -> None:
    dataset = DATASETS[name](SIZE, 1)
    model = OpenFgaModel(dataset.types, {form_of(row) for row in dataset.warrants()})
    evaluator = OpenFgaEvaluator(model.authorization_model())
    for row in dataset.warrants():
        evaluator.write(model.tuple_key(row)._asdict())

    for question, allowed in dataset.answered_questions(400, 1):
        found = evaluator.check(f"{question[0]}:{question[1]}", question.relation, f"{question[3]}:{question[4]}")
        assert found == allowed, question


def answer_as_openfga(sent: Sent) -> bytes:
    *_, action = sent.path.split("/")
    answers: dict[str, object] = {
        "stores": {"id": "store-1", "name": "drive"},
        "authorization-models": {"authorization_model_id": "model-1"},
        "write": {},
    }
    return msgspec.json.encode(answers[action])


def filled(stub: StubServer) -> OpenFga:
    dataset = DATASETS["drive"](SIZE, 1)
    place = PLACES["drive"]
    return fill_openfga(stub.url, dataset, [place.of_user("x", "y")], key="secret")


def test_a_store_is_made_and_filled_in_chunks_of_a_hundred() -> None:
    with stub_server(answer_as_openfga) as stub:
        filled(stub)

    store, model, *writes = stub.sent
    assert (store.method, store.path, store.body) == ("POST", "/stores", {"name": "drive"})
    assert (model.method, model.path) == ("POST", "/stores/store-1/authorization-models")
    assert model.body["schema_version"] == "1.1"
    assert {definition["type"] for definition in model.body["type_definitions"]} == set(
        DATASETS["drive"](SIZE, 1).types
    )
    assert {write.path for write in writes} == {"/stores/store-1/write"}
    assert {write.body["authorization_model_id"] for write in writes} == {"model-1"}
    assert sorted(len(write.body["writes"]["tuple_keys"]) for write in writes) == [100] * 10
    assert set(writes[0].body["writes"]["tuple_keys"][0]) == {"user", "relation", "object"}
    assert {sent.headers["Authorization"] for sent in stub.sent} == {"Bearer secret"}


@pytest.fixture(scope="module")
def openfga() -> OpenFga:
    with stub_server(answer_as_openfga) as stub:
        return filled(stub)


def sent_in(request: bytes) -> tuple[bytes, Any]:
    """The request line, and the body."""
    head, _, body = request.partition(b"\r\n\r\n")
    return head.partition(b"\r\n")[0], msgspec.json.decode(body)


def test_requests_have_the_shapes_of_the_api(openfga: OpenFga) -> None:
    of_model, key = (
        {"authorization_model_id": "model-1"},
        {"user": "user:ann", "relation": "viewer", "object": "document:plan"},
    )
    written = {"user": "user:ann", "relation": "editor", "object": "document:plan"}
    row = PLACES["drive"].of_user("plan", "ann")

    assert sent_in(openfga.check(QUESTION)) == (
        b"POST /stores/store-1/check HTTP/1.1",
        of_model | {"tuple_key": key},
    )
    assert sent_in(openfga.batch([QUESTION, QUESTION])) == (
        b"POST /stores/store-1/batch-check HTTP/1.1",
        of_model | {"checks": [{"tuple_key": key, "correlation_id": number} for number in ("0", "1")]},
    )
    assert sent_in(openfga.list_objects(QUESTION)) == (
        b"POST /stores/store-1/list-objects HTTP/1.1",
        of_model | {"type": "document", "relation": "viewer", "user": "user:ann"},
    )
    assert sent_in(openfga.write(row)) == (
        b"POST /stores/store-1/write HTTP/1.1",
        of_model | {"writes": {"tuple_keys": [written]}},
    )
    assert sent_in(openfga.delete(row))[1] == of_model | {"deletes": {"tuple_keys": [written]}}
    assert openfga.constant.startswith(b"GET /healthz HTTP/1.1\r\n")


def test_answers_are_read(openfga: OpenFga) -> None:
    assert openfga.decision(b'{"allowed":true,"resolution":""}')
    assert not openfga.decision(b'{"allowed":false}')
    assert openfga.decisions(b'{"result":{"1":{"allowed":false},"0":{"allowed":true}}}') == [True, False]
    assert openfga.listed(b'{"objects":["document:a","document:b:c"]}') == RelationResult(frozenset({"a", "b:c"}), None)
    cut_off = msgspec.json.encode({"objects": [f"document:{number}" for number in range(1_000)]})
    assert openfga.listed(cut_off).reaches == ""


def test_batches_of_a_hundred_are_not_sent_to_it(openfga: OpenFga) -> None:
    mixes = mixes_of(DATASETS["drive"](SIZE, 1), openfga, 100)

    assert [name for name in BATCHES if name in mixes.endless] == ["batch of 10"]
    ask = next(mixes.endless[CHECK])
    assert ask.validate is not None
    verdicts = {ask.validate(b'{"allowed":true}'), ask.validate(b'{"allowed":false}')}
    assert verdicts == {Verdict(1, 0), Verdict(1, 1)}
    assert next(mixes.endless[LIST]).request.startswith(b"POST /stores/store-1/list-objects ")
