"""Membership closures are computed once for each subject and revision, however many checks need them."""

from collections.abc import Sequence

import pytest

from magistrate.engine.cache.closures import Member
from magistrate.engine.cache.memberships import Memberships
from magistrate.engine.names import Revision
from magistrate.engine.work import Work
from tests.engine.group_graphs import ANN, SHAPES, Case, Shape, clique
from tests.memory_source import PLENTY, change_of
from tests.scenario_files import stored_warrant

SIZE = 40


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The groups that have been found for closures, in order; each is expanded next."""
    groups: list[str] = []
    list_members = Memberships._list_members

    def observe(memberships: Memberships, names: Sequence[str]) -> list[Member]:
        groups.extend(names)
        return list_members(memberships, names)

    monkeypatch.setattr(Memberships, "_list_members", observe)
    return groups


def check_often(case: Case) -> None:
    for _ in range(25):
        case.walk()  # 40 checks


def grant(case: Case, text: str, revision: int) -> None:
    written = stored_warrant(text, len(case.warrants) + 1, 0)
    case.warrants.append(written)
    case.graph.apply([change_of(written, exists=True)], Revision(revision))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_thousand_checks_of_a_subject_find_each_group_once(shape: Shape, found: list[str]) -> None:
    case = Case(shape, SIZE)

    check_often(case)
    case.grow_closure()
    check_often(case)

    assert len(found) == len(set(found)) > 3  # those of the tree whose members the subject is not are not found


@pytest.mark.parametrize(
    "written", ["document:1#viewer@user:bob", "group:none#member@user:bob", "group:1#member@group:none#member"]
)
def test_a_change_that_does_not_concern_the_subject_leaves_them(written: str, found: list[str]) -> None:
    case = Case(clique, SIZE)
    case.grow_closure()
    found.clear()

    grant(case, written, 2)
    check_often(case)

    assert not found


def test_a_change_that_does_has_them_found_once_again(found: list[str]) -> None:
    case = Case(clique, SIZE)
    case.grow_closure()
    found.clear()

    grant(case, "group:new#member@user:ann", 2)
    case.grow_closure()
    check_often(case)

    closure = case.graph.memberships(ANN.type).closure(ANN.id, Work(PLENTY))
    assert closure.is_complete
    assert len(found) == len(set(found)) == SIZE + 1
