"""Organisations, teams, repositories and users, as where code is hosted.

A team is part of another up to three deep; members of the part are members of the whole. Five roles on a repository,
each with all that the lesser ones have; two teams have one each. Owners of an organisation are admins of all its
repositories; in seven organisations of ten, all members are readers. The first organisation has a tenth of all
users, and of all repositories. What is left of the size are outside collaborators: users of another organisation
with a role on a single repository.
"""

from collections.abc import Iterator
from random import Random

from benchmarks.datasets.dataset import Dataset, RuleJson, Target, WarrantRow, check_size, user_id
from benchmarks.datasets.popularity import Popularity
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
    """Questions are about repositories: four of ten whether someone is a reader, three of ten a writer."""

    def __init__(self, size: int, seed: int) -> None:
        salt = salts(seed)
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
        repo = self._repo_popularity.draw(generator)
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
