"""`magistrate model`: files are formatted, checked and converted without a service."""

import json
from pathlib import Path

import pytest

from tests.cli.cases import Magistrate
from tests.running import Client
from tests.stub_server import stub_server

TEXT = """\
version 1.0

type user

// what people write
type document
    relation editor [user]

    relation viewer [user]
    inherit viewer if
        relation editor
"""
UGLY = TEXT.replace("    ", "  ").replace("[user]", "[ user ]")
JSON = {
    "objectTypes": [
        {"type": "user", "relations": {}},
        {
            "type": "document",
            "relations": {"editor": {}, "viewer": {"inheritIf": "editor"}},
            "allowedTypes": {"editor": ["user"], "viewer": ["user"]},
        },
    ],
    "policies": [],
}


@pytest.fixture
def magistrate() -> Magistrate:
    """With no service anywhere."""
    return Magistrate("http://127.0.0.1:9")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.txt"
    path.write_text(UGLY)
    return path


def test_a_file_is_formatted_in_place_once(magistrate: Magistrate, file: Path) -> None:
    assert magistrate.done("model", "fmt", str(file)) == f"{file}\n"
    assert file.read_text() == TEXT
    assert magistrate.done("model", "fmt", str(file)) == ""


def test_whether_a_file_is_formatted_is_told_by_the_exit_code(magistrate: Magistrate, file: Path) -> None:
    result = magistrate("model", "fmt", "--check", str(file))

    assert (result.exit_code, result.stdout) == (1, f"{file}\n")
    assert file.read_text() == UGLY
    file.write_text(TEXT)
    assert magistrate.done("model", "fmt", "--check", str(file)) == ""


def test_standard_input_is_formatted_to_standard_output(magistrate: Magistrate) -> None:
    assert magistrate.done("model", "fmt", "-", typed=UGLY) == TEXT
    assert magistrate("model", "fmt", "--check", "-", typed=UGLY).exit_code == 1
    assert magistrate.done("model", "fmt", "--check", "-", typed=TEXT) == ""


@pytest.mark.parametrize("command", ["fmt", "convert"])
def test_a_file_with_errors_is_neither_formatted_nor_converted(
    magistrate: Magistrate, file: Path, command: str
) -> None:
    file.write_text("version 1.0\n\ntype user\n    relaton owner\n    relation a [User]\n")

    result = magistrate("model", command, str(file))

    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{file}:4:5: error unknown_keyword: " in result.stderr
    assert " |     relaton owner\n | ....^\n" in result.stderr
    assert result.stderr.endswith(f"Error: {file} cannot be read as a model: 2 errors\n")


def test_json_is_not_formatted_but_converted(magistrate: Magistrate) -> None:
    assert "magistrate model convert" in magistrate.failed("model", "fmt", "-", typed="{}")


def test_text_is_converted_to_json_and_back(magistrate: Magistrate, tmp_path: Path) -> None:
    converted = magistrate.done("model", "convert", "-", typed=UGLY)

    assert json.loads(converted) == JSON
    assert magistrate.done("model", "convert", "-", typed=converted) == TEXT.replace("// what people write\n", "")


@pytest.mark.parametrize("value", [JSON, JSON["objectTypes"]])
def test_the_forms_can_be_named(magistrate: Magistrate, value: object) -> None:
    text = json.dumps(value)

    assert json.loads(magistrate.done("model", "convert", "-", "--from", "json", "--to", "json", typed=text)) == JSON
    assert "type document" in magistrate.done("model", "convert", "-", "--to", "text", typed=text)
    assert magistrate("model", "convert", "-", "--from", "text", typed=text).exit_code == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "standard input is not valid JSON"),
        ('{"objectTypes": [], "objectTypes": []}', "a member is given twice"),
        ('{"objectType": []}', "-:1:2: error invalid_member: objectType: is not a member of a model; did you mean"),
        (
            '[{"type": "user",\n  "relations": {"a": {"inheritif": "b"}}}]',
            "-:2:17: error invalid_member: objectTypes[0].relations.a: object contains unknown field `inheritif`",
        ),
        (
            '{"objectTypes": [{"type": "User", "x":1},\n {"type": "b", "relations": {\n"r": {"inheritIf": "anyOf"}}}]}',
            "-:3:1: error invalid_member: objectTypes[1].relations.r.rules: Missing required parameter",
        ),
    ],
)
def test_errors_in_json_have_positions(magistrate: Magistrate, text: str, message: str) -> None:
    assert message in magistrate("model", "convert", "-", typed=text).stderr


def test_lint_prints_findings_and_fails_if_one_is_an_error(magistrate: Magistrate, file: Path) -> None:
    file.write_text(TEXT.replace("        relation editor", "        relation editr"))

    result = magistrate("model", "lint", str(file))

    assert result.exit_code == 1
    assert result.stderr == "1 error, 1 warning\n"
    assert f"{file}:11:18: error unknown_relation: relation editr is not defined on document" in result.stdout
    assert "did you mean editor?\n |         relation editr\n | .................^\n" in result.stdout


def test_lint_is_content_with_warnings_unless_it_is_strict(magistrate: Magistrate) -> None:
    text = TEXT + "\npolicy p() {\n    true\n}\n"

    assert magistrate("model", "lint", "-", typed=text).exit_code == 0
    assert magistrate("model", "lint", "--strict", "-", typed=text).exit_code == 1
    silenced = text.replace("policy p", "// lint: ignore unused_policy\npolicy p")
    assert magistrate.done("model", "lint", "--strict", "-", typed=silenced) == ""


def test_lint_reads_json_as_well_and_prints_it(magistrate: Magistrate) -> None:
    text = json.dumps([{"type": "a", "relations": {"b": {"inheritIf": "c"}, "cc": {}}}], indent=1)

    result = magistrate("model", "lint", "--json", "-", typed=text)

    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "valid": False,
        "errors": [
            {
                "file": "-",
                "line": 5,
                "column": 4,
                "code": "unknown_relation",
                "message": "relation c is not defined on a",
                "suggestion": "cc",
            }
        ],
        "warnings": [
            {
                "file": "-",
                "line": 8,
                "column": 4,
                "code": "unused_relation",
                "message": "nothing uses relation cc: no rule and no brackets name it",
            }
        ],
    }


def test_several_files_are_looked_at(magistrate: Magistrate, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("version 1.0\nbanana\n")

    result = magistrate("model", "lint", str(tmp_path / "a"), str(tmp_path / "b"))

    assert [line.partition(" ")[0] for line in result.stdout.splitlines() if "error" in line] == [
        f"{tmp_path}/a:2:1:",
        f"{tmp_path}/b:2:1:",
    ]


@pytest.mark.parametrize("command", ["fmt", "lint", "convert"])
def test_a_file_that_cannot_be_read_is_named(magistrate: Magistrate, tmp_path: Path, command: str) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff")

    assert "No such file" in magistrate.failed("model", command, str(tmp_path / "nothing"))
    assert "not valid UTF-8" in magistrate.failed("model", command, str(tmp_path / "bytes"))


def test_the_model_of_a_service_is_shown_as_text(shared_client: Client) -> None:
    magistrate = Magistrate(str(shared_client.base_url))
    before = shared_client.get("/v2/model")

    shown = magistrate.done("model", "show")

    assert shown == shared_client.get("/v2/model", headers={"Accept": "text/plain"}).text
    assert magistrate.json("model", "show") == before.json()
    assert magistrate.done("model", "show", "--as-of", before.headers["Service-Token"]) == shown


def test_a_model_that_this_version_cannot_read_is_not_shown_without_a_part() -> None:
    """Whoever applied the text would delete it."""
    newer = json.dumps(JSON | {"policies": [{"name": "p", "expression": "true", "language": "new"}]}).encode()
    with stub_server(lambda sent: newer) as service:
        failed = Magistrate(service.url).failed("model", "show")

    assert failed.startswith("the model of the service cannot be written as text: policies[0]: ")


@pytest.mark.parametrize(
    ("content", "fault"), [(b"version 1.0\n// \xff", "is not valid UTF-8"), (b"{", "is not valid JSON: ")]
)
def test_of_several_files_the_one_that_cannot_be_read_is_named(
    content: bytes, fault: str, magistrate: Magistrate, tmp_path: Path
) -> None:
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text("version 1.0\ntype user\n")
    bad.write_bytes(content)

    assert magistrate.failed("model", "lint", str(good), str(bad)).startswith(f"{bad} {fault}")
    assert magistrate.failed("model", "convert", str(bad), "--from", "json").startswith(f"{bad} is not valid ")


def test_a_byte_order_mark_before_json_is_no_part_of_it(magistrate: Magistrate, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text('\ufeff{"objectTypes": [{"type": "user", "relations": {"a": 1}}]}')

    told = magistrate("model", "lint", str(tmp_path / "model.json")).stdout

    assert f"{tmp_path}/model.json:1:49: error invalid_member: objectTypes[0].relations.a" in told
