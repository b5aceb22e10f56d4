"""No time slice of an evaluation is long, however many groups a group has, and whatever connects them."""

from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from itertools import chain
from typing import Any

import pytest

from magistrate.engine.evaluation.check import Check
from magistrate.engine.evaluation.evaluation import Evaluation
from magistrate.engine.evaluation.facts import Facts
from magistrate.engine.evaluation.nodes import EvaluationScope
from magistrate.engine.evaluation.paths import PathSearch
from magistrate.engine.lists.language import read_query
from magistrate.engine.lists.query_search import begin_search
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import FALSE, TRUE
from magistrate.engine.warrants.reader import WarrantRead, build_request
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import WARRANTS_BETWEEN_CHECKPOINTS, Work
from tests.calls import count_calls
from tests.memory_source import PLENTY, Relations, model_of, rows_of
from tests.scenario_files import stored_warrant
from tests.working import counted_lines

MANY, LONG = 8_000, 4_000
GROUP, USER = TypeName("group"), TypeName("user")
MEMBER = RelationName("member")
MAX_CALLS = 12_000
"""Limits the function calls between two looks at the clock."""
MAX_LINES = 30_000
"""Limits the lines that are run between two looks at the clock, loops without calls among them: some milliseconds."""


def always() -> bool:
    return True


def max_calls(steps: Generator[Any, None, Any], work: Work) -> int:
    """Takes all steps, and returns the calls of the time slice that made the most."""
    most, left = 0, True
    while left:
        work.pass_checkpoint()
        left, calls = count_calls(lambda: next(steps, "end") != "end")
        most = max(most, calls)
    return most


def many_groups(pattern: str) -> list[str]:
    return [pattern.format(number) for number in range(MANY)]


def by_object(warrants: Sequence[Warrant], read: WarrantRead) -> list[Warrant]:
    wanted = {*(read.ids or ())}
    return [one for one in warrants if one.object_id in wanted and one.subject_relation]


@pytest.mark.parametrize(
    "warrants",
    [
        pytest.param(["group:{}#member@group:root#member", "group:root#member@group:{}#member"], id="in circles"),
        pytest.param(["group:root#member@group:{}#member"], id="without members"),
    ],
)
def test_each_time_slice_of_a_check_of_many_groups_makes_few_calls(warrants: list[str]) -> None:
    written = [*chain.from_iterable(map(many_groups, warrants))]
    stored = [stored_warrant(text, number, 0) for number, text in enumerate(written, 1)]
    model = model_of({"user": {}, "group": {"member": {}}}, stored)
    work = Work(PLENTY, is_time_up=always)
    evaluation = Evaluation(model, 0, work)
    node = evaluation.add_check(Check(ObjectRef(GROUP, ObjectId("root")), MEMBER, Subject(USER, ObjectId("ann"))))
    assert node is not None
    most = 0

    while node.value is None:
        work.pass_checkpoint()
        reads, calls = count_calls(evaluation.advance)
        most = max(most, calls)
        if reads:
            evaluation.take([by_object(stored, read) for read in reads])

    assert node.value is FALSE
    assert most < MAX_CALLS


def pauses_of(ids: int, warrants_each: int) -> Iterator[int]:
    """The work before each pause while so many rows are taken."""
    model = model_of({"user": {}, "group": {"member": {}}}, [stored_warrant("group:a#member@user:ann", 1, 0)])
    facts = Facts(model.counts)
    request = build_request(GROUP, model.patterns, USER)
    assert request is not None
    read = WarrantRead(request, tuple(ObjectId(str(number)) for number in range(ids)))
    rows = [
        stored_warrant(f"group:{object_id}#member@user:{n}", n, 0)
        for object_id in range(ids)
        for n in range(warrants_each)
    ]
    return facts.take([read], [rows])


@pytest.mark.parametrize(("ids", "warrants_each"), [(1, 20_000), (2_000, 10)])
def test_rows_are_taken_in_steps(ids: int, warrants_each: int) -> None:
    assert len([*pauses_of(ids, warrants_each)]) >= ids * warrants_each // WARRANTS_BETWEEN_CHECKPOINTS


FOLDER = TypeName("folder")
VIEWER = RelationName("viewer")
FOLDERS: dict[str, Relations] = {
    "user": {},
    "folder": {
        "parent": {},
        "owner": {},
        "viewer": {
            "inheritIf": "anyOf",
            "rules": [{"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}, {"inheritIf": "owner"}],
        },
    },
}


@pytest.mark.parametrize(
    "warrants",
    [
        pytest.param(
            [*(f"folder:{n}#parent@folder:{n + 1}" for n in range(LONG)), f"folder:{LONG}#owner@user:ann"], id="a chain"
        ),
        pytest.param(
            [
                *(f"folder:{n}#parent@folder:{n + 1}" for n in range(LONG)),
                f"folder:{LONG}#parent@folder:0",
                f"folder:{LONG}#owner@user:ann",
            ],
            id="a circle",
        ),
        pytest.param(
            [
                *(f"folder:0#parent@folder:{n}" for n in range(1, LONG)),
                *(f"folder:{n}#owner@user:ann" for n in range(1, LONG)),
            ],
            id="a fan",
        ),
        pytest.param(
            [
                *(f"folder:0#viewer@folder:{n}#viewer" for n in range(1, LONG)),
                *(f"folder:{n}#viewer@user:ann" for n in range(1, LONG)),
            ],
            id="many usersets",
        ),
    ],
)
def test_each_time_slice_of_finding_a_path_makes_few_calls(warrants: list[str]) -> None:
    stored = [stored_warrant(text, number, 0) for number, text in enumerate(warrants, 1)]
    work = Work(PLENTY, is_time_up=always)
    evaluation = Evaluation(model_of(FOLDERS, stored), 0, work, EvaluationScope(with_paths=True))
    node = evaluation.add_check(Check(ObjectRef(FOLDER, ObjectId("0")), VIEWER, Subject(USER, ObjectId("ann"))))
    assert node is not None
    by_id = defaultdict(list)
    for one in stored:
        by_id[one.object_id].append(one)
    while (reads := evaluation.advance()) != []:
        work.pass_checkpoint()
        if reads:
            ids = [one for read in reads for one in read.ids or ()]
            evaluation.take([rows_of([row for object_id in ids for row in by_id[object_id]], read) for read in reads])
    search = PathSearch(evaluation.model, [node], work)
    paths: list[list[Warrant]] = []

    def find_path() -> Generator[None, Any, None]:
        yield from search.prepare()
        paths.append((yield from search.find(node)))

    most = max_calls(find_path(), work)

    assert paths[0][0].subject_id == "ann"
    assert most < MAX_CALLS


GROUPS = [f"group:{number}#member@group:{number + 1}#member" for number in range(LONG)]


@pytest.mark.parametrize(
    "warrants",
    [
        pytest.param(GROUPS, id="a chain", marks=pytest.mark.nightly),
        pytest.param([*GROUPS, f"group:{LONG}#member@group:0#member"], id="a circle", marks=pytest.mark.nightly),
        pytest.param([f"group:0#member@group:{number}#member" for number in range(1, LONG)], id="a fan"),
        pytest.param(
            [*(f"group:0#member@group:{number}#member" for number in range(1, LONG)), "group:1#member@user:*"],
            id="a wildcard beside many groups",
        ),
    ],
)
def test_each_time_slice_of_listing_subjects_makes_few_calls(warrants: list[str]) -> None:
    written = [*warrants, f"group:{LONG - 1}#member@user:ann"]
    stored = [stored_warrant(text, number, 0) for number, text in enumerate(written, 1)]
    work = Work(PLENTY, is_time_up=always)
    query = read_query("select member of type user for group:0")
    search = begin_search(model_of({"user": {}, "group": {"member": {}}}, stored), query, {}, 0, work)
    by_id = defaultdict(list)
    for one in stored:
        by_id[one.object_id].append(one)
    most = 0

    while (findings := search.outcome()) is None:
        reads, calls = count_calls(search.advance)
        most = max(most, calls)
        if reads:
            ids = [ObjectId(object_id) for read in reads for object_id in read.ids or ()]
            search.take([rows_of([row for object_id in ids for row in by_id[object_id]], read) for read in reads])

    assert findings.relation_results is not None
    assert "ann" in findings.relation_results[0].result_set.exceptions
    assert most < MAX_CALLS


DOCUMENTS: dict[str, Relations] = {
    "user": {},
    "document": {
        "blocked": {},
        "public": {},
        "reader": {},
        "viewer": {
            "inheritIf": "allOf",
            "rules": [
                {"inheritIf": "anyOf", "rules": [{"inheritIf": "reader"}, {"inheritIf": "public"}]},
                {"inheritIf": "noneOf", "rules": [{"inheritIf": "blocked"}]},
            ],
        },
    },
}


@pytest.mark.parametrize("warrants", [[], ["document:*#public@user:ann"]], ids=["some", "all but some"])
def test_each_time_slice_of_listing_objects_with_an_exclusion_is_short(warrants: list[str]) -> None:
    written = [
        *warrants,
        *(f"document:{number}#reader@user:ann" for number in range(MANY)),
        *(f"document:{number}#blocked@user:ann" for number in range(MANY // 2)),
    ]
    stored = [stored_warrant(text, number, 0) for number, text in enumerate(written, 1)]
    work = Work(PLENTY, is_time_up=always)
    query = read_query("select document where user:ann is viewer")
    search = begin_search(model_of(DOCUMENTS, stored), query, {}, 0, work)
    most = 0

    while (findings := search.outcome()) is None:
        with counted_lines() as lines:
            reads = search.advance()
        most = max(most, lines.count)
        if reads:
            search.take([rows_of(stored, read) for read in reads])

    assert findings.relation_results is not None
    [result] = findings.relation_results
    assert sum(value >= TRUE for value in result.result_set.exceptions.values()) == MANY - MANY // 2
    assert (result.result_set.default >= TRUE) == bool(warrants)
    assert most < MAX_LINES
