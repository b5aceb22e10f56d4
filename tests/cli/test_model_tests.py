"""`magistrate model test`: test files are run in process, without a service."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from magistrate.cli.models.tests import MAX_FILE_BYTES
from tests.cli.cases import Magistrate
from tests.generated_docs import ROOT

EXAMPLE = ROOT / "examples" / "document-sharing"

MODEL = """\
version 1.0

type user

type team
    relation member [user, team#member]

type folder
    relation viewer [user, team#member]

type document
    relation parent [folder]
    relation blocked [user]

    relation editor [user]

    relation viewer [user, user:*]
    inherit viewer if
        any_of
            relation editor
            relation viewer on parent [folder]

    relation can-read []
    inherit can-read if
        all_of
            relation viewer
            none_of
                relation blocked
            policy office

policy office(network string) {
    network == "office"
}
"""
SETUP = """\
model_file: model.txt
now: 2026-11-20T10:00:00Z
setup:
  warrants:
    - document:plan#parent@folder:eng
    - folder:eng#viewer@team:eng#member
    - team:eng#member@user:ann
    - team:eng#member@user:kim
    - document:plan#blocked@user:kim
    - {warrant: "document:plan#editor@user:bob", expires_at: 2026-11-21T00:00:00Z}
    - document:old#editor@user:zoe[day == "monday"]
"""
PASSING = """\
tests:
  - name: ann reads in the office
    check: document:plan#can-read@user:ann
    context: {network: office}
    expect: true
  - check: document:plan#can-read@user:kim
    context: {network: office}
    expect: denied
    denied_because: document:plan#blocked@user:kim
  - name: views
    checks:
      document:plan#viewer@user:ann: true
      document:plan#viewer@user:bob: allowed
      document:plan#viewer@user:zoe: false
      document:old#viewer@user:zoe: denied
  - query: select document where user:zoe is viewer
    context: {day: monday}
    expect: [document:old]
  - query: select viewer of type user for document:plan
    expect: [user:ann, user:bob, user:kim]
  - query: select document where user:bob is editor, viewer
    expect: [document:plan#editor, document:plan#viewer]
  - name: with a warrant that counts here alone
    check: document:plan#viewer@user:zoe
    warrants: [team:eng#member@user:zoe]
    expect: true
"""


@pytest.fixture
def magistrate() -> Magistrate:
    """With no service anywhere."""
    return Magistrate("http://127.0.0.1:9")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.txt").write_text(MODEL)
    return tmp_path


def write(folder: Path, tests: str, setup: str = SETUP) -> str:
    path = folder / "model.test.yaml"
    path.write_text(setup + tests)
    return str(path)


def test_what_is_as_expected_is_only_counted(magistrate: Magistrate, folder: Path) -> None:
    assert magistrate.done("model", "test", write(folder, PASSING)) == "10 passed, 0 failed\n"


def test_each_failure_says_what_is_the_case_and_why(magistrate: Magistrate, folder: Path) -> None:
    file = write(
        folder,
        """\
tests:
  - name: kim reads
    check: document:plan#can-read@user:kim
    context: {network: office}
    expect: true
  - check: document:plan#viewer@user:ann
    expect: false
  - query: select viewer of type user for document:plan
    expect: [user:ann, user:bob, user:zoe]
  - check: document:plan#viewer@user:bob
    expect: true
""",
    )

    result = magistrate("model", "test", file)

    assert result.exit_code == 1
    assert (
        result.stdout
        == (
            f"FAILED {file}: kim reads: expected allowed, is denied\n"
            "  user:kim is viewer of document:plan, as can-read requires:\n"
            "    user:kim         is member of  team:eng\n"
            "    team:eng#member  is viewer of  folder:eng\n"
            "    folder:eng       is parent of  document:plan\n"
            "  user:kim is blocked on document:plan, which rules out can-read:\n"
            "    user:kim  is blocked on  document:plan\n"
            "  this would allow it:\n"
            "    delete  document:plan#blocked@user:kim  (no effect on others)\n"
            f"FAILED {file}: document:plan#viewer@user:ann: expected denied, is allowed\n"
            "  it is allowed because\n"
            "    user:ann         is member of  team:eng\n"
            "    team:eng#member  is viewer of  folder:eng\n"
            "    folder:eng       is parent of  document:plan\n"
            f"FAILED {file}: select viewer of type user for document:plan: "
            "user:zoe is missing; user:kim is unexpected\n"
            "  user:zoe is not viewer of document:plan; the closest it comes:\n"
            "    user:zoe         is not member of  team:eng\n"
            "    team:eng#member  is viewer of      folder:eng\n"
            "    folder:eng       is parent of      document:plan\n"
        )
        + result.stdout[result.stdout.index("  any one of these would allow it:") :]
    )
    assert result.stdout.endswith("\n1 passed, 3 failed\n")


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("document:plan#blocked@user:zoe", "it does not come to that check"),
        ("not document:plan#blocked@user:kim", "which holds"),
        ("not document:plan#viewer@user:kim", "which holds"),
    ],
)
def test_a_denial_for_another_reason_fails(magistrate: Magistrate, folder: Path, reason: str, message: str) -> None:
    test = f"check: document:plan#can-read@user:kim\n    context: {{network: cafe}}\n    denied_because: {reason}\n"

    result = magistrate("model", "test", write(folder, f"tests:\n  - {test}"))

    assert result.exit_code == 1
    assert f"it is denied, but not because of {reason.removeprefix('not ')}" in result.stdout
    assert message in result.stdout


def test_a_misspelled_name_fails_with_a_suggestion(magistrate: Magistrate, folder: Path) -> None:
    tests = """\
tests:
  - check: document:plan#can-raed@user:ann
    expect: false
  - check: docment:plan#viewer@user:ann
    expect: false
  - query: select document where user:ann is veiwer
    expect: []
"""

    result = magistrate("model", "test", write(folder, tests))

    assert [line.rpartition(": ")[2] for line in result.stdout.splitlines()] == [
        "type document has no relation can-raed; did you mean can-read?",
        "the model does not define type docment; did you mean document?",
        "type document has no relation veiwer; did you mean viewer?",
        "0 passed, 3 failed",
    ]


def test_the_results_are_also_written_as_junit(magistrate: Magistrate, folder: Path) -> None:
    file = write(folder, PASSING.replace("denied_because", "# ").replace("expect: true", "expect: false", 1))
    out = folder / "junit.xml"

    assert magistrate("model", "test", file, "--junit", str(out)).exit_code == 1

    [suite] = ElementTree.parse(out).getroot()
    assert (suite.tag, suite.get("name"), suite.get("tests"), suite.get("failures")) == ("testsuite", file, "10", "1")
    assert [case.get("name") for case in suite][:2] == ["ann reads in the office", "document:plan#can-read@user:kim"]
    [failure] = [case[0] for case in suite if len(case)]
    assert failure.get("message") == "expected denied, is allowed"
    assert "team:eng#member" in (failure.text or "")


def test_coverage_names_what_no_test_reached(magistrate: Magistrate, folder: Path) -> None:
    tests = """\
tests:
  - check: document:plan#can-read@user:kim
    context: {network: office}
    expect: false
"""

    assert magistrate.done("model", "test", "--coverage", write(folder, tests)) == (
        "not reached: rule document#viewer: editor\nreached: 7 of 7 relations and 4 of 5 rules\n1 passed, 0 failed\n"
    )
    only_editor = "tests:\n  - {check: document:plan#editor@user:bob, expect: true}\n"
    lines = magistrate.done("model", "test", "--coverage", write(folder, only_editor)).splitlines()
    assert "not reached: relation document#can-read" in lines
    assert "not reached: rule document#can-read: policy office" in lines
    assert lines[-2] == "reached: 1 of 7 relations and 0 of 5 rules"


def test_several_files_are_counted_and_covered_together(magistrate: Magistrate, folder: Path) -> None:
    first = write(folder, "tests:\n  - {check: document:plan#editor@user:bob, expect: true}\n")
    (folder / "other.test.yaml").write_text(SETUP + "tests:\n  - {check: folder:eng#viewer@user:ann, expect: true}\n")

    printed = magistrate.done("model", "test", "--coverage", first, str(folder / "other.test.yaml"))

    assert printed.splitlines()[-2:] == ["reached: 3 of 7 relations and 0 of 5 rules", "2 passed, 0 failed"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file: must be an object"),
        ("tests: []", "must have model or model_file, unless --model names a model"),
        ("model: x\nmodel_file: y", "must not have both model and model_file"),
        ("model: |\n  version 1.0\n  type User", "model:2:6: error invalid_name"),
        ("model: {objectTypes: [{type: a}]}", "objectTypes[0]"),
        ("model_file: ../model.txt", "'../model.txt' is not in the folder of model.test.yaml"),
        ("model_file: /etc/passwd", "'/etc/passwd' is not in the folder of model.test.yaml"),
        ("model_file: link.txt", "'link.txt' is not in the folder of model.test.yaml"),
        ('model_file: "a\\0b"', "is not the name of a file"),
        ("model_file: missing.txt", "there is no file 'missing.txt'"),
        ("a: &a [1]\nb: *a", "aliases are not supported (line 2, column 4)"),
        ("[" * 200, "nests 100 deep at most"),
        ("x: [1", "is not valid YAML"),
        ("#" * (MAX_FILE_BYTES + 1), f"is larger than {MAX_FILE_BYTES} bytes"),
        (SETUP + "tests: 1", "tests: must be a list"),
        (SETUP + "test: []", "'test' is not a member; did you mean tests?"),
        (SETUP + "tests: [{check: a}]", "tests[0]: a: 'a' does not read as"),
        (SETUP + "tests: [{chek: a}]", "tests[0]: 'chek' is not a member; did you mean check?"),
        (SETUP + "tests: [{name: a}]", "tests[0]: must have one of check, checks and query"),
        (SETUP + "tests: [{check: document:a#viewer@user:b}]", "tests[0].expect: must be true or false"),
        (SETUP + "tests: [{query: select banana, expect: []}]", "tests[0]: select banana: "),
        (SETUP + "    - document:a#viewer@team:b", "[7]: document:a#viewer@team:b: document#viewer cannot"),
        (SETUP + "    - document:a#viwer@user:b", "the relation does not exist"),
        (SETUP + "    - document:a#viewer@user:b[x ==]", "setup.warrants[7]"),
        (SETUP.replace("Z", ""), "now: '2026-11-20T10:00:00' is not a time with a zone"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(
    magistrate: Magistrate, folder: Path, content: str, message: str
) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "model.txt").write_text(MODEL)
    (folder / "inner" / "link.txt").symlink_to(folder / "model.txt")
    path = folder / "inner" / "model.test.yaml"
    path.write_text(content)

    result = magistrate("model", "test", str(path))

    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


HOSTED = """\
setup:
  warrants:
    - subject: user:ida
      relation: member
      resource: crew:a
    - subject: crew:a#member
      relation: skipper
      resource: boat:one
      policy: wind < 20
tests:
  - name: a member sails
    check:
      subject: user:ida
      relation: may_sail
      resource: boat:one
    context: {wind: 5}
    expect: true
  - name: not in a storm
    check:
      subject: user:ida
      relation: may_sail
      resource: boat:one
    context: {wind: 50}
    expect: false
teardown:
  resources:
    - user:ida
"""


def test_files_of_the_last_hosted_generation_are_read_as_they_are(magistrate: Magistrate, folder: Path) -> None:
    (folder / "schema.txt").write_text(
        "version 0.2\n\ntype user\n\ntype crew\n    relation member [user]\n\ntype boat\n"
        "    relation skipper [user, crew]\n    relation may_sail []\n"
        "    inherit may_sail if\n        relation skipper\n"
    )
    (folder / "roles.test.yaml").write_text(HOSTED)

    printed = magistrate.done("model", "test", "--model", str(folder / "schema.txt"), str(folder))

    assert printed == "2 passed, 0 failed\n"


def test_the_example_passes_and_covers_its_model(magistrate: Magistrate) -> None:
    printed = magistrate.done("model", "test", "--coverage", str(EXAMPLE / "model.test.yaml")).splitlines()

    assert printed[-1].endswith(" passed, 0 failed")
    assert not any(line.startswith("not reached") for line in printed)


def test_a_warrant_of_a_test_replaces_one_that_has_expired(magistrate: Magistrate, folder: Path) -> None:
    setup = SETUP.replace("expires_at: 2026-11-21T00:00:00Z", "expires_at: 2026-11-19T00:00:00Z")
    test = "{check: 'document:plan#viewer@user:bob', expect: %s, warrants: %s}"
    tests = f"tests: [{test % ('false', '[]')}, {test % ('true', '[document:plan#editor@user:bob]')}]"

    assert magistrate.done("model", "test", write(folder, tests, setup)) == "2 passed, 0 failed\n"
