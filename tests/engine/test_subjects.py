"""Every kind of subject has one form in each encoding, and each place that tells the kinds apart is known."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from magistrate.engine.names import WILDCARD, ObjectId, TypeName
from magistrate.engine.subjects import (
    Subject,
    SubjectKind,
    SubjectSelection,
    classify_subject,
    is_userset_type,
    join_subject_type,
    render_allowed_type,
    render_subject,
    select_kind,
    selects,
    split_allowed_type,
    split_subject_type,
    widen_selection,
)
from magistrate.engine.warrants.notation import read_written

SRC = Path(__file__).parents[2] / "src" / "magistrate"
TEAM = TypeName("team")


class Encodings(NamedTuple):
    subject: Subject
    written: str
    subject_type: str
    allowed_type: str
    kind_selection: SubjectSelection


ENCODINGS = {
    SubjectKind.OBJECT: Encodings(Subject(TEAM, ObjectId("eng")), "team:eng", "team", "team", TEAM),
    SubjectKind.WILDCARD: Encodings(Subject(TEAM, WILDCARD), "team:*", "team", "team:*", TEAM),
    SubjectKind.USERSET: Encodings(
        Subject(TEAM, ObjectId("eng"), "member"), "team:eng#member", "team#member", "team#member", None
    ),
    SubjectKind.WILDCARD_USERSET: Encodings(
        Subject(TEAM, WILDCARD, "member"), "team:*#member", "team#member", "team:*#member", None
    ),
}


PLACES = {
    "api/endpoints/check.py": "most bodies have no relation, for each check",
    "api/endpoints/decisions.py": "bodies have no relation in place of the empty text",
    "api/endpoints/events.py": "bodies have no relation in place of the empty text",
    "api/endpoints/query.py": "bodies have no relation in place of the empty text",
    "api/v1/query.py": "conditions have no relation in place of the empty text",
    "engine/bitmaps/object_pages.py": "whether a row is explicit, for each row",
    "engine/cache/decision_cache.py": "no decision about a userset is cached: half a microsecond for each check",
    "engine/cache/entries.py": "what an entry leads to, for each row",
    "engine/cache/memberships.py": "whether a closure begins with the wildcard too",
    "engine/cache/views.py": "whom a change concerns, for each change",
    "engine/difference/alike_objects.py": "which warrants may concern further subjects, for each row",
    "engine/difference/causes.py": "which changes may cause what a wildcard gains, for each row",
    "engine/difference/comparison.py": "the value of a wildcard is that of all others, for each row",
    "engine/difference/influences.py": "which usersets a pattern links",
    "engine/difference/reverse_expansion.py": "whose objects are expanded, for each row",
    "engine/evaluation/evaluation.py": "where an expansion goes on, for each row",
    "engine/explanation/repairs.py": "which types a suggestion may name as usersets",
    "engine/explanation/suggestions.py": "nothing is suggested for a userset",
    "engine/importers/suites.py": "bodies have no relation in place of the empty text",
    "engine/importers/relationships.py": "which restriction of another product a relationship meets",
    "engine/lists/objects.py": "which value an arrow takes, for each row",
    "engine/lists/query_search.py": "the objects of a userset are checked one by one",
    "engine/lists/reverse_graph.py": "which objects a pattern reaches",
    "engine/lists/subjects.py": "where an expansion goes on, for each row",
    "engine/model/plans.py": "which expansion follows a warrant, for each row",
    "engine/model/reachability.py": "which groups are closed",
    "engine/policy/structs.py": "policies see nil in place of the empty text",
    "engine/rules/self_rule.py": "the rule holds for an object alone",
    "engine/testing/coverage.py": "which usersets a check went through",
    "engine/testing/suites.py": "tests as JSON have no relation in place of the empty text",
    "engine/walk/cached_entries.py": "which checks walk cached entries: they are of one object",
    "engine/walk/walk.py": "which warrants are to the subject, for each row",
    "engine/walk/warrants_ahead.py": "where a walk goes on, for each row",
    "engine/warrants/overlay.py": "whether a pattern has a wildcard",
    "engine/warrants/read_ahead.py": "which requests follow a warrant",
    "engine/warrants/warrant.py": "whether a pattern has a wildcard",
    "mirror/rows.py": "a program of an application imports no engine",
    "operations/backups/restore.py": "which checks a warrant authorizes, as it stands",
    "operations/checks/suggestions.py": "which objects a suggestion would create",
    "operations/importing/comparison.py": "bodies have no relation in place of the empty text",
    "operations/importing/sampled_checks.py": "which usersets a relation depends on",
    "operations/readers/prefetching_reader.py": "where reads go on, for each row",
    "operations/writes/warrants.py": "which warrants have the same fault",
    "store/scripts/models.py": "which index finds the warrants of a pattern",
    "store/scripts/warrants.py": "which subjects a write creates, for each row",
    "api/openfga/checks.py": "a check of a userset is decided apart from those of a batch",
    "operations/openfga/checks.py": "a userset is checked as a subject that is in it alone; none has a wildcard",
    "operations/openfga/objects.py": "a userset, or a wildcard, is searched for as another subject",
    "engine/openfga/user_lists.py": "users that a wildcard stands for are not named",
    "operations/openfga/names.py": "OpenFGA writes users as we write subjects",
}
"""Maps each file that tells kinds of subjects apart by their names, instead of calling `engine/subjects.py`, to what it
needs them for. A new kind has to be right in each of them."""

HANDLED = {SubjectKind.OBJECT, SubjectKind.WILDCARD, SubjectKind.USERSET, SubjectKind.WILDCARD_USERSET}
"""Has the kinds with which every file of PLACES was written."""


def test_every_place_knows_every_kind() -> None:
    """Look at each file of PLACES before you add a kind here."""
    assert set(SubjectKind) == HANDLED == set(ENCODINGS)


def test_places_that_tell_kinds_apart_are_listed() -> None:
    files = {path.relative_to(SRC).as_posix(): path for path in SRC.rglob("*.py")}
    del files["engine/subjects.py"]

    assert {name for name, path in files.items() if any(distinctions(path))} == set(PLACES)


@pytest.mark.parametrize("kind", SubjectKind)
def test_a_kind_has_one_form_in_each_encoding(kind: SubjectKind) -> None:
    subject, written, subject_type, allowed_type, _ = ENCODINGS[kind]
    names = read_written(f"document:plan#viewer@{written}").names

    assert names.subject == subject
    assert classify_subject(subject.id, subject.relation) is kind
    assert render_subject(subject.type, subject.id, subject.relation) == written
    assert names.render() == f"document:plan#viewer@{written}"
    assert join_subject_type(subject.type, subject.relation) == subject_type
    assert split_subject_type(TypeName(subject_type)) == (subject.type, subject.relation)
    assert is_userset_type(subject_type) == bool(subject.relation)
    assert render_allowed_type(subject.type, subject.id, subject.relation) == allowed_type
    assert split_allowed_type(allowed_type) == (subject.type, subject.relation)


@pytest.mark.parametrize("kind", SubjectKind)
def test_the_selection_of_a_kind_selects_its_subjects_and_no_userset_beside_others(kind: SubjectKind) -> None:
    subject, *_, selection = ENCODINGS[kind]
    own = names_of(subject)

    assert select_kind(subject.type, subject.relation) == selection == widen_selection(subject)
    assert selects(subject, *own)
    assert selects(selection, *own)
    assert {other for other, encodings in ENCODINGS.items() if selects(selection, *names_of(encodings.subject))} == {
        other for other, encodings in ENCODINGS.items() if encodings.kind_selection == selection
    }


def test_a_subject_is_selected_with_the_wildcard_of_its_kind() -> None:
    selected = {
        kind: {other for other, encodings in ENCODINGS.items() if selects(subject, *names_of(encodings.subject))}
        for kind, (subject, *_) in ENCODINGS.items()
    }

    # Patterns have no ids but the wildcard, so that of one object stands for every object.
    objects = {SubjectKind.OBJECT, SubjectKind.WILDCARD}
    usersets = {SubjectKind.USERSET, SubjectKind.WILDCARD_USERSET}
    assert selected == {
        SubjectKind.OBJECT: objects,
        SubjectKind.WILDCARD: {SubjectKind.WILDCARD},
        SubjectKind.USERSET: usersets,
        SubjectKind.WILDCARD_USERSET: {SubjectKind.WILDCARD_USERSET},
    }


def names_of(subject: Subject) -> tuple[str, str, str]:
    return subject.type, subject.id, subject.relation


def distinctions(path: Path) -> Iterator[str]:
    """Yields where a file compares the id of a subject with the wildcard, or looks whether it has a relation."""
    for node in ast.walk(ast.parse(path.read_text())):
        text = ast.unparse(node) if isinstance(node, ast.Compare) else ""
        if "WILDCARD" in text and "subject" in text:
            yield text
        yield from (ast.unparse(test) for test in conditions(node) if is_relation_of_subject(test))


def conditions(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.If() | ast.IfExp() | ast.While():
            return [node.test]
        case ast.BoolOp():
            return node.values
        case ast.comprehension():
            return node.ifs
        case ast.UnaryOp(op=ast.Not()):
            return [node.operand]
        case ast.Compare():
            sides = [node.left, *node.comparators]
            return sides if any(isinstance(side, ast.Constant) and side.value == "" for side in sides) else []
        case _:
            return []


def is_relation_of_subject(node: ast.expr) -> bool:
    if not isinstance(node, ast.Attribute):
        return False
    return node.attr == "subject_relation" or (node.attr == "relation" and "subject" in ast.unparse(node.value))
