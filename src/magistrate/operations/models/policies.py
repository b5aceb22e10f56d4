"""Creates, reads, updates, deletes and lists named policies (docs/policies.md#named-policies)."""

from collections.abc import Sequence

from magistrate.engine.names import PolicyName, Revision
from magistrate.engine.policy.named_policies import NamedPolicy
from magistrate.errors import NotFound
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.history.points_in_time import AsOf, find_revision
from magistrate.operations.models.definitions import render_policy_definition
from magistrate.operations.paging import ListKind, Page, PageRequest, Sort, read_page
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import Stamp
from magistrate.store.contract.stored_rows import StoredPolicy

POLICY_LIST: ListKind[StoredPolicy] = ListKind("policies", {"name": Sort("name", lambda row: (row.name,))})


async def put_policies(
    ctx: Context,
    policies: Sequence[NamedPolicy],
    stamp: Stamp,
    must_exist: bool = False,
    is_whole_set: bool = False,
) -> Snapshot[tuple[StoredPolicy, ...]]:
    """Creates each policy, or replaces its definition. All or nothing. If they are the whole set, deletes all others.
    With `must_exist`, raises NotFound for the first that does not exist."""
    new = [(policy.name, render_policy_definition(policy)) for policy in policies]
    return await ctx.store.put_policies(new, stamp, must_exist, is_whole_set)


async def get_policy(
    ctx: Context, name: PolicyName, freshness: Freshness, as_of: AsOf | None
) -> Snapshot[StoredPolicy]:
    """Returns the policy. Raises NotFound, InvalidParameter if the token is from the future, and what `find_revision`
    raises."""
    stored = await ctx.store.get_policy(name, await find_revision(ctx, as_of, freshness))
    if as_of is None:
        freshness.demand(stored.revision)
    if stored.value is None:
        raise NotFound("Policy", name)
    return Snapshot(stored.revision, stored.value)


async def delete_policy(ctx: Context, name: PolicyName, stamp: Stamp) -> Revision:
    """Deletes the policy; rules that name it are unknown from then on. Raises NotFound."""
    return await ctx.store.delete_policy(name, stamp)


async def list_policies(ctx: Context, page_request: PageRequest, freshness: Freshness) -> Snapshot[Page[StoredPolicy]]:
    return await read_page(POLICY_LIST, page_request, freshness, ctx.store, read=ctx.store.list_policies)
