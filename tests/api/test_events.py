"""Lists of events (docs/compatibility.md#events)."""

import binascii
import re
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import pytest

from magistrate.operations.checks import decision_log
from magistrate.operations.history.events import DEFINITIONS, RESOURCE_KINDS
from magistrate.operations.keys.caller_keys import key_digest
from tests.api.recorded_events import Event, decisions, listed, logging_client
from tests.issuing import issue_key
from tests.running import KEY, Client, running_service, settings_for, wait_for_stopped_services
from tests.scenario_files import warrant_body

__all__ = ["logging_client"]  # fixtures

LISTS = ["/v2/resource-events", "/v2/access-events", "/v1/resource-events", "/v1/access-events"]
NOT_A_TIME = "Must be an integer specifying a unix timestamp in microseconds"
DECIDED = ("access_allowed", "access_denied")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
TOKEN = re.compile(r"[\w-]{28,}")
AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


APART = ("id", "createdAt", "token", "actor", "requestId")


def bare(rows: list[Event]) -> list[Event]:
    """Without what differs from run to run, which is looked at here."""
    assert all(AT.fullmatch(row["createdAt"]) for row in rows)
    assert all(re.fullmatch(r"[\w-]{36}", row["id"]) for row in rows)
    assert len({row["id"] for row in rows}) == len(rows)
    assert {row["actor"] for row in rows} == {f"key-{key_digest(KEY)[:8]}"}
    assert all(UUID.fullmatch(row["requestId"]) for row in rows)
    assert all(TOKEN.fullmatch(row["token"]) for row in rows)
    return [{name: value for name, value in row.items() if name not in APART} for row in rows]


def microseconds(row: Event) -> int:
    """Of its createdAt, which has up to six digits behind the second."""
    whole, _, fraction = row["createdAt"].rstrip("Z").partition(".")
    return int(time.mktime(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) - time.timezone) * 1_000_000 + int(
        fraction.ljust(6, "0") or 0
    )


def test_the_life_of_an_object_is_reported_the_newest_first(logging_client: Client) -> None:
    path = "/v2/objects/document/life"
    body = {"objectType": "document", "objectId": "life", "meta": {"title": "Plän", "n": 1}}
    logging_client.post("/v2/objects", json=body).raise_for_status()
    logging_client.post("/v2/objects", json=body).raise_for_status()  # changes nothing
    logging_client.put(path, json={"meta": {"n": 2}}).raise_for_status()
    logging_client.put(path, json={"meta": None}).raise_for_status()
    logging_client.delete(path).raise_for_status()

    rows = listed(logging_client, "/v2/resource-events", resourceId="life")

    event = {"source": "api", "kind": "object", "resourceType": "document", "resourceId": "life"}
    assert bare(rows) == [
        {"type": "deleted", **event},
        {"type": "updated", **event},
        {"type": "updated", **event, "meta": {"n": 2}},
        {"type": "created", **event, "meta": {"title": "Plän", "n": 1}},
    ]


def test_a_change_is_reported_with_the_token_of_the_write_that_made_it(logging_client: Client) -> None:
    written = logging_client.post("/v2/objects", json={"objectType": "document", "objectId": "tok"})
    warrant = {"objectType": "document", "objectId": "tok", "relation": "viewer"}
    subject = {"objectType": "user", "objectId": "ann"}
    granted = logging_client.post("/v2/warrants", json=warrant | {"subject": subject})

    [created] = listed(logging_client, "/v2/resource-events", resourceId="tok")
    [access] = listed(logging_client, "/v2/access-events", objectId="tok")

    assert created["token"] == written.headers["Warrant-Token"]
    assert access["token"] == granted.headers["Warrant-Token"]


def test_events_tell_who_made_the_request_and_which_it_was(logging_client: Client) -> None:
    secret = issue_key(logging_client, "curious", "check", "write")
    with Client(str(logging_client.base_url), secret) as client:
        written = client.post("/v2/warrants", json=warrant_body("document:who#viewer@user:ann"))
        asked = [client.ask("document:who#viewer@user:ann") for _ in range(2)]

    found = {row["requestId"]: row for row in decisions(logging_client, 2, objectId="who")}
    [granted] = listed(logging_client, "/v2/access-events", objectId="who", type="access_granted")
    assert {*found} == {answer.headers["Warrant-Request-Id"] for answer in asked}
    assert {row["actor"] for row in found.values()} == {"curious"}
    assert (granted["actor"], granted["requestId"]) == ("curious", written.headers["Warrant-Request-Id"])


def test_what_is_deleted_is_reported_with_what_it_had(logging_client: Client) -> None:
    logging_client.post("/v2/objects", json={"objectType": "document", "objectId": "had", "meta": {"n": 1}})
    logging_client.delete("/v2/objects/document/had").raise_for_status()

    [row] = bare(listed(logging_client, "/v2/resource-events", resourceId="had", type="deleted"))

    assert row["meta"] == {"n": 1}


def test_object_types_are_resources_of_their_own_type(logging_client: Client) -> None:
    logging_client.define({"room": {"owner": {}}})
    logging_client.define({"room": {"owner": {}, "guest": {"inheritIf": "owner"}}})
    logging_client.delete("/v2/object-types/room").raise_for_status()
    logging_client.post("/v2/objects", json={"objectType": "object-type", "objectId": "room"}).raise_for_status()

    rows = bare(listed(logging_client, "/v2/resource-events", resourceType="object-type", resourceId="room"))

    event = {"source": "api", "kind": "object-type", "resourceType": "object-type", "resourceId": "room"}
    definition = {"relations": {"owner": {}, "guest": {"inheritIf": "owner"}}}
    assert rows == [
        {"type": "created", **event, "kind": "object"},  # an object with a type of this name
        {"type": "deleted", **event, "meta": definition},
        {"type": "updated", **event, "meta": definition},
        {"type": "created", **event, "meta": {"relations": {"owner": {}}}},
    ]


def test_named_policies_are_resources_of_a_type_of_their_own(logging_client: Client) -> None:
    weekdays = {"name": "weekdays", "parameters": {"day": "integer"}, "expression": "day < 6"}
    logging_client.post("/v2/policies", json=weekdays).raise_for_status()
    logging_client.post("/v2/policies", json=weekdays | {"expression": "day < 5"}).raise_for_status()
    logging_client.delete("/v2/policies/weekdays").raise_for_status()

    rows = bare(listed(logging_client, "/v2/resource-events", resourceType="named-policy", resourceId="weekdays"))
    all_rows = bare(listed(logging_client, "/v2/resource-events", resourceId="weekdays"))

    event = {"source": "api", "kind": "named-policy", "resourceType": "named-policy", "resourceId": "weekdays"}
    first, second = ({"parameters": {"day": "integer"}, "expression": f"day < {day}"} for day in (6, 5))
    assert rows == [
        {"type": "deleted", **event, "meta": second},
        {"type": "updated", **event, "meta": second},
        {"type": "created", **event, "meta": first},
    ]
    assert all_rows == rows


@pytest.mark.parametrize("name", DEFINITIONS.values())
def test_an_object_type_that_is_called_like_a_kind_of_definition_is_no_definition(
    logging_client: Client, name: str
) -> None:
    logging_client.define({name: {"owner": {}}, "other": {"owner": {}}})
    logging_client.post("/v2/policies", json={"name": "kinds", "expression": "true"}).raise_for_status()
    logging_client.post("/v2/objects", json={"objectType": name, "objectId": "own"}).raise_for_status()
    secret = issue_key(logging_client, "limited", "events", objectTypes=[name])

    with Client(str(logging_client.base_url), secret) as limited:
        for path in ("/v2/resource-events", "/v1/resource-events"):
            for only in ({}, {"kind": "object"}):
                rows = listed(limited, path, resourceType=name, **only)
                assert {(row["kind"], row["resourceId"]) for row in rows} <= {("object", "own"), ("object", "room")}
                assert "own" in {row["resourceId"] for row in rows}
            for kind in DEFINITIONS.values():
                assert limited.get(path, params={"resourceType": name, "kind": kind}).status_code == 403
            for parameters in ({}, {"kind": "object"}, {"kind": name}):
                assert limited.get(path, params=parameters).status_code == 403
    for kind in RESOURCE_KINDS:
        rows = listed(logging_client, "/v2/resource-events", kind=kind, limit=1000)
        assert {row["kind"] for row in rows} == ({kind} if kind != "webhook" else set())  # none has ended
        of_name = [row for row in rows if row["resourceType"] == name]
        assert listed(logging_client, "/v2/resource-events", kind=kind, resourceType=name) == of_name
    assert listed(logging_client, "/v2/resource-events", kind="other") == []


def test_objects_that_a_warrant_creates_are_reported(logging_client: Client) -> None:
    logging_client.grant("document:implicit#viewer@user:implied")

    rows = bare(
        [row for event_id in ("implicit", "implied") for row in listed(logging_client, LISTS[0], resourceId=event_id)]
    )

    assert [(row["type"], row["resourceType"]) for row in rows] == [("created", "document"), ("created", "user")]


def test_warrants_are_reported_as_access_that_is_granted_and_revoked(logging_client: Client) -> None:
    warrant = {"objectType": "document", "objectId": "shared", "relation": "viewer"}
    group = {"objectType": "team", "objectId": "eng", "relation": "member"}
    with_policy = warrant | {"subject": {"objectType": "user", "objectId": "ann"}, "policy": 'x == "é"'}
    for body in (with_policy, warrant | {"subject": group}):
        logging_client.post("/v2/warrants", json=body).raise_for_status()
    logging_client.delete_json("/v2/warrants", with_policy).raise_for_status()

    rows = bare(listed(logging_client, "/v2/access-events", objectId="shared"))

    event = {"source": "api", **warrant}
    of_ann = {"subjectType": "user", "subjectId": "ann", "meta": {"policy": 'x == "é"'}}
    assert rows == [
        {"type": "access_revoked", **event, **of_ann},
        {"type": "access_granted", **event, "subjectType": "team", "subjectId": "eng", "subjectRelation": "member"},
        {"type": "access_granted", **event, **of_ann},
    ]


def test_of_a_deletion_that_takes_warrants_along_only_the_object_is_reported(logging_client: Client) -> None:
    logging_client.grant("document:gone#viewer@user:left", "document:other#viewer@document:gone#editor")
    logging_client.delete("/v2/objects/document/gone").raise_for_status()

    resources = listed(logging_client, "/v2/resource-events", resourceId="gone")
    granted = listed(logging_client, "/v2/access-events", objectId="gone")
    to_group = listed(logging_client, "/v2/access-events", subjectId="gone")

    assert [row["type"] for row in resources] == ["deleted", "created"]
    assert [row["type"] for row in [*granted, *to_group]] == ["access_granted", "access_granted"]


def test_each_warrant_of_a_check_that_was_decided_is_reported(logging_client: Client) -> None:
    logging_client.grant("document:asked#viewer@user:yes")
    yes, no = (
        {
            "objectType": "document",
            "objectId": "asked",
            "relation": "viewer",
            "subject": {"objectType": "user", "objectId": event_id},
        }
        for event_id in ("yes", "no")
    )
    asked: list[tuple[str | None, list[Event], list[str]]] = [
        (None, [yes], ["yes"]),
        (None, [no], ["no"]),
        ("anyOf", [no, yes, no], ["no", "yes"]),
        ("allOf", [yes, no, yes], ["yes", "no"]),
        ("batch", [yes, no, yes], ["yes", "no", "yes"]),
    ]
    expected = []

    for debug in (False, False, True):  # what is not in memory yet, then what is, then the path as well
        for op, warrants, decided in asked:
            body = {"warrants": warrants, "debug": debug} | ({"op": op} if op else {})
            logging_client.post("/v2/check", json=body).raise_for_status()
            expected += decided

    rows = bare(decisions(logging_client, len(expected), objectId="asked"))
    assert [row["subjectId"] for row in reversed(rows)] == expected
    assert {(row["subjectId"], row["type"]) for row in rows} == {("yes", "access_allowed"), ("no", "access_denied")}
    assert all("meta" not in row and "subjectRelation" not in row for row in rows)


def test_a_query_decides_nothing_that_is_reported(logging_client: Client) -> None:
    logging_client.grant("document:queried#viewer@user:ann")
    named = {"select": "warrants", "for": "object=document:queried,subject=user:ann"}

    assert len(logging_client.get("/v1/query", params=named).json()) == 1
    logging_client.ask("document:queried#editor@user:ann").raise_for_status()

    assert [row["relation"] for row in decisions(logging_client, 1, objectId="queried")] == ["editor"]


def test_the_context_of_a_check_is_its_meta(logging_client: Client) -> None:
    logging_client.ask("document:ctx#viewer@user:ann", context={"a": {"b": [1.5, None, "é"]}}).raise_for_status()
    logging_client.ask("document:ctx#viewer@team:eng#member").raise_for_status()

    group, own = bare(decisions(logging_client, 2, objectId="ctx"))

    assert own["meta"] == {"a": {"b": [1.5, None, "é"]}}
    assert (group["subjectType"], group["subjectRelation"], "meta" in group) == ("team", "member", False)


@pytest.fixture(scope="module")
def busy_client(logging_client: Client) -> Client:
    """A log in which the same names come in many combinations, several at the same time."""
    bodies = [{"objectType": "document", "objectId": f"b{number}", "meta": {"n": number}} for number in range(5)]
    logging_client.post("/v2/objects", json=bodies).raise_for_status()
    logging_client.post("/v2/objects", json=[*bodies[::2], bodies[1] | {"meta": {}}]).raise_for_status()
    claims = [
        f"document:b{n}#{relation}@{subject}"
        for n in range(3)
        for relation in ("viewer", "editor")
        for subject in ("user:b1", "user:b2", "team:b1#member", "user:*")
    ]
    logging_client.grant(*claims)
    before = len(decisions(logging_client, 0))
    for claim in claims[::3]:
        logging_client.ask(claim).raise_for_status()
        logging_client.ask(claim.replace("b", "c")).raise_for_status()
    logging_client.delete("/v2/objects/document/b2").raise_for_status()
    decisions(logging_client, before + 2 * len(claims[::3]))
    return logging_client


FILTERED = [
    *[(name, "resource", ("type", "source", "kind", "resourceType", "resourceId")) for name in ("v1", "v2")],
    *[
        (
            name,
            "access",
            ("type", "source", "objectType", "objectId", "relation", "subjectType", "subjectId", "subjectRelation"),
        )
        for name in ("v1", "v2")
    ],
]


@pytest.mark.parametrize(("version", "of", "parameters"), FILTERED)
def test_each_filter_leaves_the_events_with_this_value(
    busy_client: Client, version: str, of: str, parameters: tuple[str, ...]
) -> None:
    path = f"/{version}/{of}-events"
    every = listed(busy_client, path, limit=1000)

    for parameter in parameters:
        values = {row[parameter] for row in every if parameter in row}
        assert values
        for value in sorted(values)[:8]:
            expected = [row for row in every if row.get(parameter) == value]
            assert listed(busy_client, path, limit=1000, **{parameter: value}) == expected
        assert listed(busy_client, path, limit=1000, **{parameter: ""}) == every
        for value in ("nothing-has-this", "NOT A NAME", "a\0b", "x" * 300):
            assert listed(busy_client, path, **{parameter: value}) == []


def test_filters_hold_together(busy_client: Client) -> None:
    only = {"objectType": "document", "objectId": "b1", "relation": "viewer", "subjectType": "user", "subjectId": "b2"}

    rows = listed(busy_client, "/v2/access-events", type="access_granted", **only)

    assert [row["type"] for row in rows] == ["access_granted"]
    assert only.items() <= rows[0].items()
    assert listed(busy_client, "/v2/access-events", type="access_revoked", **only) == []


@pytest.mark.parametrize("path", LISTS)
def test_both_ends_of_a_span_are_in_it(busy_client: Client, path: str) -> None:
    every = listed(busy_client, path, limit=1000)
    times = [microseconds(row) for row in every]
    of_changes = [at for at, row in zip(times, every, strict=True) if row["type"] not in DECIDED]
    assert of_changes == sorted(of_changes, reverse=True)
    assert len(set(times)) < len(times)

    since, until = sorted(times)[2], sorted(times)[-3]

    expected = [row for row, at in zip(every, times, strict=True) if since <= at <= until]
    assert listed(busy_client, path, since=since, until=until, limit=7) == expected
    assert listed(busy_client, path, since=times[0], until=times[0]) == [
        r for r, at in zip(every, times, strict=True) if at == times[0]
    ]
    assert listed(busy_client, path, since=max(times) + 1) == []
    assert listed(busy_client, path, until=min(times) - 1) == []
    assert listed(busy_client, path, since="-5", until="9" * 40, limit=1000) == every
    assert listed(busy_client, path, since="", until="", limit=1000) == every


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    ("parameters", "parameter", "message"),
    [
        ({"since": "x"}, "since", NOT_A_TIME),
        ({"until": "2025-01-01"}, "until", NOT_A_TIME),
        ({"since": "1.5", "until": "y"}, "since", NOT_A_TIME),
        ({"since": "٣"}, "since", NOT_A_TIME),
        ({"since": "9" * 5000}, "since", NOT_A_TIME),
        ({"since": "2", "until": "1"}, "since", "Must be a date occurring before the until date"),
        ({"limit": "0"}, "limit", "must be an integer greater than 0 and less than or equal to 1000"),
    ],
)
def test_the_first_bad_parameter_is_named(
    logging_client: Client, path: str, parameters: dict[str, str], parameter: str, message: str
) -> None:
    answer = logging_client.get(path, params=parameters)

    expected = {"code": "invalid_parameter", "message": message, "parameter": parameter}
    assert (answer.status_code, answer.json()) == (400, expected)


def chained(client: Client, path: str, name: str, cursor: dict[str, str], **parameters: Any) -> list[Event]:
    """The page at this cursor, and all pages after it by its cursors of this name."""
    pages = [client.get(path, params=parameters | cursor).json()]
    while name in pages[-1]:
        pages.append(client.get(path, params=parameters | {name: pages[-1][name]}).json())
    return pages


@pytest.mark.parametrize("path", LISTS[:2])
@pytest.mark.parametrize("order", ["DESC", "ASC"])
def test_pages_go_forwards_and_back_at_any_size(busy_client: Client, path: str, order: str) -> None:
    every = listed(busy_client, path, limit=1000, sortOrder=order)
    assert (every == listed(busy_client, path, limit=1000)) == (order == "DESC")

    for size in (1, 3, 10, len(every) - 1, len(every)):
        forwards = chained(busy_client, path, "nextCursor", {}, limit=size, sortOrder=order)
        last = {name: cursor for name, cursor in forwards[-1].items() if name == "prevCursor"}
        back = chained(busy_client, path, "prevCursor", last, limit=size, sortOrder=order) if last else []
        assert [row for page in forwards for row in page["results"]] == every
        assert back[::-1] == [page for page in forwards[:-1] if page["results"]]
        assert "prevCursor" not in forwards[0]


@pytest.mark.parametrize("path", LISTS[2:])
@pytest.mark.parametrize("limit", [1, 4, 1000])
def test_pages_of_v1_go_on_behind_the_last_id(busy_client: Client, path: str, limit: int) -> None:
    rows = listed(busy_client, path, limit=limit)

    assert rows == listed(busy_client, path.replace("v1", "v2"), limit=1000)
    behind_the_third = busy_client.get(path, params={"lastId": rows[2]["id"], "limit": 2}).json()["events"]
    assert behind_the_third == rows[3:5]
    assert busy_client.get(path, params={"lastId": rows[-1]["id"]}).json() == {"events": []}


def test_a_list_can_only_be_sorted_by_time(logging_client: Client) -> None:
    for path in LISTS[:2]:
        answer = logging_client.get(path, params={"sortBy": "type"})
        assert answer.json() == {"code": "invalid_parameter", "message": "unsupported sortBy", "parameter": "sortBy"}


def test_a_cursor_of_one_list_is_none_of_the_other(busy_client: Client) -> None:
    cursor = busy_client.get("/v2/resource-events", params={"limit": 1}).json()["nextCursor"]

    answer = busy_client.get("/v2/access-events", params={"nextCursor": cursor})

    assert (answer.status_code, answer.json()["parameter"]) == (400, "nextCursor")


def forged(client: Client, revision: int, source: int, number: int, of_another_store: bool = False) -> str:
    """An id with a right checksum."""
    token = client.get("/v2/resource-events").headers["service-token"]
    store_id = urlsafe_b64decode(token + "=" * (-len(token) % 4))[1:9]
    store_id = store_id[::-1] if of_another_store else store_id
    place = revision.to_bytes(8, "big") + bytes([source]) + number.to_bytes(8, "big") + bytes(6)
    return urlsafe_b64encode(place + binascii.crc32(place + store_id).to_bytes(4, "big")).decode()


@pytest.mark.parametrize("path", LISTS[2:])
def test_a_last_id_that_is_no_id_of_an_event_is_refused(logging_client: Client, path: str) -> None:
    event_id = listed(logging_client, "/v1/resource-events")[0]["id"]
    large = 2**64 - 1
    texts = [
        "",
        "x",
        "é" * 36,
        event_id[:-1],
        event_id + "A",
        event_id[:-1] + ("A" if event_id[-1] != "A" else "B"),
        "A" * 36,
        "+/" * 18,
    ]
    texts += [forged(logging_client, large, 0, 1), forged(logging_client, 1, 0, large), forged(logging_client, 1, 2, 1)]
    texts.append(forged(logging_client, 1, 1, 1, of_another_store=True))

    for text in texts:
        answer = logging_client.get(path, params={"lastId": text})
        expected = {"code": "invalid_parameter", "message": "invalid lastId", "parameter": "lastId"}
        assert (answer.status_code, answer.json()) == (400, expected), text
    assert logging_client.get(path, params={"lastId": forged(logging_client, 0, 1, 1)}).json() == {"events": []}


def test_checks_are_not_reported_unless_it_is_wanted(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_log, "WRITE_EVERY_SECONDS", 0.01)
    client.define({"document": {"viewer": {}}})
    client.grant("document:a#viewer@user:ann")
    client.ask("document:a#viewer@user:ann").raise_for_status()

    assert [row["type"] for row in listed(client, "/v2/access-events")] == ["access_granted"]


def test_decisions_that_cannot_wait_are_counted_and_those_that_wait_are_written_at_the_end(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decision_log, "WRITE_EVERY_SECONDS", 60)
    monkeypatch.setattr(decision_log, "MAX_WAITING", 3)
    settings = settings_for(database_url, decision_log=100)

    with running_service(settings) as url, Client(url) as client:
        client.define({"document": {"viewer": {}}})
        for _ in range(5):
            client.ask("document:a#viewer@user:ann").raise_for_status()
        counted = re.findall(r"^magistrate_decisions_dropped_total (\S+)$", client.get("/metrics").text, re.MULTILINE)
        before = listed(client, "/v2/access-events")
    wait_for_stopped_services()
    with running_service(settings) as url, Client(url) as client:
        after = listed(client, "/v2/access-events")

    assert (counted, before) == (["2.0"], [])
    assert [row["type"] for row in after] == ["access_denied"] * 3


def test_of_decisions_the_newest_are_kept(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_log, "WRITE_EVERY_SECONDS", 0.01)

    with running_service(settings_for(database_url, decision_log=2)) as url, Client(url) as client:
        client.define({"document": {"viewer": {}}})
        for number in range(5):
            client.ask(f"document:{number}#viewer@user:ann").raise_for_status()
        deadline = time.monotonic() + 20
        while [row["objectId"] for row in listed(client, "/v2/access-events")] != ["4", "3"]:
            assert time.monotonic() < deadline
            time.sleep(0.02)
