"""Conditions of OpenFGA's API (docs/openfga.md#conditions)."""

from typing import Any

import pytest

from tests.openfga.conditions import BELOW, condition, conditional, of_type, put
from tests.openfga.conversation import OpenFga, but_not, computed, define, intersection, model, this, union
from tests.openfga.requests import delete, key
from tests.running import Client

MODEL = {
    **model(
        define("user"),
        define("team", member=(this(), ["user", "user with below"])),
        define(
            "file",
            owner=(this(), ["user"]),
            blocked=(this(), ["user", "user with below"]),
            viewer=(this(), ["user", "user with below", "user:* with below", "team#member"]),
            reader=(but_not(computed("viewer"), computed("blocked")), []),
            editor=(union(computed("owner"), computed("viewer")), []),
            signer=(intersection(computed("owner"), computed("viewer")), []),
        ),
    ),
    "conditions": BELOW,
}


def check(openfga: OpenFga, text: str, *contextual: dict[str, Any], **others: Any) -> bool | None:
    """Whether a check is allowed; None if it is an error."""
    body: dict[str, Any] = {"tuple_key": key(text), **others}
    if contextual:
        body["contextual_tuples"] = {"tuple_keys": [*contextual]}
    answer = openfga.post("check", body)
    if answer.status_code == 400:
        assert answer.json()["code"] == "validation_error"
        return None
    assert answer.status_code == 200, answer.text
    return bool(answer.json()["allowed"])


@pytest.fixture(scope="module")
def filled(shared_client: Client) -> OpenFga:
    openfga = OpenFga.create(shared_client)
    openfga.write_model(MODEL)
    keys = [
        conditional("file:a viewer user:ann", "below", limit=5),
        conditional("file:a viewer user:*", "below", limit=2),
        conditional("team:core member user:cleo", "below", limit=7),
        conditional("file:a blocked user:bob", "below"),
        key("file:a viewer team:core#member"),
        key("file:a owner user:dora"),
    ]
    assert put(openfga, *keys).json() == {}
    return openfga


CHECKS: list[tuple[str, dict[str, Any], bool | None]] = [
    ("file:a viewer user:ann", {"level": 3}, True),
    ("file:a viewer user:ann", {"level": 5}, False),
    ("file:a viewer user:ann", {}, None),
    ("file:a viewer user:ann", {"level": None}, None),
    ("file:a viewer user:ann", {"level": 3, "limit": 1}, True),
    ("file:a viewer user:ann", {"level": 9, "limit": 10}, False),
    ("file:a viewer user:ann", {"level": "3"}, True),
    ("file:a viewer user:ann", {"level": 3.0}, True),
    ("file:a viewer user:ann", {"level": 3.5}, None),
    ("file:a viewer user:ann", {"level": True}, None),
    ("file:a viewer user:ann", {"level": 3, "other": {"x": [None]}}, True),
    ("file:a viewer user:zoe", {"level": 1}, True),
    ("file:a viewer user:zoe", {"level": 2}, False),
    ("file:a viewer user:cleo", {"level": 6}, True),
    ("file:a viewer user:cleo", {"level": 7}, False),
    ("file:a viewer team:core#member", {"level": 9}, True),
    ("file:a viewer user:*", {"level": 1}, True),
    ("file:a viewer user:*", {"level": 3}, False),
    # Kleene: an error decides nothing by itself.
    ("file:a editor user:dora", {}, True),
    ("file:a editor user:ann", {}, None),
    ("file:a signer user:ann", {}, False),
    ("file:a signer user:dora", {}, None),
    ("file:b reader user:bob", {}, False),
    ("file:a reader user:bob", {"level": 1}, None),
    ("file:a reader user:bob", {"level": 3, "limit": 9}, False),
    ("file:b viewer user:ann", {}, False),
]


@pytest.mark.parametrize("again", [False, True])
def test_a_condition_is_evaluated_with_the_contexts_of_tuple_and_request(filled: OpenFga, again: bool) -> None:
    decided = [(text, context, check(filled, text, context=context)) for text, context, _ in CHECKS]
    assert decided == CHECKS


def test_a_batch_has_an_error_for_each_check_that_cannot_be_decided(filled: OpenFga) -> None:
    checks = [
        {"tuple_key": key(text), "correlation_id": f"id-{n}", "context": context}
        for n, (text, context, _) in enumerate(CHECKS)
    ]

    result = filled.post("batch-check", {"checks": checks}).json()["result"]

    for n, (_, _, expected) in enumerate(CHECKS):
        answer = result[f"id-{n}"]
        if expected is None:
            assert answer["error"]["input_error"] == "validation_error"
        else:
            assert answer == {"allowed": expected}


def test_a_model_with_conditions_is_answered_as_it_came(openfga: OpenFga) -> None:
    model_id = openfga.write_model(MODEL)

    answer = openfga.get(f"authorization-models/{model_id}").json()["authorization_model"]

    assert answer["conditions"] == BELOW
    forms = answer["type_definitions"][1]["metadata"]["relations"]["member"]["directly_related_user_types"]
    assert forms == [{"type": "user"}, {"type": "user", "condition": "below"}]


def with_condition(body: dict[str, Any]) -> dict[str, Any]:
    forms = ["user with below"]
    return {**model(define("user"), define("file", viewer=(this(), forms))), "conditions": body}


ANY = of_type("ANY")
INVALID_MODELS: dict[str, tuple[dict[str, Any], str]] = {
    "an undefined condition": ({}, "invalid_authorization_model"),
    "another name": ({"below": {**BELOW["below"], "name": "other"}}, "invalid_authorization_model"),
    "no CEL": (condition("below", "level <"), "invalid_authorization_model"),
    "no bool": (condition("below", "level + 1", level=of_type("INT")), "invalid_authorization_model"),
    "an unknown parameter": (condition("below", "level < 5"), "invalid_authorization_model"),
    "an unknown function": (condition("below", "now() < 5"), "invalid_authorization_model"),
    "types that do not fit": (condition("below", "level < 'a'", level=of_type("INT")), "invalid_authorization_model"),
    "an unknown type": (condition("below", "true", level=of_type("NUMBER")), "invalid_authorization_model"),
    "a list of nothing": (condition("below", "true", level=of_type("LIST")), "invalid_authorization_model"),
    "an int of something": (condition("below", "true", level=of_type("INT", ANY)), "invalid_authorization_model"),
    "a wrong regular expression": (condition("below", "'a'.matches('(')"), "invalid_authorization_model"),
    "no expression": (condition("below", ""), "validation_error"),
    "a parameter without a type": (condition("below", "true", level={}), "validation_error"),
    "a long expression": (condition("below", f"'{'a' * 510}' != ''"), "validation_error"),
    "many parameters": (condition("below", "true", **{f"p{n}": ANY for n in range(26)}), "validation_error"),
    "many conditions": (
        {**BELOW, **{f"c{n}": {"name": f"c{n}", "expression": "true"} for n in range(25)}},
        "validation_error",
    ),
    "a blank in a name": ({**BELOW, **condition("a b", "true")}, "validation_error"),
    "no object": ({"below": "true"}, "validation_error"),
    "nested too deep": (condition("below", "(" * 250 + "true" + ")" * 250), ""),
    "negated too often": (condition("below", "!" * 500 + "true"), ""),
}


@pytest.mark.parametrize(("conditions", "code"), INVALID_MODELS.values(), ids=INVALID_MODELS)
def test_conditions_without_a_meaning_are_refused(openfga: OpenFga, conditions: dict[str, Any], code: str) -> None:
    answer = openfga.post("authorization-models", with_condition(conditions))
    if code:
        assert (answer.status_code, answer.json()["code"]) == (400, code), answer.text
    else:
        assert answer.status_code in (201, 400)


@pytest.mark.parametrize(
    "body",
    [
        {**BELOW, **condition("unused", "true")},
        condition("below", "p0 || true", **{f"p{n}": of_type("BOOL") for n in range(25)}),
        condition("below", f"'{'a' * 500}' != ''"),
        {**BELOW, **{f"c{n}": {"name": f"c{n}", "expression": "true"} for n in range(24)}},
    ],
)
def test_conditions_may_be_as_many_and_as_long_as_with_openfga(openfga: OpenFga, body: dict[str, Any]) -> None:
    openfga.write_model(with_condition(body))


def read(openfga: OpenFga, **tuple_key: str) -> list[dict[str, Any]]:
    answer = openfga.post("read", {"tuple_key": tuple_key} if tuple_key else {})
    assert answer.status_code == 200, answer.text
    return [tuple_read["key"] for tuple_read in answer.json()["tuples"]]


VALUES: dict[str, tuple[dict[str, Any], list[Any], list[Any]]] = {
    "b": (of_type("BOOL"), [True], ["true", 1, None]),
    "s": (of_type("STRING"), ["5", "é\u0000"], [5, True]),
    "i": (of_type("INT"), [5, "5", 5.0, -(2**63), str(2**63 - 1)], [5.5, "a", True, 2**63]),
    "u": (of_type("UINT"), [0, "7"], [-1, "-1", 1.5]),
    "d": (of_type("DOUBLE"), [1, 1.5, "1.5"], ["x", False]),
    "at": (of_type("TIMESTAMP"), ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.5+02:00"], ["2026-01-02", 5]),
    "lasts": (of_type("DURATION"), ["1h30m", "-1.5s"], ["1 hour", 60]),
    "l": (of_type("LIST", of_type("STRING")), [[], ["a"]], [["a", 1], "a"]),
    "m": (of_type("MAP", of_type("INT")), [{}, {"a": 1, "b": "2"}], [{"a": "x"}, [1]]),
    "x": (ANY, [1, "a", [1, {"a": None}], {"b": {}}], [None]),
    "ip": (of_type("IPADDRESS"), ["10.0.0.1", "::1"], ["10.0.0", 1]),
}
TYPED = condition("typed", "true", **{name: declared for name, (declared, _, _) in VALUES.items()})


@pytest.fixture(scope="module")
def typed(shared_client: Client) -> OpenFga:
    openfga = OpenFga.create(shared_client)
    openfga.write_model(
        {**model(define("user"), define("file", viewer=(this(), ["user with typed"]))), "conditions": TYPED}
    )
    return openfga


@pytest.mark.parametrize("name", VALUES)
def test_a_tuple_gives_values_of_the_types_of_the_parameters(typed: OpenFga, name: str) -> None:
    _, right, wrong = VALUES[name]
    for number, value in enumerate(right):
        written = conditional(f"file:{name}{number} viewer user:ann", "typed", **{name: value})
        assert put(typed, written).status_code == 200, value
        assert read(typed, object=written["object"]) == [written]
    for value in wrong:
        refused = put(typed, conditional(f"file:{name} viewer user:ann", "typed", **{name: value}))
        assert (refused.status_code, refused.json()["code"]) == (400, "validation_error"), value


def test_contexts_are_limited_to_32_kib(typed: OpenFga) -> None:
    size = len('{"s":""}')
    largest, larger = "a" * (32_768 - size), "a" * (32_769 - size)

    assert put(typed, conditional("file:large viewer user:ann", "typed", s=larger)).status_code == 400
    assert put(typed, conditional("file:large viewer user:ann", "typed", s=largest)).status_code == 200
    assert read(typed, object="file:large")[0]["condition"]["context"] == {"s": largest}


def test_a_condition_without_a_context_is_read_with_an_empty_one(openfga: OpenFga) -> None:
    openfga.write_model(MODEL)
    assert put(openfga, {**key("file:a viewer user:ann"), "condition": {"name": "below"}}).status_code == 200
    assert put(openfga, key("file:a owner user:ann")).status_code == 200

    assert [row["condition"] for row in read(openfga, object="file:a")] == [{"name": "below", "context": {}}, None]


REFUSED = {
    "a form without the condition": conditional("file:a owner user:ann", "below"),
    "a form only with a condition": key("file:a viewer user:*"),
    "an undefined condition": conditional("file:a viewer user:ann", "other"),
    "a name of one character": conditional("file:a viewer user:ann", "x"),
    "an unknown parameter": conditional("file:a viewer user:ann", "below", other=1),
    "a condition without a name": {**key("file:a viewer user:ann"), "condition": {"context": {"limit": 1}}},
    "a condition that is a text": {**key("file:a viewer user:ann"), "condition": "below"},
    "a context that is a list": {**key("file:a viewer user:ann"), "condition": {"name": "below", "context": [1]}},
}


@pytest.mark.parametrize("written", REFUSED.values(), ids=REFUSED)
def test_tuples_that_the_model_does_not_allow_are_refused(filled: OpenFga, written: dict[str, Any]) -> None:
    refused = put(filled, written)
    assert (refused.status_code, refused.json()["code"]) == (400, "validation_error"), refused.text
    body = {"tuple_key": key("file:a viewer user:ann"), "contextual_tuples": {"tuple_keys": [written]}}
    refused = filled.post("check", body)
    given = written.get("condition", {})
    malformed = isinstance(given, str) or isinstance(given.get("context"), list)
    assert refused.json()["code"] == ("validation_error" if malformed else "invalid_tuple"), refused.text


def test_the_condition_is_no_part_of_the_key_of_a_tuple(openfga: OpenFga) -> None:
    openfga.write_model(MODEL)
    plain, five = key("file:a viewer user:ann"), conditional("file:a viewer user:ann", "below", limit=5)
    six = conditional("file:a viewer user:ann", "below", limit=6)

    for first, others in ((plain, (plain, five)), (five, (plain, five, six))):
        assert put(openfga, first).status_code == 200
        for other in others:
            refused = put(openfga, other)
            assert (refused.status_code, refused.json()["code"]) == (400, "write_failed_due_to_invalid_input")
            ignored = put(openfga, other, key("file:b owner user:ann"), on_duplicate="ignore")
            if other == first:
                assert ignored.status_code == 200
            else:
                assert (ignored.status_code, ignored.json()["code"]) == (409, "Aborted")
                assert read(openfga, object="file:b") == []
            delete(openfga, "file:b owner user:ann", on_missing="ignore")
        assert read(openfga, object="file:a", user="user:ann") == [{"condition": None, **first}]
        assert delete(openfga, "file:a viewer user:ann").status_code == 200
        assert read(openfga, object="file:a") == []
    twice = put(openfga, plain, five)
    assert twice.json()["code"] == "cannot_allow_duplicate_tuples_in_one_request"
    refused = delete(openfga, "file:a viewer user:ann")
    assert (refused.status_code, refused.json()["code"]) == (400, "write_failed_due_to_invalid_input")
    assert delete(openfga, "file:a viewer user:ann", on_missing="ignore").status_code == 200


def test_a_contextual_tuple_counts_instead_of_a_stored_one_with_its_key(filled: OpenFga) -> None:
    text = "file:a viewer user:ann"

    assert check(filled, text, conditional(text, "below", limit=9), context={"level": 8}) is True
    assert check(filled, text, conditional(text, "below", limit=0), context={"level": 3}) is False
    assert check(filled, text, key(text)) is True
    assert check(filled, text, conditional(text, "below", limit=0), key(text), context={"level": 3}) is False
    assert check(filled, "file:c viewer user:x", conditional("file:c viewer user:x", "below", limit=5)) is None


def list_objects(openfga: OpenFga, user: str, *contextual: dict[str, Any], **context: Any) -> list[str] | None:
    body = {"type": "file", "relation": "viewer", "user": user, "context": context}
    answer = openfga.post("list-objects", {**body, "contextual_tuples": {"tuple_keys": [*contextual]}})
    if answer.status_code == 400:
        assert answer.json()["code"] == "validation_error"
        return None
    return sorted(answer.json()["objects"])


def list_users(openfga: OpenFga, object_id: str, *contextual: dict[str, Any], **context: Any) -> list[Any] | None:
    body = {"object": {"type": "file", "id": object_id}, "relation": "viewer", "user_filters": [{"type": "user"}]}
    answer = openfga.post("list-users", {**body, "context": context, "contextual_tuples": [*contextual]})
    if answer.status_code == 400:
        assert answer.json()["code"] == "validation_error"
        return None
    return sorted(each.get("object", {}).get("id", "*") for each in answer.json()["users"])


def test_lists_have_what_checks_allow_with_the_context(filled: OpenFga) -> None:
    extra = conditional("file:b viewer user:ann", "below", limit=4)
    stricter = conditional("file:a viewer user:ann", "below", limit=1)

    assert list_objects(filled, "user:ann", level=3) == ["file:a"]
    assert list_objects(filled, "user:ann", extra, level=3) == ["file:a", "file:b"]
    assert list_objects(filled, "user:ann", extra, level=4) == ["file:a"]
    assert list_objects(filled, "user:ann", stricter, level=3) == []
    assert list_objects(filled, "user:ann", level=5) == []
    assert list_objects(filled, "user:ann") is None
    assert list_objects(filled, "user:zoe", level=1) == ["file:a"]
    assert list_users(filled, "a", level=1) == ["*", "ann", "cleo"]
    assert list_users(filled, "a", level=6) == ["cleo"]
    assert list_users(filled, "a", stricter, level=3) == ["cleo"]
    assert list_users(filled, "a") is None
    assert list_users(filled, "b") == []


def test_changes_show_the_condition_of_a_tuple_that_was_written(openfga: OpenFga) -> None:
    openfga.write_model(MODEL)
    written = conditional("file:a viewer user:ann", "below", limit=5)
    assert put(openfga, written).status_code == 200
    assert delete(openfga, "file:a viewer user:ann").status_code == 200

    changes = openfga.get("changes").json()["changes"]

    assert [change["tuple_key"] for change in changes] == [written, {**written, "condition": None}]


def test_a_check_uses_the_condition_of_the_model_that_it_names(openfga: OpenFga) -> None:
    first = openfga.write_model(MODEL)
    assert put(openfga, conditional("file:a viewer user:ann", "below", limit=5)).status_code == 200
    above = condition("below", "level > limit", level=of_type("INT"), limit=of_type("INT"))
    openfga.write_model({**MODEL, "conditions": above})
    renamed = {**MODEL, "conditions": {"b": {**BELOW["below"], "name": "b"}}}
    without = openfga.write_model(_replace_condition(renamed, "b"))
    newest = openfga.write_model({**MODEL, "conditions": above})

    for level, expected in ((3, (True, False)), (7, (False, True))):
        decided = [
            check(openfga, "file:a viewer user:ann", context={"level": level}, authorization_model_id=model_id)
            for model_id in (first, newest)
        ]
        assert decided == [*expected]
    assert check(openfga, "file:a viewer user:ann", authorization_model_id=without) is False
    assert read(openfga, object="file:a")[0]["condition"]["name"] == "below"


def _replace_condition(body: Any, name: str) -> Any:
    if isinstance(body, dict):
        return {
            key: name if key == "condition" and value == "below" else _replace_condition(value, name)
            for key, value in body.items()
        }
    return [_replace_condition(each, name) for each in body] if isinstance(body, list) else body


def test_a_parameter_may_have_the_name_of_a_word_of_policies(openfga: OpenFga) -> None:
    before = condition("before", "now < until", now=of_type("TIMESTAMP"), until=of_type("TIMESTAMP"))
    forms = ["user with before"]
    openfga.write_model({**model(define("user"), define("file", viewer=(this(), forms))), "conditions": before})
    written = conditional("file:a viewer user:ann", "before", until="2026-01-02T00:00:00Z")
    given = conditional("file:b viewer user:ann", "before", until="2026-01-02T00:00:00Z", now="2026-01-01T00:00:00Z")
    assert put(openfga, written, given).status_code == 200

    assert check(openfga, "file:a viewer user:ann", context={"now": "2026-01-01T23:59:59Z"}) is True
    assert check(openfga, "file:a viewer user:ann", context={"now": "2026-01-02T00:00:00Z"}) is False
    assert list_objects(openfga, "user:ann", now="2026-01-01T00:00:00+00:00") == ["file:a", "file:b"]
    assert check(openfga, "file:b viewer user:ann") is True
    assert read(openfga, object="file:b") == [given]


def with_forms(*forms: str) -> dict[str, Any]:
    return {**model(define("user"), define("file", viewer=(this(), [*forms]))), "conditions": BELOW}


def test_no_tuple_without_a_condition_counts_where_the_newest_model_demands_one(openfga: OpenFga) -> None:
    first = openfga.write_model(with_forms("user", "user with below", "user:*"))
    plain = key("file:a viewer user:ann")
    assert put(openfga, plain, key("file:a viewer user:*")).status_code == 200

    refused = openfga.post("authorization-models", with_forms("user with below", "user:*"))
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_authorization_model")
    assert delete(openfga, "file:a viewer user:ann").status_code == 200
    openfga.write_model(with_forms("user with below", "user:*"))

    refused = openfga.post("write", {"writes": {"tuple_keys": [plain]}, "authorization_model_id": first})
    assert (refused.status_code, refused.json()["code"]) == (400, "validation_error")
    assert put(openfga, conditional("file:a viewer user:ann", "below", limit=5)).status_code == 200
    openfga.write_model(with_forms("user with below", "user:*"))


def test_a_tuple_with_a_condition_that_no_model_has_any_more_can_be_deleted(openfga: OpenFga) -> None:
    openfga.write_model(MODEL)
    keys = [conditional(f"file:{name} viewer user:ann", "below", limit=5) for name in "ab"]
    assert put(openfga, *keys).status_code == 200
    openfga.write_model(model(define("user"), define("file", viewer=(this(), ["user"]))))

    assert check(openfga, "file:a viewer user:ann", context={"level": 1}) is False
    assert read(openfga, object="file:a") == [keys[0]]
    assert delete(openfga, "file:a viewer user:ann").status_code == 200
    assert delete(openfga, "file:b viewer user:ann", on_missing="ignore").status_code == 200
    assert read(openfga) == []
    assert delete(openfga, "file:a viewer user:ann").status_code == 400
