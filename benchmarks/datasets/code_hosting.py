"""Organisations, teams, repositories and users, as where code is hosted.

A team is part of another up to three deep; members of the part are members of the whole. Five roles on a repository,
each with all that the lesser ones have; two teams have one each. Owners of an organisation are admins of all its
repositories; in seven organisations of ten, all members are readers. The first organisation has a tenth of all
users, and of all repositories. What is left of the size are outside collaborators: users of another organisation
with a role on a single repository.

For lists, there are teams of two kinds besides, each for every region, of as many organisations as have a thousandth of
the size in repositories, and in members too; for every area of ten regions, and for the world. Security teams are
readers of the organisations of their region; that of the world is part of those of the areas, and these of those of the
regions. Staff teams have as members those of their organisations; that of a region is part of that of its area,
and this of that of the world. Three organisations let staff read: of a region, of an area, of the world.
"""

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from benchmarks.datasets.dataset import (
    Dataset,
    RuleJson,
    SizedQuery,
    Target,
    WarrantRow,
    check_size,
    nearest,
    query_sizes,
    sized_queries,
    user_id,
)
from benchmarks.datasets.popularity import Popularity
from benchmarks.datasets.regions import RANKS, REGIONS, RESPONSIBLE, WITHIN
from benchmarks.datasets.scatter import Dealing, Division, Scatter, crowd, mixed, salts

TYPES: dict[str, dict[str, RuleJson]] = {
    "user": {},
    "team": {"member": {}},
    "org": {"owner": {}, "member": {"inheritIf": "owner"}, "base-reader": {}},
    "repo": {
        "org": {},
        "admin": {"inheritIf": "owner", "ofType": "org", "withRelation": "org"},
        "maintainer": {"inheritIf": "admin"},
        "writer": {"inheritIf": "maintainer"},
        "triager": {"inheritIf": "writer"},
        "reader": {
            "inheritIf": "anyOf",
            "rules": [
                {"inheritIf": "triager"},
                {"inheritIf": "base-reader", "ofType": "org", "withRelation": "org"},
            ],
        },
    },
}

WARRANTS_PER_ORG = 375
USERS_PER_ORG = 50
REPOS_PER_ORG = 60
ORGS_SHARE = 50
"""About so many users, and repositories, an organisation has that is not the first."""

TEAMS = 13
"""In an organisation: one has three parts, each of them three."""
PARTS = 3
TEAMS_PER_USER = 2
TEAMS_PER_REPO = 2

ROLES = ("reader", "triager", "writer", "maintainer", "admin")
"""From the least to the greatest."""
TEAM_ROLES = (0, 0, 0, 1, 2, 2, 2, 3, 3, 4)
COLLABORATOR_ROLES = (0, 0, 1, 2, 2, 2)
ASKED_ROLES = (0, 0, 0, 0, 1, 2, 2, 2, 3, 4)


def code_hosting(size: int, seed: int) -> Dataset:
    check_size(size)
    return Dataset("code-hosting", TYPES, size, CodeHosting(size, seed))


class CodeHosting:
    """Checks are about repositories: four of ten whether someone is a reader, three of ten a writer."""

    def __init__(self, size: int, seed: int) -> None:
        salt = salts(seed)
        self._size = size
        self._orgs = size // WARRANTS_PER_ORG
        repos = self._orgs * REPOS_PER_ORG
        self._all_repos = range(repos)
        self._users = Division(self._orgs * USERS_PER_ORG, self._orgs)
        self._repos = Division(repos, self._orgs)
        self._open_orgs = self._orgs * 7 // 10
        self._openness = Scatter(self._orgs, next(salt))
        self._owner_salt, self._team_salt, self._repo_salt, self._outside_salt = (next(salt) for _ in range(4))
        ordinary = self._open_orgs + sum(self._ordinary_warrants(org) for org in range(self._orgs))
        self._outside = Dealing(size - ordinary, repos, next(salt))
        self._repo_popularity = Popularity(repos, next(salt))
        self.users = Popularity(self._orgs * USERS_PER_ORG, next(salt))

    def warrants(self) -> Iterator[WarrantRow]:
        for org in range(self._orgs):
            yield from self._of_org(org)
            for team in range(TEAMS):
                yield from self._of_team(org, team)
        for repo in self._all_repos:
            yield from self._of_repo(repo)

    def target(self, generator: Random) -> Target:
        role = ASKED_ROLES[int(generator.random() * len(ASKED_ROLES))]
        return self._repo_target(self._repo_popularity.draw(generator), role)

    def wide_warrants(self) -> Iterator[WarrantRow]:
        for name, greater in WITHIN.items():
            yield ("team", f"security-{name}", "member", "team", f"security-{greater}", "member", "")
            yield ("team", f"staff-{greater}", "member", "team", f"staff-{name}", "member", "")
        for name in RESPONSIBLE:
            yield ("team", f"security-{name}", "member", "user", f"security-{name}", "", "")
        orgs_in_region = self._size // 1_000 // ORGS_SHARE
        for place in range(REGIONS * orgs_in_region):
            org, region = f"org-{place + 1}", f"region-{place // orgs_in_region}"  # the first one is far larger
            yield ("org", org, "base-reader", "team", f"security-{region}", "member", "")
            yield ("team", f"staff-{region}", "member", "org", org, "member", "")
        for name, reading in zip(RANKS, self._read_by_staff(), strict=True):
            yield ("org", f"org-{reading}", "base-reader", "team", f"staff-{name}", "member", "")

    def queries(self) -> Sequence[SizedQuery]:
        few = query_sizes(self._size)[0]
        closed = next(org for org in reversed(range(self._read_by_staff()[0])) if not self._is_open(org))
        users = [nearest(few, self._repo_counts(closed)), *(f"security-{name}" for name in RANKS)]
        first_repos = [f"repo-{self._repos.members(org)[0]}" for org in self._read_by_staff()]
        repos = [nearest(few, self._reader_counts(closed)), *first_repos]
        return [
            *sized_queries(self._size, (f"select repo where user:{object_id} is reader" for object_id in users)),
            *sized_queries(self._size, (f"select reader of type user for repo:{object_id}" for object_id in repos)),
        ]

    def _read_by_staff(self) -> range:
        """Organisations that let the staff of RANKS read: the last ones."""
        return range(self._orgs - len(RANKS), self._orgs)

    def _repo_counts(self, org: int) -> Mapping[str, int]:
        """By member: the repositories of the organisation that they can read."""
        targets = [self._repo_target(repo, 0) for repo in self._repos.members(org)]
        return {user_id(user): sum(target.allows(user) for target in targets) for user in self._users.members(org)}

    def _reader_counts(self, org: int) -> Mapping[str, int]:
        """By repository of the organisation."""
        targets = [self._repo_target(repo, 0) for repo in self._repos.members(org)]
        return {target.object_id: target.allowed_count() for target in targets}

    def _repo_target(self, repo: int, role: int) -> Target:
        org = self._repos.part_of(repo)
        audience = [self._owners(org), *self._through_teams(repo, org, role)]
        outside_role, outsiders = self._outsiders(repo, org)
        if outsiders and outside_role >= role:
            audience.append(outsiders)
        members = self._users.members(org)
        if not role and self._is_open(org):
            audience.append(members)
        return Target("repo", f"repo-{repo}", ROLES[role], audience, members)

    def _ordinary_warrants(self, org: int) -> int:
        """Without openness and outside collaborators."""
        users, repos = len(self._users.members(org)), len(self._repos.members(org))
        of_teams = TEAMS - 1 + TEAMS * _team_size(users)
        return users + _owner_count(users) + of_teams + repos * (1 + TEAMS_PER_REPO)

    def _of_org(self, org: int) -> Iterator[WarrantRow]:
        name = f"org-{org}"
        if self._is_open(org):
            yield ("org", name, "base-reader", "org", name, "member", "")
        for user in self._owners(org):
            yield ("org", name, "owner", "user", user_id(user), "", "")
        for user in self._users.members(org):
            yield ("org", name, "member", "user", user_id(user), "", "")

    def _of_team(self, org: int, team: int) -> Iterator[WarrantRow]:
        name = _team_id(org, team)
        if team:
            yield ("team", _team_id(org, (team - 1) // PARTS), "member", "team", name, "member", "")
        for user in self._team_members(org, team):
            yield ("team", name, "member", "user", user_id(user), "", "")

    def _of_repo(self, repo: int) -> Iterator[WarrantRow]:
        name, org = f"repo-{repo}", self._repos.part_of(repo)
        yield ("repo", name, "org", "org", f"org-{org}", "", "")
        for role, team in self._team_roles(repo):
            yield ("repo", name, ROLES[role], "team", _team_id(org, team), "member", "")
        role, outsiders = self._outsiders(repo, org)
        for user in outsiders:
            yield ("repo", name, ROLES[role], "user", user_id(user), "", "")

    def _is_open(self, org: int) -> bool:
        return self._openness.place_of(org) < self._open_orgs

    def _owners(self, org: int) -> range:
        members = self._users.members(org)
        return crowd(members, mixed(self._owner_salt, org), _owner_count(len(members)))

    def _team_members(self, org: int, team: int) -> range:
        """Those who are members of the team itself, and not through one of its parts."""
        members = self._users.members(org)
        return crowd(members, mixed(self._team_salt, org * TEAMS + team), _team_size(len(members)))

    def _team_roles(self, repo: int) -> Iterator[tuple[int, int]]:
        """Role and team, the team each time another."""
        bits = mixed(self._repo_salt, repo)
        for team in crowd(range(TEAMS), bits, TEAMS_PER_REPO):
            bits //= len(TEAM_ROLES)
            yield TEAM_ROLES[bits % len(TEAM_ROLES)], team

    def _through_teams(self, repo: int, org: int, role: int) -> Iterator[range]:
        for granted, team in self._team_roles(repo):
            if granted >= role:
                teams = [team]
                for whole in teams:  # grows while it is walked
                    teams += [part for part in range(whole * PARTS + 1, whole * PARTS + 1 + PARTS) if part < TEAMS]
                yield from (self._team_members(org, each) for each in teams)

    def _outsiders(self, repo: int, org: int) -> tuple[int, range]:
        """The role that outside collaborators have on the repository, and who they are, if there are any."""
        bits = mixed(self._outside_salt, repo)
        other = (org + 1 + bits % (self._orgs - 1)) % self._orgs
        role = COLLABORATOR_ROLES[(bits >> 8) % len(COLLABORATOR_ROLES)]
        return role, crowd(self._users.members(other), bits >> 16, self._outside.dealt_to(repo))


def _owner_count(users: int) -> int:
    return 1 + users // 50


def _team_size(users: int) -> int:
    return 1 + users * TEAMS_PER_USER // TEAMS


def _team_id(org: int, team: int) -> str:
    return f"org-{org}-team-{team}"
