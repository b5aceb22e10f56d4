"""The data sets of the benchmarks: what their warrants look like, and that checks have the answers they aim at."""

import hashlib
import itertools
import math
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from io import BufferedReader, BytesIO
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.counting import counting_store
from benchmarks.datasets import DATASETS
from benchmarks.datasets.dataset import (
    ALLOWED_SHARE,
    SMALLEST_QUERIED_SIZE,
    SMALLEST_SIZE,
    Check,
    Dataset,
    WarrantRow,
    user_id,
)
from benchmarks.datasets.popularity import Popularity, holds_with_power, zipf_rank
from benchmarks.datasets.scatter import Dealing, Division, Scatter, crowd, mixed
from benchmarks.loading import load_for_queries
from magistrate.config.settings import ImportTarget, read_settings
from magistrate.engine.lists.language import ObjectsQuery, read_query
from magistrate.engine.model.object_types import ObjectType, read_object_type
from magistrate.engine.model.stratification import find_negation_loop
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import object_id_or_wildcard, object_ref, relation_name
from magistrate.engine.warrants.warrant import Warrant
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.lists.evaluators import QueryRequest
from magistrate.operations.lists.query import list_page
from magistrate.operations.models.object_types import put_object_types
from magistrate.operations.paging import PageRequest
from magistrate.store.contract.lists import Slice
from magistrate.wiring.contexts import context_of
from magistrate.wiring.maintenance import import_file
from tests import oracle
from tests.databases import dump

ROOT = Path(__file__).parents[1]
SIZE = 5_000
DIGESTS = {
    "tenants": ("3f3ac472011b36c6", "9553b85fd1abd75c"),
    "drive": ("ed85bc6acdb8690e", "fd7b142b6ef67624"),
    "code-hosting": ("27186e8e84f103ec", "df5a2a2b42995d56"),
}
"""Of a thousand warrants, every tenth, and of a hundred checks."""
LIST_DIGESTS = {
    "tenants": ("48cf04dd2c918a3c", "8a480c6a7555ad0c"),
    "drive": ("126728684daefdb8", "4ea61dbe8b2c8581"),
    "code-hosting": ("53e5d4fd405cc830", "928be0299d808b0d"),
}
"""Of the wide warrants, and of the queries."""

every_dataset = pytest.mark.parametrize("name", DATASETS)


@pytest.fixture(scope="module")
def rows() -> dict[str, list[WarrantRow]]:
    return {name: list(dataset(SIZE, 1).warrants()) for name, dataset in DATASETS.items()}


def digest(lines: Iterable[tuple[str, ...]]) -> str:
    return hashlib.sha256("\n".join(" ".join(line) for line in lines).encode()).hexdigest()[:16]


def users_by_object(rows: list[WarrantRow], object_type: str, *relations: str) -> dict[str, set[str]]:
    """The users with a warrant of their own for one of the relations."""
    users: dict[str, set[str]] = defaultdict(set)
    for of_type, object_id, relation, subject_type, subject_id, _, _ in rows:
        if of_type == object_type and relation in relations and subject_type == "user":
            users[object_id].add(subject_id)
    return users


def longest_chain(rows: list[WarrantRow], object_type: str, relation: str) -> int:
    """How many objects of the type lie on the longest way from one to the next by warrants of the relation."""
    above: dict[str, list[str]] = defaultdict(list)
    for of_type, object_id, of_relation, subject_type, subject_id, _, _ in rows:
        if (of_type, of_relation, subject_type) == (object_type, relation, object_type):
            above[object_id].append(subject_id)
    length, ends = 1, set(above)
    while ends := {following for end in ends for following in above[end]}:
        length += 1
    return length


def stored(row: WarrantRow, number: int) -> Warrant:
    return Warrant(
        TypeName(row[0]),
        ObjectId(row[1]),
        RelationName(row[2]),
        TypeName(row[3]),
        ObjectId(row[4]),
        *row[5:],
        0,
        number,
    )


class Answers:
    """What the oracle says on the warrants of a data set."""

    def __init__(self, dataset: Dataset, wide: Iterable[WarrantRow] = ()) -> None:
        self.dataset = dataset
        self._warrants: dict[tuple[str, str], list[Warrant]] = defaultdict(list)
        for number, row in enumerate(itertools.chain(dataset.warrants(), wide)):
            self._warrants[row[:2]].append(stored(row, number))

    def allows(self, question: Check) -> bool:
        subject = Subject(TypeName(question.subject_type), ObjectId(question.subject_id))
        warrants = self._leading_to(question.object_type, question.object_id)
        truth = oracle.check(self.dataset.types, warrants, *question[:3], subject, lambda _: None)
        return truth is oracle.Truth.TRUE

    def _leading_to(self, *asked: str) -> list[Warrant]:
        """Those on the object, on their subjects, and so on: no other can matter, and the oracle reads all it gets,
        again and again."""
        found: dict[tuple[str, ...], list[Warrant]] = {}
        waiting: list[tuple[str, ...]] = [asked]
        while waiting:
            reached = waiting.pop()
            if reached not in found:
                found[reached] = self._warrants.get((reached[0], reached[1]), [])
                waiting += [(warrant.subject_type, warrant.subject_id) for warrant in found[reached]]
        return list(itertools.chain.from_iterable(found.values()))


Ref = tuple[str, str]
"""Type and id of an object."""


@asynccontextmanager
async def loaded(dataset: Dataset, url: str) -> AsyncIterator[Context]:
    """The data set, with what is needed for queries, in a database with nothing in it."""
    load_for_queries(url, dataset)
    store, _ = await counting_store(url)
    context = context_of(store, read_settings({}, {}))
    await put_object_types(context, list(types_by_name(dataset).values()), context.stamp("ann"))
    yield context
    await store.close()


async def rows_of(context: Context, text: str) -> set[Ref]:
    wanted = PageRequest(Slice("id", SMALLEST_QUERIED_SIZE))
    page = await list_page(context, QueryRequest(read_query(text), {}), wanted, NO_DEMAND)
    return {(found.row.type, found.row.id) for found in page.value.rows}


def question(text: str, found: Ref) -> Check:
    """The check of a row. The query selects one relation."""
    query = read_query(text)
    relation = (query.relations or ("",))[0]
    if isinstance(query, ObjectsQuery):
        return Check(*found, relation, query.subject.type, query.subject.id)
    return Check(query.object.type, query.object.id, relation, *found)


def types_by_name(dataset: Dataset) -> dict[TypeName, ObjectType]:
    return {
        TypeName(of_type): read_object_type(of_type, None, msgspec.convert(relations, dict[str, RuleDefinition | None]))
        for of_type, relations in dataset.types.items()
    }


@every_dataset
def test_the_object_types_can_be_stored(name: str) -> None:
    dataset = DATASETS[name](SIZE, 1)
    model = types_by_name(dataset)

    assert find_negation_loop(model.get, model) is None
    assert dataset.types == {of_type: msgspec.to_builtins(read.render_relations()) for of_type, read in model.items()}


@every_dataset
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("size", [1_000, 1_001, 3_749, SIZE])
def test_there_are_as_many_warrants_as_requested_and_no_two_alike(name: str, size: int, seed: int) -> None:
    rows = list(DATASETS[name](size, seed).warrants())

    assert len(rows) == len(set(rows)) == size


@every_dataset
def test_too_small_a_size_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="at least 1000 warrants, not 999"):
        DATASETS[name](SMALLEST_SIZE - 1, 1)


@every_dataset
def test_warrants_can_be_read_again(name: str) -> None:
    dataset = DATASETS[name](SIZE, 1)

    first, second = dataset.warrants(), dataset.warrants()

    assert list(itertools.islice(first, 10)) == list(itertools.islice(second, 10))
    assert list(dataset.warrants()) == [*itertools.islice(dataset.warrants(), 10), *first]


@every_dataset
def test_warrants_and_checks_are_the_same_everywhere(name: str) -> None:
    dataset = DATASETS[name](10_000, 7)

    made = digest(itertools.islice(dataset.warrants(), 0, None, 10)), digest(dataset.questions(100, 7))

    assert made == DIGESTS[name]


@every_dataset
def test_another_seed_makes_other_warrants_and_other_checks(name: str) -> None:
    one, other = DATASETS[name](SIZE, 1), DATASETS[name](SIZE, 2)

    assert set(one.warrants()) != set(other.warrants())
    assert one.questions(100, 1) == one.questions(100, 1)
    assert one.questions(100, 1) != one.questions(100, 2)


@every_dataset
def test_all_names_are_allowed_and_defined(name: str, rows: dict[str, list[WarrantRow]]) -> None:
    types = DATASETS[name](SIZE, 1).types
    all_rows = [*rows[name], *DATASETS[name](SMALLEST_QUERIED_SIZE, 1).wide_warrants()]

    for object_type, object_id, relation, subject_type, subject_id, subject_relation, policy in all_rows:
        object_ref(object_type, object_id)
        object_id_or_wildcard(subject_id, "objectId")
        assert relation_name(relation, "relation") in types[object_type]
        assert not subject_relation or RelationName(subject_relation) in types[subject_type]
        assert subject_type in types
        assert not policy


@every_dataset
def test_checks_are_of_relations_and_users_of_the_data_set(name: str, rows: dict[str, list[WarrantRow]]) -> None:
    dataset = DATASETS[name](SIZE, 1)
    objects = {row[:2] for row in rows[name]}

    for question in dataset.questions(500, 1):
        assert (question.object_type, question.object_id) in objects
        assert question.relation in dataset.types[question.object_type]
        assert (question.subject_type, question.subject_id[:5]) == ("user", "user-")


@every_dataset
def test_the_oracle_agrees_on_who_is_allowed(name: str) -> None:
    answers, generator = Answers(DATASETS[name](SMALLEST_SIZE, 1)), Random(2)
    structure = answers.dataset.structure

    for _ in range(60):
        target = structure.target(generator)
        drawn = [structure.users.draw_from(pool, generator) for pool in [target.neighbours, *target.audience[-1:]]]
        for user in [*drawn, structure.users.draw(generator)]:
            question = Check(target.object_type, target.object_id, target.relation, "user", user_id(user))
            assert answers.allows(question) == target.allows(user), question


@every_dataset
def test_about_seven_checks_of_ten_are_allowed(name: str) -> None:
    answers = Answers(DATASETS[name](SMALLEST_SIZE, 1))
    questions = answers.dataset.questions(200, 3)

    allowed = sum(map(answers.allows, questions))

    deviation = math.sqrt(ALLOWED_SHARE * (1 - ALLOWED_SHARE) * len(questions))
    assert allowed == pytest.approx(ALLOWED_SHARE * len(questions), abs=4 * deviation)


@every_dataset
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("size", [SMALLEST_QUERIED_SIZE, 123_456])
def test_wide_warrants_are_few_and_none_is_like_another(name: str, size: int, seed: int) -> None:
    dataset = DATASETS[name](size, seed)
    wide = list(dataset.wide_warrants())

    assert wide == list(dataset.wide_warrants())
    assert 0 < len(wide) <= size / 50
    assert len({*dataset.warrants(), *wide}) == size + len(wide)


@every_dataset
def test_wide_warrants_and_queries_are_the_same_everywhere(name: str) -> None:
    dataset = DATASETS[name](SMALLEST_QUERIED_SIZE, 7)

    made = digest(dataset.wide_warrants()), digest((str(about), text) for about, text in dataset.queries())

    assert made == LIST_DIGESTS[name]


@every_dataset
def test_nobody_reaches_much_by_warrants_of_their_own(name: str) -> None:
    dataset = DATASETS[name](SMALLEST_QUERIED_SIZE, 1)
    queries = [read_query(query.text) for query in dataset.queries()]
    asked = {query.subject.id for query in queries if isinstance(query, ObjectsQuery)}

    own = Counter(
        row[4]
        for row in itertools.chain(dataset.warrants(), dataset.wide_warrants())
        if row[3] == "user" and row[5] == ""
    )

    assert len(asked) == 4
    assert max(own[written_id] for written_id in asked) < 40


@pytest.mark.anyio
@pytest.mark.nightly
@every_dataset
async def test_queries_have_about_as_many_rows_as_they_say(name: str, tmp_path: Path) -> None:
    dataset = DATASETS[name](SMALLEST_QUERIED_SIZE, 1)
    wide = list(dataset.wide_warrants())
    answers, generator = Answers(dataset, wide), Random(4)
    objects = {ref for row in (*dataset.warrants(), *wide) for ref in (row[:2], row[3:5]) if ref[1] != "*"}

    async with loaded(dataset, f"sqlite:///{tmp_path}/lists.db") as context:
        for about, text in dataset.queries():
            found = await rows_of(context, text)
            others = sorted(ref for ref in objects if ref[0] == next(iter(found))[0] and ref not in found)

            assert found - {("user", "*")} <= objects
            assert about / 3 < len(found) < about * 3, text
            if about <= SMALLEST_QUERIED_SIZE / 100:  # the oracle is slow
                assert all(answers.allows(question(text, ref)) for ref in generator.sample(sorted(found), 4)), text
                assert not any(answers.allows(question(text, ref)) for ref in generator.sample(others, 4)), text


def test_roles_of_tenants_nest_twice(rows: dict[str, list[WarrantRow]]) -> None:
    assert longest_chain(rows["tenants"], "role", "member") == 3


def test_the_first_tenant_has_a_tenth_of_the_users(rows: dict[str, list[WarrantRow]]) -> None:
    users = users_by_object(rows["tenants"], "tenant", "member", "manager", "admin")

    assert len(users["t0"]) == sum(map(len, users.values())) // 10
    assert len(set.union(*users.values())) == sum(map(len, users.values()))


def test_groups_of_a_drive_nest_four_deep_and_folders_eight(rows: dict[str, list[WarrantRow]]) -> None:
    assert longest_chain(rows["drive"], "group", "member") == 4
    assert longest_chain(rows["drive"], "folder", "parent") == 8


def test_one_document_in_a_hundred_is_public_and_one_in_two_hundred_has_someone_blocked(
    rows: dict[str, list[WarrantRow]],
) -> None:
    documents = {row[1] for row in rows["drive"] if row[0] == "document"}
    public = {row[1] for row in rows["drive"] if row[2:5] == ("viewer", "user", "*")}
    blocked = {row[1] for row in rows["drive"] if row[2] == "blocked"}

    assert len(public) == len(documents) // 100
    assert len(blocked) == len(documents) // 200
    assert not public & blocked


def test_who_is_blocked_on_a_document_could_otherwise_view_it(rows: dict[str, list[WarrantRow]]) -> None:
    answers = Answers(DATASETS["drive"](SIZE, 1))

    for document, users in users_by_object(rows["drive"], "document", "blocked").items():
        for user in users:
            assert answers.allows(Check("document", document, "reader", "user", user))
            assert not answers.allows(Check("document", document, "viewer", "user", user))


def test_the_office_is_blocked_on_documents_it_could_otherwise_view() -> None:
    dataset = DATASETS["drive"](SMALLEST_QUERIED_SIZE, 1)
    wide = list(dataset.wide_warrants())
    answers = Answers(dataset, wide)
    documents = [row[1] for row in wide if row[2] == "blocked" and row[4] == "office"]

    assert documents
    for document in documents[::10]:
        assert answers.allows(Check("document", document, "reader", "user", "officer"))
        assert not answers.allows(Check("document", document, "viewer", "user", "officer"))


def test_teams_nest_three_deep(rows: dict[str, list[WarrantRow]]) -> None:
    assert longest_chain(rows["code-hosting"], "team", "member") == 3


def test_five_roles_are_given_on_repositories_and_collaborators_are_from_outside(
    rows: dict[str, list[WarrantRow]],
) -> None:
    members = users_by_object(rows["code-hosting"], "org", "member")
    org_of = {row[1]: row[4] for row in rows["code-hosting"] if (row[0], row[2]) == ("repo", "org")}
    roles = Counter(row[2] for row in rows["code-hosting"] if row[0] == "repo")
    outside = users_by_object(rows["code-hosting"], "repo", "reader", "triager", "writer")

    assert set(roles) == {"org", "reader", "triager", "writer", "maintainer", "admin"}
    assert len(outside) > len(org_of) / 4
    assert not any(users & members[org_of[repo]] for repo, users in outside.items())


def test_the_popularity_of_ranks_falls_as_the_law_says() -> None:
    generator = Random(1)

    drawn = Counter(zipf_rank(1_000, generator) for _ in range(20_000))

    whole = sum(rank**-1.1 for rank in range(1, 1_001))
    for first, end in [(1, 2), (2, 3), (3, 10), (10, 100), (100, 1_001)]:
        expected = 20_000 * sum(rank**-1.1 for rank in range(first, end)) / whole
        assert sum(drawn[rank] for rank in range(first, end)) == pytest.approx(expected, abs=4 * math.sqrt(expected))
    assert set(drawn) <= set(range(1, 1_001))


def test_a_power_is_drawn_with_its_probability() -> None:
    generator = Random(1)

    held = sum(holds_with_power(0.5, generator) for _ in range(10_000))

    assert held == pytest.approx(10_000 * 0.5**1.1, abs=4 * 50)
    assert holds_with_power(1.0, generator)
    assert not holds_with_power(0.0, generator)


def test_the_popular_are_chosen_from_a_crowd() -> None:
    popularity, generator = Popularity(50, 1), Random(1)
    everyone = Counter(popularity.draw(generator) for _ in range(5_000))

    chosen = Counter(popularity.draw_from(range(50), generator) for _ in range(5_000))

    favourite = everyone.most_common(1)[0][0]
    assert chosen.most_common(1)[0][0] == favourite
    assert popularity.draw_from(range(7, 8), generator) == 7
    assert Popularity(1, 1).draw(generator) == 0


@given(st.integers(1, 300), st.integers(0, 2**53))
def test_a_scatter_is_another_order(count: int, salt: int) -> None:
    scatter = Scatter(count, salt)
    numbers = [scatter.number_at(place) for place in range(count)]

    assert sorted(numbers) == list(range(count))
    assert [scatter.place_of(number) for number in numbers] == list(range(count))


@given(st.integers(1, 300), st.integers(0, 40), st.integers(1, 5), st.integers(0, 2**64 - 1))
def test_a_crowd_has_as_many_different_members_as_there_are(length: int, size: int, step: int, bits: int) -> None:
    pool = range(3, 3 + length * step, step)

    members = crowd(pool, bits, size)

    assert len(members) == len(set(members)) == min(size, length)
    assert set(members) <= set(pool)


@given(st.integers(0, 900), st.integers(1, 300), st.integers(0, 2**53))
def test_everything_is_dealt_evenly(things: int, count: int, salt: int) -> None:
    dealing = Dealing(things, count, salt)

    dealt = [dealing.dealt_to(number) for number in range(count)]

    assert sum(dealt) == things
    assert max(dealt) - min(dealt) <= 1


@given(st.integers(0, 300), st.integers(2, 20))
def test_a_division_has_every_number_in_one_part(count: int, parts: int) -> None:
    division = Division(count, parts)

    assert sorted(itertools.chain.from_iterable(map(division.members, range(parts)))) == list(range(count))
    assert all(number in division.members(division.part_of(number)) for number in range(count))


def test_mixed_numbers_spread_over_all_bits() -> None:
    ones = [sum(mixed(1, number) >> bit & 1 for number in range(1_000)) for bit in range(64)]

    assert min(ones) > 400
    assert max(ones) < 600
    assert mixed(1, 0) != mixed(2, 0)


@every_dataset
def test_a_data_set_is_printed_as_lines_to_import(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.datasets", name, str(SMALLEST_SIZE)]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    settings = read_settings({"database_url": f"sqlite:///{tmp_path}/imported.db"}, {})
    dataset = DATASETS[name](SMALLEST_SIZE, 1)

    import_file(ImportTarget(settings, 10_000), BufferedReader(BytesIO(printed)), None, lambda reached: None)

    tables = dump(f"sqlite:///{tmp_path}/imported.db")
    assert set(dataset.types) <= {row[0] for row in tables["object_type"]}
    assert [row[1:7] for row in tables["warrant"]] == [row[:6] for row in dataset.warrants()]


def test_a_data_set_that_is_too_small_is_refused() -> None:
    command = [sys.executable, "-m", "benchmarks.datasets", "drive", "5"]

    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert ran.returncode == 2
    assert "at least 1000 warrants, not 5" in ran.stderr
