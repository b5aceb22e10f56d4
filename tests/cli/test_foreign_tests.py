"""`magistrate model test` runs the test files of OpenFGA and SpiceDB as they are."""

import re
from pathlib import Path

import pytest

from tests.cli.cases import Magistrate
from tests.generated_docs import ROOT

FILES = ROOT / "tests" / "importers" / "files"

STORE = """\
model: |
  model
    schema 1.1
  type user
  type acme/Team
    relations
      define member: [user]
  type document
    relations
      define blocked: [user]
      define reader: [user, user:*, acme/Team#member]
      define can_read: reader but not blocked
tuples:
  - {user: "user:ann", relation: member, object: "acme/Team:eng"}
  - {user: "acme/Team:eng#member", relation: reader, object: "document:plan"}
  - {user: "user:*", relation: reader, object: "document:faq"}
  - {user: "user:kim", relation: blocked, object: "document:faq"}
"""
VALIDATION = """\
schema: |
  definition user {}
  definition document {
    relation writer: user
    relation reader: user | user:*
    permission view = reader + writer
  }
relationships: |
  document:plan#writer@user:ann
  document:plan#reader@user:bob
  document:faq#reader@user:*
"""


@pytest.fixture
def magistrate() -> Magistrate:
    """With no service anywhere."""
    return Magistrate("http://127.0.0.1:9")


def write(folder: Path, text: str, name: str = "store.fga.yaml") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


@pytest.mark.parametrize(("name", "least"), [("documents.fga.yaml", 20), ("devices.validation.yaml", 16)])
def test_files_of_other_products_pass_unchanged(magistrate: Magistrate, name: str, least: int) -> None:
    printed = magistrate.done("model", "test", "--coverage", str(FILES / name))

    found = re.search(r"^(\d+) passed, 0 failed$", printed, re.MULTILINE)
    assert found is not None, printed
    assert int(found[1]) >= least


def test_a_folder_has_the_test_files_of_all_formats(magistrate: Magistrate, tmp_path: Path) -> None:
    write(tmp_path, STORE + "tests: [{check: [{user: user:ann, object: document:plan, assertions: {reader: true}}]}]\n")
    write(tmp_path, VALIDATION + "assertions: {assertTrue: [document:plan#view@user:ann]}\n", "a.validation.yaml")
    write(tmp_path, "not a test", "model.yaml")

    assert magistrate.done("model", "test", str(tmp_path)) == "2 passed, 0 failed\n"


def test_assertions_of_openfga_fail_with_their_own_names_and_the_reason(magistrate: Magistrate, tmp_path: Path) -> None:
    file = write(
        tmp_path,
        STORE
        + """\
tests:
  - name: teams
    tuples: [{user: "acme/Team:eng#member", relation: reader, object: "document:memo"}]
    check:
      - {users: ["user:ann", "user:bob"], object: "document:memo", assertions: {can_read: true}}
      - {user: "user:kim", objects: ["document:faq", "document:plan"], assertions: {can_read: false}}
    list_objects:
      - {user: "user:ann", type: document, assertions: {can_read: ["document:memo", "document:plan", "document:faq"]}}
      - {user: "user:kim", type: document, assertions: {can_read: ["document:faq"]}}
    list_users:
      - {object: "document:plan", user_filter: [{type: user}], assertions: {can_read: {users: ["user:ann"]}}}
""",
    )

    result = magistrate("model", "test", file)

    assert (result.exit_code, result.stderr) == (1, "")
    failed = [line for line in result.stdout.splitlines() if line.startswith("FAILED")]
    assert failed == [
        f"FAILED {file}: teams: document:memo#can_read@user:bob: expected allowed, is denied",
        f"FAILED {file}: teams: document where user:kim is can_read: document:faq is missing",
    ]
    assert "document:memo#reader@user:bob" in result.stdout
    assert "acme/Team:eng#member@user:bob" in result.stdout
    assert "acme--team" not in result.stdout
    assert result.stdout.endswith("5 passed, 2 failed\n")


def test_explanations_have_the_relations_of_the_file(magistrate: Magistrate, tmp_path: Path) -> None:
    model = STORE.replace("define reader: [user, user:*, acme/Team#member]", "define reader: [user] but not blocked")
    file = write(
        tmp_path,
        model[: model.index("tuples:")]
        + 'tuples: [{user: "user:ann", relation: reader, object: "document:direct_reader"}]\n'
        + "tests: [{check: [{user: 'user:ann', object: 'document:direct_reader', assertions: {reader: false}},"
        + " {user: 'user:bob', object: 'document:direct_reader', assertions: {reader: true}}]}]\n",
    )

    printed = magistrate("model", "test", file).stdout

    assert "user:ann  is reader of  document:direct_reader" in printed
    assert "create  document:direct_reader#reader@user:bob" in printed
    assert "0 passed, 2 failed" in printed


def test_assertions_of_spicedb_fail_with_their_own_names(magistrate: Magistrate, tmp_path: Path) -> None:
    file = write(
        tmp_path,
        VALIDATION
        + """\
assertions:
  assertTrue: ["document:plan#view@user:ann", "document:plan#view@user:eve", 'document:faq#view@user:eve with {"a": 1}']
  assertFalse: ["document:plan#writer@user:bob"]
validation:
  document:plan#view: ["[user:ann] is <document:plan#writer>", "[user:bob] is <document:plan#reader>"]
  document:plan#writer: []
  document:faq#view: ["[user:*] is <document:faq#reader>"]
""",
        "a.validation.yaml",
    )

    result = magistrate("model", "test", file)

    assert [line for line in result.stdout.splitlines() if line.startswith("FAILED")] == [
        f"FAILED {file}: document:plan#view@user:eve: expected allowed, is denied",
        f"FAILED {file}: subjects of document:plan#writer: user:ann is unexpected",
    ]
    assert result.stdout.endswith("7 passed, 2 failed\n")


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ("[{check: [{user: user:ann, object: plan, assertions: {reader: true}}]}]", "tests[0].check[0]: 'plan' is not"),
        ("[{check: [{user: team:x, object: document:a, assertions: {reader: true}}]}]", "does not define type team"),
        ("[{check: [{user: user:x, object: document:a, assertions: {reader: 1}}]}]", "must be true or false"),
        ("[{check: {}}]", "tests[0].check: must be a list"),
        ("[{list_users: [{object: document:a, user_filter: [], assertions: {}}]}]", "must name types"),
        ("[{tuples: [{user: user:ann, relation: can_read, object: document:a}]}]", "is computed"),
        ("[{tuples: [{user: user:ann}]}]", "must have user, relation and object"),
        ("[{list_users: [], surprise: 1}]", "tests[0]: surprise is not supported"),
    ],
)
def test_what_cannot_be_asserted_is_named(magistrate: Magistrate, tmp_path: Path, tests: str, message: str) -> None:
    assert message in magistrate.failed("model", "test", write(tmp_path, STORE + f"tests: {tests}\n"))


@pytest.mark.parametrize(
    "members",
    ["assertions: {assertTrue: [5]}", "assertions: {assertTrue: 5}", "validation: {5: []}", "validation: {a: [1]}"],
)
def test_assertions_of_spicedb_that_make_no_sense_are_refused(
    magistrate: Magistrate, tmp_path: Path, members: str
) -> None:
    assert magistrate.failed("model", "test", write(tmp_path, VALIDATION + members + "\n", "a.validation.yaml"))


def test_a_model_that_cannot_be_expressed_is_not_tested(magistrate: Magistrate, tmp_path: Path) -> None:
    text = VALIDATION.replace("reader + writer", "reader - writer + reader")

    result = magistrate("model", "test", write(tmp_path, text, "a.validation.yaml"))

    assert (result.exit_code, result.stdout) == (2, "")
    assert "a.validation.yaml:6:39: mixed_operators" in result.stderr


def test_usersets_are_listed_as_users_and_have_lists_of_objects(magistrate: Magistrate, tmp_path: Path) -> None:
    users = "{object: 'document:plan', user_filter: [{type: acme/Team, relation: member}], assertions: "
    objects = "{user: 'acme/Team:eng#member', type: document, assertions: "
    tests = [
        f"{{list_users: [{users}{{reader: {{users: ['acme/Team:eng#member']}}}}}}]}}",
        f"{{list_users: [{users}{{reader: {{users: []}}}}}}]}}",
        f"{{list_objects: [{objects}{{reader: ['document:plan']}}}}]}}",
        f"{{list_objects: [{objects}{{can_read: []}}}}]}}",
    ]
    file = write(tmp_path, STORE + "tests:\n" + "".join(f"  - {test}\n" for test in tests))

    printed = magistrate("model", "test", file).stdout.splitlines()

    assert printed[-1] == "2 passed, 2 failed"
    failed = [line.partition("store.fga.yaml: ")[2] for line in printed if line.startswith("FAILED")]
    assert failed == [
        "users that are reader of document:plan: acme/Team:eng#member is unexpected",
        "document where acme/Team:eng#member is can_read: document:plan is unexpected",
    ]
