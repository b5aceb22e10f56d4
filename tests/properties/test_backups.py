"""Random stores answer the same after a backup and a restore into the other database and back."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magistrate.config.settings import ImportTarget
from magistrate.engine.evaluation.check import Check
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef, object_id, relation_name, type_name
from magistrate.operations.checks.check import check_all
from magistrate.operations.checks.check_batch import NO_TYPES
from magistrate.operations.consistency import NO_DEMAND
from magistrate.wiring.backups import Backup, RestoreRequest, back_up, restore_backup
from magistrate.wiring.contexts import open_context
from magistrate.wiring.maintenance import import_file
from tests.databases import PostgresServer
from tests.running import settings_for

EXAMPLES, NIGHTLY_EXAMPLES = 10, 1_000

TYPES, RELATIONS, USERS = ("doc", "team"), ("r0", "r1", "r2"), ("ann", "bób", "\u4e2d", "a.b|c")
IDS = ("1", "x-y", "é", *USERS)
EXPRESSIONS = ("tenant == 'acme'", 'amount < 10 || tenant == "b"', "office(tenant)", "warrant.createdAt != ''")
TIMES = st.sampled_from(["1999-12-31T23:59:59.999999Z", "2020-01-01T00:00:00Z", "2090-06-01T12:00:00.5Z"])
METAS = st.dictionaries(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**53), 2**53)
        | st.text(st.characters(codec="utf-8", exclude_characters="\0")),
        lambda inner: st.lists(inner, max_size=3),
        max_leaves=5,
    ),
    max_size=3,
)


def rules_below(place: int) -> st.SearchStrategy[dict[str, Any]]:
    """Rules that depend on relations of lower places alone."""
    leaves = [st.just({}), st.just({"inheritIf": "self"}), st.just({"policy": "office"})]
    if place:
        lower = st.sampled_from(RELATIONS[:place])
        leaves += [
            st.builds(lambda name: {"inheritIf": name}, lower),
            st.builds(
                lambda name, of: {"inheritIf": name, "ofType": of, "withRelation": "r0"}, lower, st.sampled_from(TYPES)
            ),
        ]
    leaf = st.one_of(leaves).filter(bool)
    combined = st.builds(
        lambda operator, rules: {"inheritIf": operator, "rules": rules},
        st.sampled_from(["anyOf", "allOf", "noneOf"]),
        st.lists(leaf, min_size=1, max_size=3),
    )
    return st.one_of(st.just({}), leaf, combined)


RELATION_RULES = st.tuples(*map(rules_below, range(len(RELATIONS)))).map(
    lambda rules: dict(zip(RELATIONS, rules, strict=True))
)
SUBJECTS = st.one_of(
    st.builds(lambda user: {"objectType": "user", "objectId": user}, st.sampled_from((*USERS, "*"))),
    st.builds(
        lambda of, name, relation: {"objectType": of, "objectId": name, "relation": relation},
        *(st.sampled_from(names) for names in (TYPES, IDS, RELATIONS)),
    ),
)
WARRANT = st.fixed_dictionaries(
    {
        "objectType": st.sampled_from(TYPES),
        "objectId": st.sampled_from((*IDS, "*")),
        "relation": st.sampled_from(RELATIONS),
        "subject": SUBJECTS,
    },
    optional={
        "policy": st.sampled_from(EXPRESSIONS),
        "createdAt": TIMES.filter(lambda time: time < "2026"),
    },
).flatmap(
    lambda warrant: st.sampled_from(
        [
            warrant,
            warrant | {"expiresAt": "2001-01-01T00:00:00Z"},
            warrant | {"startsAt": "2000-01-01T00:00:00Z", "expiresAt": "2091-01-01T00:00:00.25Z"},
        ]
    )
)
OBJECT = st.fixed_dictionaries(
    {"objectType": st.sampled_from(TYPES), "objectId": st.sampled_from(IDS)}, optional={"meta": METAS}
)


@dataclass
class RandomStore:
    """A store as the lines of two imports, and whether what has expired is ended in between."""

    first: list[dict[str, Any]] = field(default_factory=list)
    second: list[dict[str, Any]] = field(default_factory=list)
    ends_expired: bool = False


@st.composite
def random_stores(draw: st.DrawFn) -> RandomStore:
    office = {
        "name": "office",
        "parameters": {"tenant": "string"},
        "expression": draw(st.sampled_from(['tenant == "acme"', "true"])),
    }
    types = [
        {"type": name, "relations": draw(RELATION_RULES), "description": draw(st.sampled_from(["", 'é "x"']))}
        for name in TYPES
    ]
    first = [office, *types, *draw(st.lists(OBJECT, max_size=4)), *draw(st.lists(WARRANT, max_size=25))]
    second = [*draw(st.lists(OBJECT, max_size=3)), *draw(st.lists(WARRANT, max_size=10))]
    return RandomStore(first, second, draw(st.booleans()))


def import_lines(url: str, lines: list[dict[str, Any]]) -> None:
    content = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    import_file(ImportTarget(settings_for(url), 7), BytesIO(content), None, lambda reached: None)  # type: ignore[arg-type]


def build_store(url: str, store: RandomStore) -> None:
    import_lines(url, store.first)
    if store.ends_expired:

        async def end_expired() -> None:
            async with open_context(settings_for(url)) as context:
                await context.store.end_expired(context.stamp("ann"), 1_000)

        asyncio.run(end_expired())
    import_lines(url, store.second)


def back_up_bytes(url: str, is_bare: bool = False) -> bytes:
    file = BytesIO()
    back_up(Backup(settings_for(url), is_bare=is_bare), file)
    return file.getvalue()


def read_decisions(url: str) -> Mapping[str, object]:
    """Checks of everyone on everything, and the objects of some."""
    checks = [
        Check(
            ObjectRef(type_name(of_type, ""), object_id(name, "")),
            relation_name(relation, ""),
            Subject(type_name("user", ""), object_id(user, ""), ""),
            {"tenant": tenant, "amount": 5},
        )
        for of_type, name, relation, user, tenant in product(TYPES, IDS[:3], RELATIONS, USERS[:2], ("acme", "b"))
    ]

    async def decide() -> Mapping[str, object]:
        async with open_context(settings_for(url)) as context:
            decided = (await check_all(context, checks, NO_DEMAND, NO_TYPES)).value
            return {check.render(): decision.is_authorized for check, decision in zip(checks, decided, strict=True)}

    return asyncio.run(decide())


@pytest.fixture(scope="module")
def postgres_url(postgres: PostgresServer) -> str:
    return postgres.new_migrated_url()


@pytest.mark.parametrize("examples", [EXAMPLES, pytest.param(NIGHTLY_EXAMPLES, marks=pytest.mark.nightly)])
def test_a_random_store_is_the_same_after_it_was_moved_twice(postgres_url: str, examples: int) -> None:
    @settings(max_examples=examples)
    @given(store=random_stores())
    def move_twice(store: RandomStore) -> None:
        with TemporaryDirectory() as folder:
            verify_moves(Path(folder), postgres_url, store)

    move_twice()


def verify_moves(folder: Path, postgres_url: str, store: RandomStore) -> None:
    first, second = (f"sqlite:///{folder}/{name}.db" for name in ("first", "second"))
    build_store(first, store)
    before = back_up_bytes(first)

    restored = restore_backup(settings_for(postgres_url), RestoreRequest(replaces=True), BytesIO(before))
    moved_back = restore_backup(settings_for(second), RestoreRequest(), BytesIO(back_up_bytes(postgres_url)))

    assert [each.differences for each in (*restored, *moved_back)] == [[], []]
    assert back_up_bytes(first, True) == back_up_bytes(postgres_url, True) == back_up_bytes(second, True)
    assert read_decisions(first) == read_decisions(postgres_url) == read_decisions(second)
