"""Users, groups, folders and documents, as in a shared drive.

Groups nest up to four deep, folders up to eight. Owners are editors and editors viewers, and whoever is so of a folder
is so of all below it. One document in a hundred can be viewed by everyone. On one in two hundred, a user and a group
are blocked: they are no viewers, whatever else they have. A warrant cannot be taken away by a rule, so what is subject
to the exclusion is granted as `reader`, and `viewer` is made of it. What is left of the size are shares of single
documents.

For lists, there is a company besides. Each of its departments is a group of outermost groups, with about a hundredth of
the size in users, and a viewer of so many top folders that its users can view a hundredth of the size in documents,
public ones included. Its office is within every department, and can view a tenth. On one of a hundred of the documents
of a department, its trainees and the office are blocked. A project has about a thousandth of the size in users, and in
the documents of its folder; guests have two small folders. These two are editors: everyone can view the public
documents, so there are no small lists of documents to view.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
from benchmarks.datasets.scatter import Dealing, Scatter, crowd, mixed, salts


def _of_parent(relation: str) -> RuleJson:
    return {"inheritIf": relation, "ofType": "folder", "withRelation": "parent"}


_OWNED: dict[str, RuleJson] = {
    "parent": {},
    "owner": _of_parent("owner"),
    "editor": {"inheritIf": "anyOf", "rules": [{"inheritIf": "owner"}, _of_parent("editor")]},
}
_READ_BY: RuleJson = {"inheritIf": "anyOf", "rules": [{"inheritIf": "editor"}, _of_parent("viewer")]}

TYPES: dict[str, dict[str, RuleJson]] = {
    "user": {},
    "group": {"member": {}},
    "folder": {**_OWNED, "viewer": _READ_BY},
    "document": {
        **_OWNED,
        "reader": _READ_BY,
        "blocked": {},
        "viewer": {
            "inheritIf": "allOf",
            "rules": [{"inheritIf": "reader"}, {"inheritIf": "noneOf", "rules": [{"inheritIf": "blocked"}]}],
        },
    },
}

WARRANTS_PER_USER = 10
WARRANTS_PER_GROUP = 125
WARRANTS_PER_FOLDER = 20

GROUP_MEMBERS = 16
"""Users that are members themselves, and not through a group within the group."""
GROUP_TREE = 15
"""A group that is in no other has two within it, each of them two, and these two each: four levels."""
FOLDER_TREE = 255
FAN_OUTS = (2, 3, 6)
"""Of the folders of a drive, drive by drive; with two, FOLDER_TREE folders make eight levels."""

BLOCKED_STEP = 100
"""On one of so many documents of a department someone is blocked."""

RELATIONS = ("viewer", "editor", "owner")
"""From the least to the greatest."""
FOLDER_GRANTS = (
    *[("viewer", "user")] * 4,
    *[("editor", "user")] * 3,
    *[("viewer", "group")] * 2,
    ("editor", "group"),
)
SHARES = (("reader", "user"), ("reader", "user"), ("reader", "group"), ("editor", "user"))


def drive(size: int, seed: int) -> Dataset:
    check_size(size)
    return Dataset("drive", TYPES, size, Drive(size, seed))


def group_parent(group: int) -> int | None:
    tree, place = divmod(group, GROUP_TREE)
    return tree * GROUP_TREE + (place - 1) // 2 if place else None


def folder_parent(folder: int) -> int | None:
    tree, place = divmod(folder, FOLDER_TREE)
    return tree * FOLDER_TREE + (place - 1) // FAN_OUTS[tree % len(FAN_OUTS)] if place else None


@dataclass(frozen=True, slots=True)
class Team:
    """A part of the company: a group with groups within it, and the folders on which it has the relation."""

    name: str
    relation: str
    groups: Sequence[int]
    folders: Sequence[int]


class Drive:
    """Checks are nine times of ten about documents, seven times of ten whether someone is a viewer."""

    def __init__(self, size: int, seed: int) -> None:
        salt = salts(seed)
        self._size = size
        self._everyone = range(size // WARRANTS_PER_USER)
        self._groups = size // WARRANTS_PER_GROUP
        self._folders = size // WARRANTS_PER_FOLDER
        left = size - self._group_warrants() - 2 * self._folders
        self._documents = left * 10 // 27
        self._public, blocked = self._documents // 100, self._documents // 200
        self._public_or_blocked = self._public + blocked
        self._group_salt, self._folder_salt, self._document_salt, self._share_salt = (next(salt) for _ in range(4))
        self._special = Scatter(self._documents, next(salt))
        self._shares = Dealing(left - 2 * self._documents - self._public - 2 * blocked, self._documents, next(salt))
        self._folder_popularity = Popularity(self._folders, next(salt))
        self._document_popularity = Popularity(self._documents, next(salt))
        self.users = Popularity(len(self._everyone), next(salt))

    def warrants(self) -> Iterator[WarrantRow]:
        for group in range(self._groups):
            yield from self._of_group(group)
        for folder in range(self._folders):
            yield from self._of_folder(folder)
        for document in range(self._documents):
            yield from self._of_document(document)

    def target(self, generator: Random) -> Target:
        kind, drawn = generator.random(), generator.random()
        relation = "viewer" if drawn < 0.7 else "editor" if drawn < 0.9 else "owner"
        if kind < 0.1:
            folder = self._folder_popularity.draw(generator)
            audience = self._folder_audience(folder, relation)
            return Target("folder", f"folder-{folder}", relation, audience, self._everyone)
        return self._document_target(self._document_popularity.draw(generator), relation)

    def wide_warrants(self) -> Iterator[WarrantRow]:
        for team in (self._guests, *self._teams):
            for group in team.groups:
                yield ("group", team.name, "member", *_subject("group", group), "")
            for folder in team.folders:
                yield ("folder", f"folder-{folder}", team.relation, "group", team.name, "member", "")
        for department in self._teams[1:]:
            trainees = f"{department.name}-trainees"
            yield ("group", trainees, "member", *_subject("group", department.groups[0]), "")
            yield ("group", department.name, "member", "group", "office", "member", "")
            for document in self._blocked_documents(department):
                yield ("document", document, "blocked", "group", trainees, "member", "")
                yield ("document", document, "blocked", "group", "office", "member", "")
        yield ("group", "office", "member", "user", "officer", "", "")
        yield ("group", "guests", "member", "user", "guest", "", "")

    def queries(self) -> Sequence[SizedQuery]:
        project, department = self._teams[:2]
        accesses = [
            ("guest", "editor"),
            (user_id(self._user_of(project.groups[0])), "editor"),
            (user_id(self._user_of(department.groups[0] + GROUP_TREE - 1)), "viewer"),
            ("officer", "viewer"),
        ]
        last_drive = self._documents_in(range(self._folders - FOLDER_TREE, self._folders))
        documents = [
            nearest(query_sizes(self._size)[0], self._viewer_counts(last_drive)),
            nearest(0, self._viewer_counts(self._documents_in(project.folders))),  # not counting the project
            next(self._blocked_documents(department)),
            f"doc-{self._special.number_at(0)}",
        ]
        return [
            *sized_queries(
                self._size,
                (f"select document where user:{object_id} is {relation}" for object_id, relation in accesses),
            ),
            *sized_queries(
                self._size, (f"select viewer of type user for document:{object_id}" for object_id in documents)
            ),
        ]

    @property
    def _guests(self) -> Team:
        return Team("guests", "editor", (), range(self._folders - 2, self._folders))

    @cached_property
    def _teams(self) -> Sequence[Team]:
        """The project, then the departments."""
        _, many, very_many, most = query_sizes(self._size)
        documents = self._documents_below()
        top_folders = (folder for folder in documents if folder_parent(folder) in range(0, self._folders, FOLDER_TREE))
        outermost = range(0, self._groups // GROUP_TREE * GROUP_TREE, GROUP_TREE)
        innermost = [group for group in range(self._groups) if group % GROUP_TREE >= GROUP_TREE // 2]
        # The departments do not come as far as the second half of the folders.
        folder = min(range(self._folders // 2, self._folders), key=lambda folder: abs(documents[folder] - many))
        teams = [Team("project", "editor", innermost[-(many // GROUP_MEMBERS) :], [folder])]
        step, beyond_public = very_many // (GROUP_TREE * GROUP_MEMBERS), very_many - self._public
        for number in range((most - self._public) // beyond_public):
            groups = outermost[number * step : (number + 1) * step]
            folders = _holding(beyond_public, top_folders, documents)
            teams.append(Team(f"department-{number}", "viewer", groups, folders))
        return teams

    def _documents_below(self) -> Mapping[int, int]:
        """How many documents each folder and all below it have, by folder, in their order."""
        counts = Counter(self._folder_and_owner(document)[0] for document in range(self._documents))
        for folder in reversed(range(self._folders)):
            parent = folder_parent(folder)
            if parent is not None:
                counts[parent] += counts[folder]
        return {folder: counts[folder] for folder in range(self._folders)}

    def _blocked_documents(self, department: Team) -> Iterator[str]:
        return (f"doc-{number}" for number in self._documents_in(department.folders, BLOCKED_STEP))

    def _documents_in(self, folders: Sequence[int], step: int = 1) -> Iterator[int]:
        """One of so many in the folders and all below them, if it is neither public nor has someone blocked anyway."""
        inside = set(folders)
        for folder in range(self._folders):  # the parent comes before
            if folder_parent(folder) in inside:
                inside.add(folder)
        for document in range(0, self._documents, step):
            is_special = self._special.place_of(document) < self._public_or_blocked
            if self._folder_and_owner(document)[0] in inside and not is_special:
                yield document

    def _user_of(self, group: int) -> int:
        """A member of the group itself, and of as few others as can be."""
        groups = [self._members(other) for other in range(self._groups)]
        return min(self._members(group), key=lambda user: sum(user in members for members in groups))

    def _viewer_counts(self, documents: Iterable[int]) -> Mapping[str, int]:
        """By document, without the company."""
        targets = [self._document_target(document, "viewer") for document in documents]
        return {target.object_id: target.allowed_count() for target in targets}

    def _group_warrants(self) -> int:
        outermost = -(-self._groups // GROUP_TREE)
        return self._groups * (GROUP_MEMBERS + 1) - outermost

    def _of_group(self, group: int) -> Iterator[WarrantRow]:
        parent = group_parent(group)
        if parent is not None:
            yield ("group", f"group-{parent}", "member", "group", f"group-{group}", "member", "")
        for user in self._members(group):
            yield ("group", f"group-{group}", "member", "user", user_id(user), "", "")

    def _members(self, group: int) -> range:
        return crowd(self._everyone, mixed(self._group_salt, group), GROUP_MEMBERS)

    def _of_folder(self, folder: int) -> Iterator[WarrantRow]:
        """Two: the parent or, of a drive, the owner, and a role."""
        parent = folder_parent(folder)
        if parent is not None:
            yield ("folder", f"folder-{folder}", "parent", "folder", f"folder-{parent}", "", "")
        for relation, kind, number in self._folder_grants(folder):
            yield ("folder", f"folder-{folder}", relation, *_subject(kind, number), "")

    def _folder_grants(self, folder: int) -> Iterator[tuple[str, str, int]]:
        """Relation, `user` or `group`, and its number."""
        bits = mixed(self._folder_salt, folder)
        if not folder % FOLDER_TREE:
            yield ("owner", "user", (bits >> 16) % len(self._everyone))
        relation, kind = FOLDER_GRANTS[bits % len(FOLDER_GRANTS)]
        yield (relation, kind, (bits >> 32) % (self._groups if kind == "group" else len(self._everyone)))

    def _of_document(self, document: int) -> Iterator[WarrantRow]:
        name = f"doc-{document}"
        folder, owner = self._folder_and_owner(document)
        yield ("document", name, "parent", "folder", f"folder-{folder}", "", "")
        yield ("document", name, "owner", "user", user_id(owner), "", "")
        relation, kind, numbers = self._document_shares(document)
        for number in numbers:
            yield ("document", name, relation, *_subject(kind, number), "")
        place = self._special.place_of(document)
        if place < self._public:
            yield ("document", name, "viewer", "user", "*", "", "")
        elif place < self._public_or_blocked:
            user, group = self._blocked(document)
            yield ("document", name, "blocked", "user", user_id(user), "", "")
            yield ("document", name, "blocked", "group", f"group-{group}", "member", "")

    def _folder_and_owner(self, document: int) -> tuple[int, int]:
        bits = mixed(self._document_salt, document)
        return bits % self._folders, (bits >> 32) % len(self._everyone)

    def _document_shares(self, document: int) -> tuple[str, str, range]:
        """Relation, `user` or `group`, and their numbers, if any."""
        bits = mixed(self._share_salt, document)
        relation, kind = SHARES[bits & 3]
        pool = range(self._groups) if kind == "group" else self._everyone
        return relation, kind, crowd(pool, bits >> 2, self._shares.dealt_to(document))

    def _blocked(self, document: int) -> tuple[int, int]:
        """A user who could view the document but for that, and a group that may or may not."""
        bits = mixed(self._share_salt, document)
        viewers = self._folder_audience(self._folder_and_owner(document)[0], "viewer")
        through = viewers[bits % len(viewers)]
        return through[(bits >> 16) % len(through)], (bits >> 32) % self._groups

    def _document_target(self, document: int, relation: str) -> Target:
        viewers = self._document_audience(document, "viewer")
        audience = viewers if relation == "viewer" else self._document_audience(document, relation)
        blocked: list[range] = []
        neighbours = self._everyone if relation == "viewer" else max(viewers, key=len)
        if relation == "viewer" and self._public <= self._special.place_of(document) < self._public_or_blocked:
            user, group = self._blocked(document)
            neighbours = range(user, user + 1)
            blocked = [neighbours, *self._crowds("group", group)]
        return Target("document", f"doc-{document}", relation, audience, neighbours, blocked)

    def _document_audience(self, document: int, relation: str) -> list[range]:
        """Everyone who has the relation, if nobody is blocked."""
        folder, owner = self._folder_and_owner(document)
        crowds = [range(owner, owner + 1), *self._folder_audience(folder, relation)]
        shared, kind, numbers = self._document_shares(document)
        if relation == "viewer" or relation == shared:
            crowds += [members for number in numbers for members in self._crowds(kind, number)]
        if relation == "viewer" and self._special.place_of(document) < self._public:
            crowds.append(self._everyone)
        return crowds

    def _folder_audience(self, folder: int | None, relation: str) -> list[range]:
        greater = RELATIONS[RELATIONS.index(relation) :]
        crowds: list[range] = []
        while folder is not None:
            for granted, kind, number in self._folder_grants(folder):
                if granted in greater:
                    crowds += self._crowds(kind, number)
            folder = folder_parent(folder)
        return crowds

    def _crowds(self, kind: str, number: int) -> list[range]:
        """The user itself, or the members of the group and of all groups within it."""
        if kind == "user":
            return [range(number, number + 1)]
        tree, place = divmod(number, GROUP_TREE)
        places = [place]
        for outer in places:  # grows while it is walked
            places += [inner for inner in (2 * outer + 1, 2 * outer + 2) if inner < GROUP_TREE]
        groups = (tree * GROUP_TREE + each for each in places)
        return [self._members(group) for group in groups if group < self._groups]


def _holding(wanted: int, folders: Iterator[int], documents: Mapping[int, int]) -> list[int]:
    """The next folders that hold so many documents together, or a few more."""
    held: list[int] = []
    while sum(documents[folder] for folder in held) < wanted:
        held.append(next(folders))
    return held


def _subject(kind: str, number: int) -> tuple[str, str, str]:
    return ("user", user_id(number), "") if kind == "user" else ("group", f"group-{number}", "member")
