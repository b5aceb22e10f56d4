"""Reads as of the past over HTTP (docs/history.md)."""

import asyncio
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import httpx
import pytest

from magistrate.engine.names import Revision
from magistrate.operations.consistency import write_token
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.stored_rows import Identity
from magistrate.wiring.stores import open_store
from tests.databases import dump
from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body

MODEL: dict[str, Any] = {
    "user": {},
    "team": {"member": {}},
    "document": {"owner": {}, "viewer": {"inheritIf": "owner"}},
}
KIM, ANN = "document:plan#viewer@user:kim", "document:plan#owner@user:ann"
VIEWERS = "select viewer of type user for document:plan"
OF_KIM = "select document where user:kim is viewer"
GRANT, ANN_TOO, REVOKE, MODEL_CHANGE, OBJECT_CHANGE = range(5)


class History(NamedTuple):
    """What was done to a store: the token of each step, and the times of the first two, which answers state."""

    client: Client
    tokens: list[str]
    times: list[str]


def token_of(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    token: str = answer.headers["Warrant-Token"]
    return token


@pytest.fixture(scope="module")
def history(shared_client: Client) -> History:
    """Kim is granted access, then Ann; Kim's access is revoked; the model changes; the object changes."""
    client = shared_client
    client.define(MODEL)
    granted = [client.post("/v2/warrants", json=warrant_body(text)) for text in (KIM, ANN)]
    revoked = client.delete_json("/v2/warrants", warrant_body(KIM))
    relations = {"owner": {}, "viewer": {}, "editor": {"inheritIf": "owner"}}
    changed = client.put("/v2/object-types/document", json={"type": "document", "relations": relations})
    written = client.put("/v2/objects/document/plan", json={"meta": {"title": "Plan"}})
    steps = [*granted, revoked, changed, written]
    return History(client, [token_of(step) for step in steps], [answer.json()["createdAt"] for answer in granted])


def result(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    text: str = answer.json()["result"]
    return text


def found(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [f"{row['objectType']}:{row['objectId']}" for row in answer.json()["results"]]


def microseconds(time: str) -> int:
    """Since 1970 UTC."""
    return (datetime.fromisoformat(time) - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)


def error(answer: httpx.Response) -> tuple[int, str, str | None]:
    return answer.status_code, answer.json()["code"], answer.json().get("parameter")


def every_read(client: Client, as_of: str, **headers: str) -> dict[str, httpx.Response]:
    """The answers to all requests that take asOf."""
    paths = (
        "/v2/objects",
        "/v2/warrants",
        "/v2/object-types",
        "/v2/objects/document/plan",
        "/v2/object-types/document",
    )
    reads = {path: client.get(path, params={"asOf": as_of}, headers=headers) for path in paths}
    reads["/v2/query"] = client.get("/v2/query", params={"q": VIEWERS, "asOf": as_of}, headers=headers)
    reads["/v2/check"] = client.post(
        "/v2/check", json={"warrants": [warrant_body(KIM)], "asOf": as_of}, headers=headers
    )
    reads["/v2/explain"] = client.post("/v2/explain", json={**warrant_body(KIM), "asOf": as_of}, headers=headers)
    return reads


def test_a_check_is_answered_as_of_a_token_and_names_its_revision(history: History) -> None:
    client, tokens, _ = history

    answers = [client.ask(KIM, asOf=token) for token in tokens]

    assert [result(answer) for answer in answers] == ["Authorized"] * 2 + ["Not Authorized"] * 3
    assert [answer.headers["Warrant-Token"] for answer in answers] == tokens
    assert [answer.headers["Service-Token"] for answer in answers] == tokens


def test_a_check_is_answered_as_of_a_time_to_the_microsecond(history: History) -> None:
    client, tokens, times = history

    at_grant, at_second = (client.ask(KIM, asOf=time) for time in times)
    before = client.ask(ANN, asOf=times[0])

    assert (result(at_grant), result(at_second), result(before)) == ("Authorized", "Authorized", "Not Authorized")
    assert [answer.headers["Warrant-Token"] for answer in (at_grant, at_second)] == tokens[:2]


def test_times_of_all_zones_are_the_same_point(history: History) -> None:
    client, tokens, times = history
    year, _, rest = times[1].removesuffix("Z").partition("-")
    there = f"{year}-{rest}+00:00"

    assert client.ask(KIM, asOf=there).headers["Warrant-Token"] == tokens[1]
    assert client.get("/v2/objects", params={"asOf": there}).headers["Warrant-Token"] == tokens[1]


def test_the_newest_state_is_answered_as_before_and_after(history: History) -> None:
    client, tokens, _ = history

    results = [result(client.ask(KIM)), result(client.ask(KIM, asOf=tokens[0])), result(client.ask(KIM, asOf=None))]

    assert results == ["Not Authorized", "Authorized", "Not Authorized"]
    assert client.ask(KIM).headers["Warrant-Token"] == tokens[-1]


def test_a_batch_and_the_path_of_a_check_are_those_of_then(history: History) -> None:
    client, tokens, _ = history
    body = {"op": "batch", "warrants": [warrant_body(KIM), warrant_body(ANN)], "debug": True}

    first, second = (client.post("/v2/check", json=body | {"asOf": token}).json() for token in tokens[:2])

    assert [one["code"] for one in first] == [200, 403]
    assert [one["code"] for one in second] == [200, 200]
    assert [list(one["decisionPath"]) for one in second] == [[KIM], [ANN]]


def test_the_model_is_that_of_then(history: History) -> None:
    client, tokens, _ = history
    implied = ANN.replace("owner", "viewer")

    assert result(client.ask(implied, asOf=tokens[REVOKE])) == "Authorized"
    assert result(client.ask(implied, asOf=tokens[MODEL_CHANGE])) == "Not Authorized"
    assert result(client.ask(implied)) == "Not Authorized"
    assert found(client.get("/v2/query", params={"q": VIEWERS, "asOf": tokens[REVOKE]})) == ["user:ann"]
    assert found(client.get("/v2/query", params={"q": VIEWERS})) == []


def test_queries_list_what_there_was_in_both_directions(history: History) -> None:
    client, tokens, _ = history

    viewers = [found(client.get("/v2/query", params={"q": VIEWERS, "asOf": token})) for token in tokens]
    objects = [found(client.get("/v2/query", params={"q": OF_KIM, "asOf": token})) for token in tokens]

    assert viewers == [["user:kim"], ["user:ann", "user:kim"], ["user:ann"], [], []]
    assert objects == [["document:plan"], ["document:plan"], [], [], []]


def test_lists_and_single_reads_show_what_there_was(history: History) -> None:
    client, tokens, _ = history

    def read(path: str, step: int) -> Any:
        return client.get(path, params={"asOf": tokens[step]}).json()

    assert found(client.get("/v2/objects", params={"asOf": tokens[GRANT]})) == ["user:kim", "document:plan"]
    subjects = [row["subject"]["objectId"] for row in read("/v2/warrants", ANN_TOO)["results"]]
    assert subjects == ["kim", "ann"]
    assert [row["subject"]["objectId"] for row in read("/v2/warrants", REVOKE)["results"]] == ["ann"]
    assert "meta" not in read("/v2/objects/document/plan", MODEL_CHANGE)
    assert read("/v2/objects/document/plan", OBJECT_CHANGE)["meta"] == {"title": "Plan"}
    assert list(read("/v2/object-types/document", REVOKE)["relations"]) == ["owner", "viewer"]
    assert "editor" in read("/v2/object-types/document", MODEL_CHANGE)["relations"]
    [document] = [row for row in read("/v2/object-types", REVOKE)["results"] if row["type"] == "document"]
    assert "editor" not in document["relations"]


def test_every_read_names_the_revision_it_was_answered_at(history: History) -> None:
    client, tokens, _ = history

    for path, answer in every_read(client, tokens[ANN_TOO]).items():
        assert token_of(answer) == tokens[ANN_TOO], path


def test_what_did_not_exist_then_is_not_found(history: History) -> None:
    client, tokens, _ = history
    client.define({"invoice": {"payer": {}}})
    client.grant("invoice:1#payer@user:kim")
    body = {"warrants": [warrant_body("invoice:1#payer@user:kim")]}

    assert result(client.post("/v2/check", json=body)) == "Authorized"
    refused = client.post("/v2/check", json=body | {"asOf": tokens[GRANT]})
    assert (error(refused), refused.json()["key"]) == ((404, "not_found", None), "invoice")
    for path in ("/v2/objects/invoice/1", "/v2/object-types/invoice"):
        assert error(client.get(path, params={"asOf": tokens[GRANT]}))[0] == 404
    query = client.get("/v2/query", params={"q": "select invoice where user:kim is payer", "asOf": tokens[GRANT]})
    assert error(query)[0] == 404
    client.delete("/v2/object-types/invoice").raise_for_status()
    client.delete("/v2/objects/invoice/1").raise_for_status()


def test_a_strict_read_knows_the_names_of_then(history: History) -> None:
    client, tokens, _ = history
    editor = "document:plan#editor@user:kim"
    query = {"q": "select editor of type user for document:plan", "strict": "true"}

    assert error(client.ask(editor, strict=True, asOf=tokens[GRANT])) == (400, "invalid_parameter", "relation")
    assert result(client.ask(editor, strict=True, asOf=tokens[MODEL_CHANGE])) == "Not Authorized"
    assert error(client.get("/v2/query", params=query | {"asOf": tokens[GRANT]})) == (400, "invalid_parameter", "q")
    assert found(client.get("/v2/query", params=query | {"asOf": tokens[MODEL_CHANGE]})) == ["user:ann"]
    lists = {"relation": "editor", "objectType": "document", "strict": "true"}
    assert error(client.get("/v2/warrants", params=lists | {"asOf": tokens[GRANT]}))[2] == "relation"
    assert found(client.get("/v2/warrants", params=lists | {"asOf": tokens[MODEL_CHANGE]})) == []


@pytest.mark.parametrize("path", ["/v2/objects/document/plan", "/v2/object-types/document", "/v2/objects"])
def test_a_misspelled_parameter_of_a_strict_read_is_refused(history: History, path: str) -> None:
    refused = history.client.get(path, params={"strict": "true", "asof": history.tokens[0]})

    assert error(refused) == (400, "invalid_parameter", "asof")
    assert "did you mean asOf?" in refused.json()["message"]


def test_policies_are_evaluated_at_the_time_of_the_read(history: History) -> None:
    client = history.client
    text = "document:plan#owner@user:tim"
    created = client.post("/v2/warrants", json=warrant_body(text) | {"policy": 'expiresIn("1us")'})
    query = {"q": "select owner of type user for document:plan"}
    created_at = created.json()["createdAt"]

    assert result(client.ask(text)) == "Not Authorized"
    assert result(client.ask(text, asOf=created_at)) == "Authorized"
    assert result(client.ask(text, asOf=token_of(created))) == "Authorized"
    assert "user:tim" not in found(client.get("/v2/query", params=query))
    for as_of in (created_at, token_of(created)):
        for _ in range(2):  # the second is cut out of the listing that the first left
            assert "user:tim" in found(client.get("/v2/query", params=query | {"asOf": as_of}))
    client.delete_json("/v2/warrants", warrant_body(text) | {"policy": 'expiresIn("1us")'}).raise_for_status()


def test_the_id_of_an_event_names_a_revision_and_a_time_that_may_be_after_the_next_revision(history: History) -> None:
    client, (token, ann_too, *_), (_, reached_at) = history
    later = datetime.fromisoformat(reached_at) + timedelta(milliseconds=1)

    at, after = (f"{token}.{microseconds(time)}" for time in (reached_at, later.isoformat()))
    answers = [client.ask(text, asOf=as_of) for as_of in (at, after) for text in (KIM, ANN)]

    assert [result(answer) for answer in answers] == ["Authorized", "Not Authorized"] * 2
    assert {answer.headers["Warrant-Token"] for answer in answers} == {token}
    assert result(client.ask(ANN, asOf=ann_too)) == "Authorized"
    assert found(client.get("/v2/query", params={"q": VIEWERS, "asOf": after})) == ["user:kim"]


@pytest.mark.parametrize("time", ["", "x", "-1", "1.5", "9" * 18, "9" * 19, "٣"])
def test_the_id_of_an_event_has_a_time_that_is_past(history: History, time: str) -> None:
    for path, answer in every_read(history.client, f"{history.tokens[0]}.{time}").items():
        assert error(answer) == (400, "invalid_parameter", "asOf"), path


def test_later_pages_stay_at_the_revision_and_the_time_of_the_first(history: History) -> None:
    client = history.client
    warrants = [f"document:paged#owner@user:p{number}" for number in range(6)]
    for text in warrants:
        granted = client.post("/v2/warrants", json=warrant_body(text) | {"policy": 'expiresIn("10s")'})
    asked = {"q": "select owner of type user for document:paged", "limit": "2", "asOf": granted.json()["createdAt"]}
    expected = [f"user:p{number}" for number in range(6)]

    for resends in (True, False):
        rows, page = [], client.get("/v2/query", params=asked)
        while True:
            rows += found(page)
            assert token_of(page) == token_of(granted)
            client.post("/v2/objects", json={"objectType": "user", "objectId": f"p{len(rows)}-written"})
            if "nextCursor" not in page.json():
                break
            following = {"nextCursor": page.json()["nextCursor"]}
            page = client.get("/v2/query", params=asked | following if resends else {"q": asked["q"], **following})
            if rows == expected[:2]:
                client.delete("/v2/objects/document/paged")
        assert (rows, len(page.json().get("results", []))) == (expected, 2 if resends else len(expected) - 2)


@pytest.mark.parametrize("path", ["/v2/objects", "/v2/warrants", "/v2/object-types"])
def test_pages_of_lists_stay_where_the_first_one_was(history: History, path: str) -> None:
    client, tokens, times = history
    whole = client.get(path, params={"asOf": tokens[ANN_TOO], "limit": 1000}).json()["results"]

    for as_of in (tokens[ANN_TOO], times[1]):
        rows: list[Any] = []
        cursor: dict[str, str] = {}
        while not rows or cursor:
            page = client.get(path, params={"asOf": as_of, "limit": "1", **cursor})
            assert token_of(page) == tokens[ANN_TOO]
            rows += page.json()["results"]
            client.post("/v2/objects", json={"objectType": "user", "objectId": "aaa"}).raise_for_status()
            client.delete("/v2/objects/user/aaa").raise_for_status()
            cursor = {"nextCursor": page.json()["nextCursor"]} if "nextCursor" in page.json() else {}
        assert rows == whole
        last = client.get(path, params={"prevCursor": page.json()["prevCursor"], "limit": "1"})
        assert (token_of(last), last.json()["results"]) == (tokens[ANN_TOO], whole[-2:-1])


def test_a_cursor_of_another_point_in_time_is_refused(history: History) -> None:
    client, tokens, times = history
    asked = {"limit": "1", "asOf": tokens[ANN_TOO]}
    as_of = client.get("/v2/objects", params=asked).json()["nextCursor"]
    pinned = client.get("/v2/objects", params={"limit": "1", "snapshot": "true"}).json()["nextCursor"]
    damaged = as_of[:-1] + ("A" if as_of[-1] != "A" else "B")

    for other in (tokens[GRANT], tokens[OBJECT_CHANGE], times[0]):
        refused = client.get("/v2/objects", params={"nextCursor": as_of, "asOf": other})
        assert error(refused) == (400, "invalid_parameter", "nextCursor")
    for cursor in (pinned, damaged):
        refused = client.get("/v2/objects", params={"nextCursor": cursor, "asOf": tokens[ANN_TOO]})
        assert error(refused) == (400, "invalid_parameter", "nextCursor")
    refused = client.get("/v2/objects", params={"prevCursor": pinned, "asOf": tokens[ANN_TOO]})
    assert error(refused) == (400, "invalid_parameter", "prevCursor")


def test_a_cursor_of_no_revision_continues_as_of_any(history: History) -> None:
    client, tokens, _ = history
    cursor = client.get("/v2/objects", params={"limit": "1"}).json()["nextCursor"]

    answer = client.get("/v2/objects", params={"nextCursor": cursor, "asOf": tokens[ANN_TOO]})

    assert token_of(answer) == tokens[ANN_TOO]
    assert found(answer) == ["user:kim", "document:plan"]


def forged(history: History, revision: int) -> str:
    """A token of this store, made like its own, of a revision that it may not have."""
    store_id = urlsafe_b64decode_token(history.tokens[0])[1:9].hex()
    return write_token(Identity(store_id, "00" * 16), RevisionId(Revision(revision), None))


def urlsafe_b64decode_token(token: str) -> bytes:
    return urlsafe_b64decode(token + "=" * (-len(token) % 4))


MALFORMED = [
    "",
    " ",
    "latest",
    "now",
    "yesterday",
    "2026-11-20",
    "2026-11-20T10:00:00",
    "2026-13-20T10:00:00Z",
    "2026-11-20T25:00:00Z",
    "10000-01-01T00:00:00Z",
    "1763683200",
    "A" * 28,
    "A" * 100_000,
    "2026-11-20T10:00:00 02:00",
    "\0",
    "é",
    "null",
]


@pytest.mark.parametrize("as_of", MALFORMED, ids=lambda text: repr(text[:30]))
def test_what_is_neither_a_token_nor_a_time_is_refused(history: History, as_of: str) -> None:
    if len(as_of) < 1_000:
        for path, answer in every_read(history.client, as_of).items():
            assert error(answer) == (400, "invalid_parameter", "asOf"), path
    assert error(history.client.ask(KIM, asOf=as_of)) == (400, "invalid_parameter", "asOf")


@pytest.mark.parametrize("as_of", [5, 1.5, True, [], {}])
def test_a_point_in_time_is_a_text(history: History, as_of: Any) -> None:
    assert error(history.client.ask(KIM, asOf=as_of)) == (400, "invalid_parameter", "asOf")


def test_the_future_is_refused(history: History) -> None:
    client = history.client
    for as_of in ("9999-12-31T23:59:59.999999Z", "2999-01-01T00:00:00-05:00"):
        for path, answer in every_read(client, as_of).items():
            assert error(answer) == (400, "invalid_parameter", "asOf"), (path, as_of)


@pytest.mark.parametrize("revision", [1_000_000, 2**63 - 1, 2**64 - 1])
def test_a_token_whose_revision_does_not_exist_is_refused(history: History, revision: int) -> None:
    for path, answer in every_read(history.client, forged(history, revision)).items():
        assert (answer.status_code, answer.json()["code"]) == (409, "revision_lost"), path


def test_a_token_of_another_store_is_refused(history: History) -> None:
    token = write_token(Identity("00" * 8, "00" * 16), RevisionId(Revision(2), None))

    for path, answer in every_read(history.client, token).items():
        assert error(answer) == (400, "invalid_parameter", "asOf"), path


@pytest.mark.parametrize("time", ["1970-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "1969-12-31T23:59:59.999999Z"])
def test_before_the_store_was_made_there_is_nothing_and_the_oldest_time_is_stated(history: History, time: str) -> None:
    for path, answer in every_read(history.client, time).items():
        body = answer.json()
        assert error(answer) == (410, "gone", None), path
        assert body["oldest"] in body["message"]
        oldest = history.client.get("/v2/object-types", params={"asOf": body["oldest"]})
        assert int.from_bytes(urlsafe_b64decode_token(oldest.headers["Warrant-Token"])[9:17], "big") == 1


def test_a_point_in_time_wins_over_the_tokens_of_headers(history: History) -> None:
    client, tokens, _ = history

    for demanded in (tokens[-1], tokens[0], "latest", "a token of an older service"):
        for path, answer in every_read(client, tokens[ANN_TOO], **{"Warrant-Token": demanded}).items():
            assert token_of(answer) == tokens[ANN_TOO], path


def test_a_header_with_a_token_that_the_store_cannot_have_is_still_refused(history: History) -> None:
    for path, answer in every_read(
        history.client, history.tokens[0], **{"Warrant-Token": forged(history, 1_000_000)}
    ).items():
        assert (answer.status_code, answer.json()["code"]) == (409, "revision_lost"), path


def test_a_session_token_checks_only_as_of_now(history: History) -> None:
    client, tokens, _ = history
    session = client.post("/v2/sessions", json={"type": "sess", "userId": "kim"}).json()
    bearer = {"Authorization": f"Bearer {session['token']}"}
    body = {"warrants": [{"objectType": "document", "objectId": "plan", "relation": "viewer"}]}

    refused = client.post("/v2/check", json=body | {"asOf": tokens[GRANT]}, headers=bearer)

    assert error(refused) == (403, "forbidden", None)
    assert result(client.post("/v2/check", json=body, headers=bearer)) == "Not Authorized"


def test_the_legacy_query_of_v1_refuses_a_point_in_time(history: History) -> None:
    asked = {"select": "warrants", "for": "subject=user:kim", "asOf": history.tokens[0]}

    assert error(history.client.get("/v1/query", params=asked)) == (400, "invalid_parameter", "asOf")
    by_q = {"q": VIEWERS, "asOf": history.tokens[0]}
    assert found(history.client.get("/v1/query", params=by_q)) == ["user:kim"]


def test_lists_of_v1_take_a_point_in_time_as_well(history: History) -> None:
    listed = history.client.get("/v1/objects", params={"asOf": history.tokens[GRANT]})

    assert [row["objectId"] for row in listed.json()] == ["kim", "plan"]
    assert token_of(listed) == history.tokens[GRANT]


@pytest.fixture
def with_log(database_url: str) -> Iterator[Client]:
    with running_service(settings_for(database_url, decision_log=1_000)) as url, Client(url) as client:
        yield client


def test_reads_of_the_past_write_nothing_and_are_not_logged_as_access(with_log: Client, database_url: str) -> None:
    with_log.define(MODEL)
    token = token_of(with_log.post("/v2/warrants", json=warrant_body(KIM)))
    with_log.grant(ANN)
    before = dump(database_url)

    for answer in every_read(with_log, token).values():
        assert answer.status_code == 200
    for number in range(3):
        with_log.ask(f"document:plan#viewer@user:now-{number}")  # these are logged
    while len(dump(database_url)["decision"]) < 3:
        pass

    after = dump(database_url)
    assert {row[5] for row in after["decision"]} == {
        f'["document","plan","viewer","user","now-{number}",""]' for number in range(3)
    }
    del before["decision"], after["decision"]
    assert after == before


def test_what_was_collected_is_gone_on_first_and_later_pages(with_log: Client, database_url: str) -> None:
    client = with_log
    client.define(MODEL)
    tokens = [token_of(client.post("/v2/warrants", json=warrant_body(text))) for text in (KIM, ANN)]
    cursor = client.get("/v2/objects", params={"asOf": tokens[1], "limit": "1"}).json()["nextCursor"]
    client.delete_json("/v2/warrants", warrant_body(KIM)).raise_for_status()
    revoked = token_of(client.post("/v2/objects", json={"objectType": "user", "objectId": "x"}))

    async def collect() -> None:
        store = await open_store(settings_for(database_url))
        await store.collect(store.now(), 100)
        await store.close()

    asyncio.run(collect())

    for token in tokens:
        for path, answer in every_read(client, token).items():
            assert error(answer) == (410, "gone", None), path
    for given in ({}, {"asOf": tokens[1]}):
        assert error(client.get("/v2/objects", params={"nextCursor": cursor, **given})) == (410, "gone", None)
    oldest = client.ask(KIM, asOf=tokens[0]).json()["oldest"]
    assert result(client.ask(KIM, asOf=oldest)) == "Not Authorized"
    assert result(client.ask(ANN, asOf=revoked)) == "Authorized"


def test_the_checksum_of_a_token_is_checked(history: History) -> None:
    content = urlsafe_b64decode_token(history.tokens[0])
    changed = urlsafe_b64encode(content[:-1] + bytes([content[-1] ^ 1])).decode().rstrip("=")

    assert error(history.client.ask(KIM, asOf=changed)) == (400, "invalid_parameter", "asOf")


@pytest.mark.parametrize("path", ["/v2/resource-events", "/v2/access-events", "/v2/keys"])
def test_lists_of_events_and_keys_have_no_past(shared_client: Client, path: str) -> None:
    given = {"asOf": "2020-01-01T00:00:00Z"}

    refused = shared_client.get(path, params={**given, "strict": "true"})

    assert shared_client.get(path, params=given).json() == shared_client.get(path).json()
    assert (refused.status_code, refused.json()["parameter"]) == (400, "asOf")
