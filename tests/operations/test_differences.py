"""Differences of access of very many objects: what they have in common is read and computed once in each state."""

from typing import Any

import pytest

from magistrate.engine.names import TypeName
from magistrate.errors import InvalidParameter
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.difference import checked_access
from magistrate.operations.difference.affected_access import StateSearch
from magistrate.operations.difference.filters import Narrowing, read_narrowing
from magistrate.operations.difference.proposal import Proposal, list_proposed_difference, proposal_kind
from magistrate.operations.paging import read_page_request
from tests.memory_source import model_of
from tests.operations.node import Node
from tests.operations.stored_warrants import Types, new

pytestmark = pytest.mark.anyio

DOCUMENTS, MEMBERS = 60, 300
BY_FOLDER = {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}
SHARED: Types = {
    "user": {},
    "team": {"member": {}},
    "folder": {"parent": {}, "viewer": BY_FOLDER},
    "document": {
        "parent": {},
        "blocked": {},
        "reader": BY_FOLDER,
        "viewer": {
            "inheritIf": "allOf",
            "rules": [{"inheritIf": "reader"}, {"inheritIf": "noneOf", "rules": [{"inheritIf": "blocked"}]}],
        },
    },
}


async def share_documents(node: Node) -> None:
    """A team of many views all documents, which are in one folder; one member is blocked on each of them."""
    await node.define(SHARED)
    await node.grant(*[f"team:all#member@user:{number}" for number in range(MEMBERS)])
    await node.grant("folder:top#viewer@team:all#member", "folder:all#parent@folder:top")
    await node.grant(*[f"document:{number}#parent@folder:all" for number in range(DOCUMENTS)])
    await node.grant(*[f"document:{number}#blocked@user:{number}" for number in range(DOCUMENTS)])


async def list_gained(node: Node, viewer: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """Who views documents with another rule: the document, the user, and whether that depends on a context."""
    types = model_of({"document": SHARED["document"] | {"viewer": viewer}}).types
    proposal = Proposal(object_types=[types[TypeName("document")]])
    wanted = read_page_request(proposal_kind(proposal, Narrowing()), {"limit": "1000"}, node.ctx.store.identity)
    page = (await list_proposed_difference(node.ctx, proposal, Narrowing(), wanted, NO_DEMAND)).value
    rows = [row.change for row in page.rows if row.change.relation == "viewer" and row.change.is_gained]
    return [(one.id, one.subject_id, one.is_conditional) for one in rows]


async def find_gained(node: Node) -> list[tuple[str, str]]:
    """The documents that who was blocked on them may view without the exclusion."""
    gained = await list_gained(node, {"inheritIf": "reader"})
    assert not any(is_conditional for _, _, is_conditional in gained)
    return [(object_id, user) for object_id, user, _ in gained]


async def test_one_object_that_bitmaps_are_not_enough_for_leaves_the_others_to_them(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    await share_documents(node)
    await node.grant("document:7#reader@user:*", "document:40#reader@user:0[x == 1]")
    evaluated: list[str] = []
    find_sets = StateSearch.find_sets

    async def note_objects(search: StateSearch, roots: Any) -> Any:
        evaluated.extend(object_ref.id for object_ref, _ in roots)
        return await find_sets(search, roots)

    monkeypatch.setattr(StateSearch, "find_sets", note_objects)
    node.database.rows = 0

    gained = await find_gained(node)

    assert gained == sorted((str(number), str(number)) for number in range(DOCUMENTS))
    assert set(evaluated) == {"7", "40"}
    # In each state, with and without bitmaps, and without a context.
    assert node.database.rows < 6 * MEMBERS + 10 * DOCUMENTS


async def test_access_by_a_policy_that_fails_is_conditional_whatever_else_is_compared(node: Node) -> None:
    await node.define(SHARED)
    ids = [str(number) for number in range(8)]
    await node.grant(*[f"document:{object_id}#blocked@user:ann[1 / 0 > 5]" for object_id in ids])
    await node.grant(*[f"document:{object_id}#reader@user:bob" for object_id in ids])

    by_blocked = await list_gained(node, {"inheritIf": "blocked"})
    by_absent_policy = await list_gained(
        node, {"inheritIf": "allOf", "rules": [{"inheritIf": "reader"}, {"policy": "absent"}]}
    )

    assert by_blocked == [(object_id, "ann", True) for object_id in ids]
    assert by_absent_policy == [(object_id, "bob", True) for object_id in ids]


TEN = frozenset(f"kim-{number}" for number in range(10))
SHARES = "folder:all#viewer@team:ten#member"


async def share_folder(node: Node, *further: str) -> None:
    """There is a folder of documents, each of which somebody else reads, and a team of ten that cannot view it."""
    await node.define(SHARED)
    await node.grant(*[f"team:ten#member@user:{name}" for name in sorted(TEN)])
    await node.grant(*[f"document:{number}#parent@folder:all" for number in range(DOCUMENTS)])
    await node.grant(*[f"document:{number}#reader@user:{number}" for number in range(DOCUMENTS)])
    if further:
        await node.grant(*further)


async def list_shared(node: Node, subject: str | None = None) -> dict[str, set[str]]:
    """Who of the team would gain what, if it got the folder: users by document."""
    narrowing, proposal = read_narrowing("document#viewer@user", subject, None, None), Proposal([new(SHARES)])
    wanted = read_page_request(proposal_kind(proposal, narrowing), {"limit": "1000"}, node.ctx.store.identity)
    page = (await list_proposed_difference(node.ctx, proposal, narrowing, wanted, NO_DEMAND)).value
    gained: dict[str, set[str]] = {str(number): set() for number in range(DOCUMENTS)}
    for change in (row.change for row in page.rows):
        assert change.is_gained
        gained.setdefault(change.id, set()).add(change.subject_id)
    return gained


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the objects that are checked, of each check."""
    ids: list[str] = []
    check_all = StateSearch.check

    async def note_objects(search: StateSearch, checks: Any) -> Any:
        ids.extend(check.object.id for check in checks)
        return await check_all(search, checks)

    monkeypatch.setattr(StateSearch, "check", note_objects)
    return ids


async def test_of_objects_that_are_alike_for_the_subjects_one_is_checked(node: Node, checked: list[str]) -> None:
    await share_folder(node)

    assert await list_shared(node) == {str(number): TEN for number in range(DOCUMENTS)}
    assert len(checked) == 2 * len(TEN)


async def test_objects_are_not_alike_where_a_warrant_concerns_one_of_the_subjects(
    node: Node, checked: list[str]
) -> None:
    await share_folder(
        node,
        "document:3#blocked@user:kim-3",
        "document:4#reader@user:kim-4",
        "document:5#blocked@user:*",
        "document:6#blocked@team:ten#member",
        "document:7#blocked@user:kim-7[1 == 2]",
        "folder:top#viewer@user:kim-8",
        "document:8#parent@folder:top",
    )
    gained = {str(number): TEN for number in range(DOCUMENTS)}
    gained |= {"3": TEN - {"kim-3"}, "4": TEN - {"kim-4"}, "5": frozenset(), "6": frozenset(), "8": TEN - {"kim-8"}}

    assert await list_shared(node) == gained
    assert set(checked) - {"3", "4", "5", "6", "7", "8"} == {min(checked)}


async def test_objects_with_very_many_warrants_are_checked_each(
    node: Node, checked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await share_folder(node)
    monkeypatch.setattr(checked_access, "WARRANTS_FOR_A_PAIR", 0)

    assert await list_shared(node) == {str(number): TEN for number in range(DOCUMENTS)}
    assert len(checked) == 2 * DOCUMENTS * len(TEN)


async def test_what_it_takes_to_find_out_which_objects_are_alike_is_charged(node: Node) -> None:
    await share_folder(node)
    await list_shared(node)
    await node.grant(*[f"document:1#reader@user:other-{number}" for number in range(2_000)])
    node.ctx.max_query_work = 2_000

    with pytest.raises(InvalidParameter, match="nodes and warrants"):
        await list_shared(node)


async def test_warrants_that_many_checks_need_are_read_once(node: Node) -> None:
    many = range(DOCUMENTS, 900)
    await share_folder(node, *[f"document:{number}#parent@folder:all" for number in many])
    await node.grant(*[f"document:{number}#blocked@team:{number}#member" for number in many])
    node.database.rows = 0

    gained = await list_shared(node, "user:kim-0")

    assert all(gained[str(number)] == {"kim-0"} for number in many)
    # Two warrants on each document: in both states, to find out which are alike, and one to find the documents.
    assert node.database.rows < 8 * 900
