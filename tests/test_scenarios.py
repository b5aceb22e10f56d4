"""The cases of tests/scenarios, each through every door it has, on every store."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from magistrate.engine.model.object_types import read_object_type
from magistrate.engine.model.stratification import find_negation_loop
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.errors import InvalidParameter, MissingParameter
from tests.running import Client

FOLDER = Path(__file__).parent / "scenarios"
CODES = {MissingParameter: "missing_required_parameter", InvalidParameter: "invalid_parameter"}


def cases(file: str) -> list[Any]:
    """The cases of a file as pytest parameters, named as in the file; no two have one name."""
    read = yaml.safe_load((FOLDER / file).read_text())
    assert len({case["name"] for case in read}) == len(read)
    return [pytest.param(case, id=case["name"]) for case in read]


def content_of(case: dict[str, Any]) -> bytes | None:
    """The body of a hostile request, spelled out, in hexadecimal, or as something repeated or nested many times."""
    if "body_hex" in case:
        return bytes.fromhex(case["body_hex"])
    if "body_repeat" in case:
        start, piece, times, end = case["body_repeat"]
        return f"{start}{piece * times}{end}".encode()
    if "body_nested" in case:
        start, opening, inner, closing, times, end = case["body_nested"]
        return f"{start}{opening * times}{inner}{closing * times}{end}".encode()
    return case["body"].encode() if "body" in case else None


@pytest.mark.parametrize("case", cases("hostile-input.yaml"))
def test_hostile_input_is_refused_and_writes_nothing(case: dict[str, Any], shared_client: Client) -> None:
    if "request_repeat" in case:
        start, piece, times, end = case["request_repeat"]
        case = {**case, "request": f"{start}{piece * times}{end}"}
    method, _, path = case["request"].partition(" ")
    before = shared_client.get("/v2/objects").headers["service-token"]

    refused = shared_client.request(method, path, content=content_of(case))

    assert refused.status_code == case["status"], refused.text
    assert refused.json()["code"] == case["code"]
    assert refused.json().get("parameter") == case.get("parameter")
    assert refused.json()["message"]
    assert refused.headers["content-type"] == "application/json"
    assert shared_client.get("/v2/objects").headers["service-token"] == before


@pytest.mark.parametrize("case", cases("rule-validation.yaml"))
def test_a_rule_is_accepted_or_refused_by_the_engine(case: dict[str, Any]) -> None:
    relations = msgspec.convert(case["relations"], dict[str, RuleDefinition | None])

    try:
        object_type = read_object_type("scenario", None, relations)
        refused = (
            ["invalid_parameter", "relations"]
            if find_negation_loop({object_type.name: object_type}.get, [object_type.name])
            else None
        )
        read = msgspec.to_builtins(object_type.render_relations())
    except InvalidParameter as error:
        refused, read = [CODES[type(error)], error.parameter], None

    assert refused == case.get("refused")
    if refused is None:
        assert read == case.get("reads", case["relations"])


@pytest.mark.parametrize("case", cases("rule-validation.yaml"))
def test_a_rule_is_accepted_or_refused_over_http(case: dict[str, Any], shared_client: Client) -> None:
    answer = shared_client.post("/v2/object-types", json={"type": "scenario", "relations": case["relations"]})

    if "refused" in case:
        assert answer.status_code == 400
        assert [answer.json()["code"], answer.json()["parameter"]] == case["refused"]
    else:
        assert answer.status_code == 200
        stored = shared_client.get("/v2/object-types/scenario").json()["relations"]
        assert stored == answer.json()["relations"] == case.get("reads", case["relations"])
        shared_client.delete("/v2/object-types/scenario")
