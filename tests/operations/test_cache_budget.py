"""Shares of the budget of all caches: never more than it has, and each store keeps its equal part."""

from random import Random

from magistrate.operations.cache_budget import FIRST_BYTES, IDLE_ROUNDS, CacheBudget, CacheShare

MANY = 10 * FIRST_BYTES


def open_shares(budget: CacheBudget, count: int) -> list[CacheShare]:
    return [budget.open() for _ in range(count)]


def grow_fully(share: CacheShare) -> int:
    while share.grow():
        pass
    return share.bytes


def test_a_store_alone_gets_all() -> None:
    assert CacheBudget(MANY).open().bytes == MANY
    [share] = open_shares(CacheBudget(MANY, 5), 1)

    assert share.bytes == FIRST_BYTES
    assert grow_fully(share) == MANY


def test_without_any_bytes_nothing_is_given() -> None:
    for share in open_shares(CacheBudget(0, 100), 3):
        assert grow_fully(share) == 0


def test_a_store_that_is_used_takes_back_up_to_its_equal_part() -> None:
    budget = CacheBudget(MANY, 5)
    first, second = open_shares(budget, 2)
    grow_fully(first)
    grow_fully(second)

    assert (first.bytes, second.bytes) == (MANY // 2, MANY // 2)


def test_no_store_takes_from_another_that_is_used_beyond_its_equal_part() -> None:
    budget = CacheBudget(MANY, 5)
    first, second, third = open_shares(budget, 3)
    grow_fully(first)
    grow_fully(second)
    before = first.bytes

    budget.round += 1
    assert not second.grow()
    assert first.bytes == before
    assert third.bytes == FIRST_BYTES
    budget.round += 1
    assert grow_fully(third) == MANY // 3 or third.bytes >= FIRST_BYTES


def test_what_was_used_least_recently_is_taken_back_first_and_never_below_its_equal_part() -> None:
    budget = CacheBudget(4 * MANY, 8)
    idle, busy, small, new = open_shares(budget, 4)
    while idle.bytes < 16 * FIRST_BYTES:
        assert idle.grow()
    grow_fully(busy)
    budget.round += IDLE_ROUNDS
    busy.use()
    before = idle.bytes, busy.bytes
    assert min(before) > MANY

    assert new.grow()
    assert (idle.bytes, busy.bytes) == (before[0] - FIRST_BYTES, before[1])

    grow_fully(new)
    assert min(idle.bytes, busy.bytes) >= MANY
    assert small.bytes == FIRST_BYTES
    assert new.bytes >= MANY


def test_shares_never_exceed_the_budget_whatever_happens() -> None:
    random, most = Random(3), 20
    budget = CacheBudget(MANY, most)
    shares: list[CacheShare] = []
    for _ in range(5_000):
        action = random.random()
        if action < 0.05 and len(shares) < most:
            shares.append(budget.open())
        elif action < 0.08 and shares:
            shares.pop(random.randrange(len(shares))).close()
        elif action < 0.2:
            budget.round += 1
        elif shares:
            share = random.choice(shares)
            share.use()
            before = {other: other.bytes for other in shares}
            share.grow()
            equal = MANY // len(shares)
            assert all(other.bytes >= min(before[other], equal) for other in shares)
        assert sum(share.bytes for share in shares) <= MANY
        assert all(share.bytes >= MANY // most for share in shares)


def test_a_closed_share_gets_nothing_and_its_bytes_are_free() -> None:
    budget = CacheBudget(MANY, 5)
    first, second = open_shares(budget, 2)
    grow_fully(first)
    first.close()

    assert not first.grow()
    assert grow_fully(second) == MANY
