"""Checks of users who are in very many groups."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from benchmarks.fairness.asking import Answer
from benchmarks.fairness.population import CROWD, CROWDED_PAPER, DEEP
from benchmarks.fairness.shapes import SHAPES, Groups
from benchmarks.fairness.stage import Act, Attack, Stage, ask_check, claim

BATCH, TOKEN_BATCH = 1_000, 100
CLIENTS = 6


def deep_groups(stage: Stage) -> Iterator[tuple[str, Act]]:
    for groups in DEEP:
        about = f"a user {groups.size:,} groups deep"
        claims = groups.claims(BATCH)
        bare = [{key: value for key, value in one.items() if key != "subject"} for one in claims]
        yield f"{about}: one check", partial(stage.check, claims[:1])
        yield f"{about}: {BATCH:,} checks by key", partial(stage.check, claims)
        yield f"{about}: the same again", partial(stage.check, claims)
        for count in (TOKEN_BATCH, BATCH):
            yield f"{about}: {count:,} checks by session token", partial(stage.check_as, groups.user, bare[:count])


def shapes(stage: Stage) -> Iterator[tuple[str, Act]]:
    for shape in SHAPES:
        groups = Groups(shape, 10_000)
        yield f"a {shape} of 10,000: one check", partial(stage.check, groups.claims(1))
        yield f"a {shape} of 10,000: {BATCH:,} checks", partial(stage.check, groups.claims(BATCH))
        yield f"a {shape} of 10,000: one check with debug", partial(stage.check, groups.claims(1), debug=True)


def many_subjects(stage: Stage) -> Iterator[tuple[str, Act]]:
    """Each element is about another user, half of whom are deep in groups."""
    claims = [one for size in (1_000, 10_000) for shape in SHAPES for one in Groups(shape, size).claims(80)]

    def together() -> list[Answer]:
        with ThreadPoolExecutor(CLIENTS) as threads:
            return [*threads.map(lambda _: ask_check(stage.caller, claims), range(CLIENTS))]

    yield f"{len(claims)} checks of {2 * len(SHAPES)} users", partial(stage.check, claims)
    yield f"the same from {CLIENTS} clients at once", together


def crowded(stage: Stage) -> Iterator[tuple[str, Act]]:
    """One object that very many groups have a relation on: what is read of it comes in one piece."""
    asked = [claim("paper", CROWDED_PAPER, "viewer", "ann")]
    yield f"an object with {CROWD:,} groups: a check", partial(stage.check, asked)
    yield f"an object with {CROWD:,} groups: with debug", partial(stage.check, asked, debug=True)
    question = f"/v2/query?q=select%20viewer%20of%20type%20user%20for%20paper:{CROWDED_PAPER}"
    yield f"an object with {CROWD:,} groups: who has it", partial(stage.ask, "GET", question)


CHECKS: dict[str, Attack] = {"deep": deep_groups, "shapes": shapes, "many-subjects": many_subjects, "crowded": crowded}
