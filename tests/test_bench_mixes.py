"""What `./run bench mixed` sends, what it takes for a right answer, and how it looks for stale ones."""

import itertools
from random import Random
from typing import Any

import msgspec
import pytest

from benchmarks.datasets import DATASETS
from benchmarks.datasets.dataset import AnsweredQuestion, Check, user_id
from benchmarks.mixed.asks import Ask, Verdict
from benchmarks.mixed.dialect import RelationResult
from benchmarks.mixed.first_requests import MAX_DRAWS, distinct_pairs
from benchmarks.mixed.mixes import (
    BATCHES,
    CHECK,
    CHECKS_BESIDE,
    LIST,
    OUTSTANDING,
    PLACES,
    WRITE,
    WRITE_CHECKED,
    WRITTEN,
    Mixes,
    list_asks,
    lists_of_users,
    mixes_of,
)
from benchmarks.mixed.probe import (
    KINDS,
    OTHER,
    OTHER_TOKEN,
    SAME,
    SAME_TOKEN,
    ProbeEffort,
    group_rows,
    probe_staleness,
    probes_of,
)
from benchmarks.mixed.warrant_api import WarrantApi, warrant_body, with_token
from tests.stub_server import Sent, stub_server

SIZE = 1_000
QUESTIONS = 300
API = WarrantApi("some-key")

every_dataset = pytest.mark.parametrize("name", DATASETS)


def mixes(name: str) -> Mixes:
    return mixes_of(DATASETS[name](SIZE, 1), API, QUESTIONS)


@every_dataset
def test_distinct_pairs_are_distinct_and_those_of_the_data_set(name: str) -> None:
    dataset = DATASETS[name](SIZE, 1)

    pairs = distinct_pairs(dataset, 500, 5)

    assert len(pairs) == len(set(pairs)) == 500
    drawn = dataset.answered_questions(500 * MAX_DRAWS, 5)
    assert pairs == list(dict.fromkeys(drawn))[:500]


def test_each_user_is_listed_once_and_compared_with_all_that_is_known() -> None:
    dataset = DATASETS["drive"](SIZE, 1)
    pool = dataset.answered_questions(QUESTIONS, 1)

    asks = list(lists_of_users(API, PLACES["drive"], pool, 50))

    assert len({ask.request for ask in asks}) == 50
    assert sum(verdict(ask, page()).compared for ask in asks) > 0


def body_in(request: bytes) -> Any:
    return msgspec.json.decode(request.partition(b"\r\n\r\n")[2])


def verdict(ask: Ask, answer: object) -> Verdict:
    assert ask.validate is not None
    return ask.validate(msgspec.json.encode(answer))


def decided(allowed: bool) -> dict[str, object]:
    return {"code": 200 if allowed else 403, "result": "Authorized" if allowed else "Not Authorized"}


@every_dataset
def test_every_check_comes_with_the_answer_of_the_data_set(name: str) -> None:
    dataset = DATASETS[name](SIZE, 1)

    answered = dataset.answered_questions(200, 5)

    assert [one.question for one in answered] == dataset.questions(200, 5)
    generator = Random(6)
    targets = {(t.object_type, t.object_id, t.relation): t for t in map(dataset.structure.target, [generator] * 2_000)}
    compared = [(targets[q[:3]], q, allowed) for q, allowed in answered if q[:3] in targets]
    assert len(compared) > 50
    for target, question, allowed in compared:
        assert target.allows(int(question.subject_id.removeprefix(user_id(0)[:-1]))) == allowed


@every_dataset
def test_a_wrong_check_is_counted(name: str) -> None:
    asks = list(itertools.islice(mixes(name).endless[CHECK], QUESTIONS))
    right = [answered.allowed for answered in DATASETS[name](SIZE, 1).answered_questions(QUESTIONS, 1)]

    assert {verdict(ask, decided(allowed)) for ask, allowed in zip(asks, right, strict=True)} == {(1, 0)}
    assert {verdict(ask, decided(not allowed)) for ask, allowed in zip(asks, right, strict=True)} == {(1, 1)}


@pytest.mark.parametrize(("mix", "size"), BATCHES.items())
def test_wrong_and_missing_answers_of_a_batch_are_counted(mix: str, size: int) -> None:
    ask = next(mixes("drive").endless[mix])
    right = [answered.allowed for answered in DATASETS["drive"](SIZE, 1).answered_questions(size, 1)]
    answers = [decided(allowed) for allowed in right]

    assert verdict(ask, answers) == (size, 0)
    assert verdict(ask, [decided(not right[0]), *answers[1:]]) == (size, 1)
    assert verdict(ask, answers[:-2]) == (size, 2)
    assert verdict(ask, []) == (size, size)


def test_a_list_is_compared_with_all_that_is_known_as_far_as_the_page_goes() -> None:
    place, known = PLACES["drive"], {"doc-1": True, "doc-2": False, "doc-3": True}
    pool = [
        AnsweredQuestion(Check(place.object_type, object_id, place.relation, "user", "user-1"), allowed)
        for object_id, allowed in known.items()
    ]
    asks = list_asks(API, place, pool)

    assert len(asks) == 3
    for ask in asks:
        assert verdict(ask, page("doc-1", "doc-3")) == (3, 0)
        assert verdict(ask, page("doc-1", "doc-2")) == (3, 2)
        assert verdict(ask, page()) == (3, 2)
        assert verdict(ask, {**page("doc-0", "doc-1"), "nextCursor": "more"}) == (1, 0)
        assert verdict(ask, {**page("doc-2"), "nextCursor": "more"}) == (2, 2)


def page(*ids: str) -> dict[str, object]:
    return {"results": [{"objectType": "document", "objectId": object_id} for object_id in ids]}


@every_dataset
def test_lists_are_in_the_mix(name: str) -> None:
    assert next(mixes(name).endless[LIST]).request.startswith(b"GET /v2/query?q=select+")


@every_dataset
def test_what_is_deleted_was_written_long_before_and_nothing_is_written_twice(name: str) -> None:
    prepared = mixes(name)
    there = {ask.request.partition(b"\r\n\r\n")[2]: -1_000 for ask in prepared.first[:OUTSTANDING]}
    assert len(there) == OUTSTANDING

    asks = itertools.islice(prepared.endless[WRITE], 2 * WRITTEN * 2 * (CHECKS_BESIDE + 1))
    for number, ask in enumerate(asks):
        method, body = ask.request.split()[0], ask.request.partition(b"\r\n\r\n")[2]
        if method == b"DELETE":
            assert number - there.pop(body) >= OUTSTANDING * 2 * CHECKS_BESIDE
        elif ask.validate is None:
            assert there.setdefault(body, number) == number
    assert len(there) == OUTSTANDING


@every_dataset
def test_a_tenth_of_the_mix_writes_and_no_check_is_of_what_is_written(name: str) -> None:
    prepared = mixes(name)
    asks = list(itertools.islice(prepared.endless[WRITE], 200))
    changes = [body_in(ask.request) for ask in asks if ask.validate is None]

    assert len(changes) == 20
    assert all(change["subject"]["objectId"].startswith("writer-") for change in changes)
    assert not any(b"writer-" in ask.request for ask in prepared.once)


@every_dataset
def test_what_is_written_about_checked_pairs_changes_none_of_their_answers(name: str) -> None:
    dataset, prepared = DATASETS[name](SIZE, 1), mixes(name)
    allowed = {one.question for one in dataset.answered_questions(QUESTIONS, 1) if one.allowed}
    stored = set(dataset.warrants())
    there = {ask.request.partition(b"\r\n\r\n")[2] for ask in prepared.first[OUTSTANDING:]}
    assert len(there) > 1

    written = 0
    for ask in itertools.islice(prepared.endless[WRITE_CHECKED], 20_000):
        method, body = ask.request.split()[0], ask.request.partition(b"\r\n\r\n")[2]
        if method == b"DELETE":
            there.remove(body)
        elif ask.validate is None:
            assert body not in there
            there.add(body)
            claim = msgspec.json.decode(body)
            question = Check(claim["objectType"], claim["objectId"], claim["relation"], *claim["subject"].values())
            assert question in allowed
            assert (*question, "", "") not in stored
            written += 1
    assert written > 900


@every_dataset
def test_what_is_written_has_forms_that_the_data_set_has(name: str) -> None:
    place = PLACES[name]
    forms = {(row[0], row[2], row[3], row[5]) for row in DATASETS[name](10_000, 1).warrants()}

    for row in (place.of_user("x", "y"), place.member("x", "y")):
        assert (row[0], row[2], row[3], row[5]) in forms


def test_requests_are_those_of_the_api() -> None:
    question = Check("document", "plan", "viewer", "user", "ann")

    assert API.check(question).startswith(b"POST /v2/check HTTP/1.1\r\n")
    assert b"\r\nAuthorization: ApiKey some-key\r\n" in API.check(question)
    names: dict[str, object] = {"objectType": "document", "objectId": "plan", "relation": "viewer"}
    claim = names | {"subject": {"objectType": "user", "objectId": "ann"}}
    assert body_in(API.check(question)) == {"warrants": [claim]}
    assert body_in(API.batch([question, question])) == {"op": "batch", "warrants": [claim, claim]}
    assert body_in(API.delete((*question, "", ""))) == claim
    assert warrant_body(("document", "plan", "viewer", "group", "all", "member", "1 == 1")) == claim | {
        "subject": {"objectType": "group", "objectId": "all", "relation": "member"},
        "policy": "1 == 1",
    }


def test_a_token_becomes_a_header() -> None:
    request = with_token(API.check(Check("document", "plan", "viewer", "user", "ann")), "t1")

    assert b"\r\nWarrant-Token: t1\r\n" in request.partition(b"\r\n\r\n")[0]


def test_a_page_shows_how_far_it_reaches() -> None:
    body = msgspec.json.encode({**page("a", "b"), "nextCursor": "more"})

    assert API.listed(body) == RelationResult(frozenset({"a", "b"}), "b")
    assert API.listed(msgspec.json.encode(page("a"))) == RelationResult(frozenset({"a"}), None)


@every_dataset
def test_probes_go_directly_and_through_a_group_that_has_the_relation(name: str) -> None:
    place = PLACES[name]
    groups = group_rows(place, ["x", "y", "x"])

    direct, through, *_ = probes = list(probes_of(place, ["x", "y", "x"], 6))

    assert len({probe.question.subject_id for probe in probes}) == 6
    assert direct.row == (*direct.question, "", "")
    assert through.row[3:5] == through.question[3:]
    assert (*through.question[:3], *through.row[:2], place.subject_relation, "") in groups


def test_a_server_that_never_learns_is_found_out() -> None:
    def deny(sent: Sent) -> bytes:
        return b'{"code":403}'

    with stub_server(deny, {"Warrant-Token": "t1"}) as stub:
        effort = ProbeEffort(pairs=8, max_seconds=20, fresh_within=0.05)
        found = probe_staleness((stub.url, stub.url), "key", DATASETS["drive"](SIZE, 1), effort)

    assert found.pairs == 8
    assert found.violations[SAME] == found.violations[SAME_TOKEN] == 4
    assert found.violations[OTHER] + found.violations[OTHER_TOKEN] == 4
    assert found.violations[OTHER] > 0
    assert set(found.violations) <= set(KINDS)
    assert found.load > 0
