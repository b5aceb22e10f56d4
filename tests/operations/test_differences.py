"""Differences of access of very many objects: what they have in common is read and computed once in each state."""

from typing import Any

import pytest

from magistrate.engine.names import TypeName
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.difference.affected_access import StateSearch
from magistrate.operations.difference.filters import Narrowing
from magistrate.operations.difference.proposal import Proposal, list_proposed_difference, proposal_kind
from magistrate.operations.paging import read_page_request
from tests.memory_source import model_of
from tests.operations.node import Node
from tests.operations.stored_warrants import Types

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
