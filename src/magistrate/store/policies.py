"""Writes named policies, as scripts; and defines what a store promises of them."""

from collections.abc import Callable, Sequence

from magistrate.engine.names import PolicyName
from magistrate.engine.terms import Revision
from magistrate.errors import NotFound
from magistrate.store import sql, sql_models
from magistrate.store.contract import Snapshot, Stamp
from magistrate.store.database import NOTHING, Execute, Row, Script, Select
from magistrate.store.stored_rows import StoredPolicy
from magistrate.store.versioned import Key, Versioned, WriteOutcome, end, put, write


def build_policy(row: Row) -> StoredPolicy:
    return StoredPolicy(*row)


NAMED_POLICIES: Versioned[StoredPolicy] = Versioned(
    kind="policy",
    key_length=1,
    find=sql_models.FIND_POLICY,
    find_any=sql_models.FIND_POLICIES,
    end=sql_models.END_POLICY,
    insert=sql_models.INSERT_POLICY,
    stored=build_policy,
    missing=lambda key: NotFound("Policy", *key),
)

Written = Script[Snapshot[tuple[StoredPolicy, ...]]]


def put_policies(
    new: Sequence[tuple[PolicyName, str]], stamp: Stamp, must_exist: bool, is_whole_set: bool
) -> Callable[[Revision], Written]:
    def work(revision: Revision) -> Script[WriteOutcome[StoredPolicy]]:
        return put_all_policies(new, stamp, revision, must_exist, is_whole_set)

    return lambda head: write(head, stamp, tuple[StoredPolicy, ...], work)


def put_all_policies(
    new: Sequence[tuple[PolicyName, str]],
    stamp: Stamp,
    revision: Revision,
    must_exist: bool = False,
    is_whole_set: bool = False,
) -> Script[WriteOutcome[StoredPolicy]]:
    """Writes named policies as a part of this revision; see PolicyStore.put_policies."""
    [rows] = yield Select(sql_models.LIST_POLICY_NAMES, [()])
    names = [name for (name,) in rows]
    wanted: dict[Key, str | None] = {(name,): definition for name, definition in new}
    unknown = next((key for key in wanted if key[0] not in names), None)
    if must_exist and unknown is not None:
        raise NAMED_POLICIES.missing(unknown)
    stored, effects = yield from put(NAMED_POLICIES, wanted, stamp, revision)
    surplus = [(name,) for name in names if (name,) not in wanted] if is_whole_set else []
    if surplus:
        effects += yield from end(NAMED_POLICIES, surplus, revision)
    yield Execute(sql.MOVE_MODEL, [(revision,)], NOTHING)
    return WriteOutcome(tuple(stored[(name,)] for name, _ in new), effects)


def delete_policy(name: PolicyName, stamp: Stamp) -> Callable[[Revision], Written]:
    def work(revision: Revision) -> Script[WriteOutcome[StoredPolicy]]:
        effects = yield from end(NAMED_POLICIES, [(name,)], revision)
        yield Execute(sql.MOVE_MODEL, [(revision,)], NOTHING)
        return WriteOutcome((), effects)

    return lambda head: write(head, stamp, tuple[StoredPolicy, ...], work)
