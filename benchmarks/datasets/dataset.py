"""What a data set offers: its object types, its warrants as a stream, and checks and queries of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from random import Random
from typing import NamedTuple, Protocol, TypeAlias

from benchmarks.datasets.popularity import Popularity

SMALLEST_SIZE = 1_000
"""In warrants. Below it some shares of the whole would be less than one."""

SMALLEST_QUERIED_SIZE = 100_000
"""Below it the parts that make up a list are too large for the smaller lists."""

ALLOWED_SHARE = 0.7
"""The share of the checks that are allowed."""

RuleJson: TypeAlias = "dict[str, str | list[RuleJson]]"
"""A relation rule in JSON (docs/compatibility.md#rules)."""

WarrantRow = tuple[str, str, str, str, str, str, str]
"""Object type, object id, relation, subject type, subject id, subject relation, policy; the last two may be empty."""


class SizedQuery(NamedTuple):
    """A query, and about how many rows it has: 10, or a thousandth, a hundredth or a tenth of the size."""

    about: int
    text: str


class Check(NamedTuple):
    """A check: has this subject that relation?"""

    object_type: str
    object_id: str
    relation: str
    subject_type: str
    subject_id: str


class AnsweredQuestion(NamedTuple):
    """A check, and the answer that the warrants of the data set alone give: no other warrant may matter to it."""

    question: Check
    allowed: bool


@dataclass(frozen=True, slots=True)
class Target:
    """What can be checked, and who would be allowed, as ranges of numbers of users.

    Allowed is everyone in `audience` and not in `blocked`, nobody else. `neighbours`, not empty, are those whose
    denial is more than a matter of course: they belong to the same tenant, or have a lesser relation.
    """

    object_type: str
    object_id: str
    relation: str
    audience: Sequence[range]
    neighbours: range
    blocked: Sequence[range] = ()

    def allows(self, user: int) -> bool:
        return any(user in crowd for crowd in self.audience) and not any(user in crowd for crowd in self.blocked)

    def allowed_count(self) -> int:
        """How many users are allowed. Walks them all."""
        return len(set(chain.from_iterable(self.audience)).difference(*self.blocked))


class Structure(Protocol):
    """The structure of one data set, all of it computed from the numbers of its parts."""

    @property
    def users(self) -> Popularity:
        """How often each user is checked."""
        ...

    def warrants(self) -> Iterator[WarrantRow]:
        """As many as the size says, no two alike, in the same order each time."""
        ...

    def target(self, generator: Random) -> Target:
        """Something to check, drawn by the popularity of objects."""
        ...

    def wide_warrants(self) -> Iterator[WarrantRow]:
        """See Dataset."""
        ...

    def queries(self) -> Sequence[SizedQuery]:
        """See Dataset."""
        ...


@dataclass(frozen=True, slots=True)
class Dataset:
    """`types`: object type -> relation -> rule. `size`: in warrants. Takes no memory to speak of at any size."""

    name: str
    types: Mapping[str, Mapping[str, RuleJson]]
    size: int
    structure: Structure = field(repr=False)

    def warrants(self) -> Iterator[WarrantRow]:
        """`size` rows, no two alike; each call begins anew, with the same rows in the same order."""
        return self.structure.warrants()

    def wide_warrants(self) -> Iterator[WarrantRow]:
        """Warrants to come behind the others where queries are made: because of them there is someone who reaches
        very many objects, and an object that very many reach, through groups and what is inherited. No two are alike
        and none is like the others; at most a fiftieth of the size."""
        return self.structure.wide_warrants()

    def queries(self) -> Sequence[SizedQuery]:
        """What someone has access to, and who has access to something: for each of the two, a query of each of the four
        sizes, as near to it as the data set comes, within a factor of three. The wide warrants are reckoned with.

        Needs a size of SMALLEST_QUERIED_SIZE."""
        return self.structure.queries()

    def questions(self, count: int, seed: int) -> list[Check]:
        """Checks, each drawn on its own to be allowed with the probability ALLOWED_SHARE.

        Whether it is, follows from how the warrants are made and is exact: the share of allowed ones in a list is off
        by nothing but chance, one standard deviation being 0.46 / sqrt(count): half a percentage point for 10,000
        checks.

        Objects are drawn by their popularity, Zipf's law with exponent 1.1, as far as someone is allowed, or denied,
        on them at all. So are the users in half of the denied checks. All other users are popular ones among those
        who have the relation in one of the ways to have it, or among the neighbours who have not.
        """
        return [answered.question for answered in self.answered_questions(count, seed)]

    def answered_questions(self, count: int, seed: int) -> list[AnsweredQuestion]:
        """The same checks in the same order, each with its answer."""
        return list(islice(self.endless_questions(seed), count))

    def endless_questions(self, seed: int) -> Iterator[AnsweredQuestion]:
        """The same, without an end."""
        generator = Random(seed)
        while True:
            yield self._check(generator)

    def _check(self, generator: Random) -> AnsweredQuestion:
        allowed = generator.random() < ALLOWED_SHARE
        while True:
            target = self.structure.target(generator)
            user = self._user(target, allowed, generator)
            if target.allows(user) == allowed:
                names = (target.object_type, target.object_id, target.relation)
                return AnsweredQuestion(Check(*names, "user", user_id(user)), allowed)

    def _user(self, target: Target, allowed: bool, generator: Random) -> int:
        """Someone who probably is allowed, or is denied, as wanted."""
        users = self.structure.users
        if allowed and target.audience:
            return users.draw_from(target.audience[int(generator.random() * len(target.audience))], generator)
        if not allowed and generator.random() < 0.5:
            return users.draw_from(target.neighbours, generator)
        return users.draw(generator)


def sized_queries(size: int, texts: Iterable[str]) -> list[SizedQuery]:
    """Four texts, the query with the fewest rows first."""
    return [SizedQuery(about, text) for about, text in zip(query_sizes(size), texts, strict=True)]


def query_sizes(size: int) -> tuple[int, int, int, int]:
    return 10, size // 1_000, size // 100, size // 10


def nearest(wanted: int, counts: Mapping[str, int]) -> str:
    """The first whose count comes nearest to what is wanted."""
    return min(counts, key=lambda name: abs(counts[name] - wanted))


def user_id(number: int) -> str:
    return f"user-{number}"


def check_size(size: int) -> None:
    if size < SMALLEST_SIZE:
        raise ValueError(f"a data set has at least {SMALLEST_SIZE} warrants, not {size}")
