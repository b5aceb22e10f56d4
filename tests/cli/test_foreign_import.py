"""`magistrate import --from-openfga` and `--from-spicedb`, and `magistrate model convert --from` them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.foreign_imports import import_files, run, url
from tests.databases import dump
from tests.running import Client, running_service, settings_for

__all__ = ["url"]  # fixtures

FILES = Path(__file__).parents[1] / "importers" / "files"
MODEL = """model
  schema 1.1
type user
type Team
  relations
    define member: [user, Team#member]
    define lead: [user] and member
"""
MODEL_JSON = {"schema_version": "1.1", "type_definitions": [{"type": "user"}]}
HEADINGS = "user_type,user_id,user_relation,relation,object_type,object_id\n"


def name_here(written: str) -> str:
    """Returns an object or a userset with the name that its type has here."""
    of_type, colon, object_id = written.partition(":")
    return of_type.replace("/", "--").lower() + colon + object_id


def list_openfga_checks(store: Any) -> Iterator[tuple[str, dict[str, Any], bool]]:
    for check in (check for test in store["tests"] for check in test["check"]):
        for relation, holds in check["assertions"].items():
            written = f"{name_here(check['object'])}#{relation}@{name_here(check['user'])}"
            yield written, check.get("context", {}), holds


def list_spicedb_checks(file: Any) -> Iterator[tuple[str, dict[str, Any], bool]]:
    for kind, texts in file["assertions"].items():
        for text in texts:
            check, _, context = text.partition(" with ")
            object_name, _, subject = check.partition("@")
            written = f"{name_here(object_name)}@{name_here(subject)}"
            yield written, json.loads(context) if context else {}, kind == "assertTrue"


def test_a_store_file_of_openfga_answers_as_it_says(url: str) -> None:
    path = FILES / "documents.fga.yaml"
    store = yaml.safe_load(path.read_text())

    imported = import_files(url, "--from-openfga", path)

    assert (imported.exit_code, imported.stderr) == (0, ""), imported.output
    assert imported.stdout.splitlines()[:3] == [
        "acme/Team becomes acme--team: types have names of lower-case letters, digits, - and _",
        "document#viewer of relationships becomes document#direct_viewer: "
        "warrants give this, and a rule computes the relation",
        "document#editor of relationships becomes document#direct_editor: "
        "warrants give this, and a rule computes the relation",
    ]
    assert re.search(r"4 object types, \d+ objects, 14 warrants, 1 policies\n$", imported.stdout)
    checks = [*list_openfga_checks(store)]
    assert len(checks) > 12
    with running_service(settings_for(url)) as service, Client(service) as client:
        for text, context, holds in checks:
            assert (client.ask(text, context=context).json()["code"] == 200) is holds, (text, context)
        for wanted in (wanted for test in store["tests"] for wanted in test["list_objects"]):
            for relation, objects in wanted["assertions"].items():
                query = f"select {wanted['type']} where {wanted['user']} is {relation}"
                found = client.get("/v2/query", params={"q": query}).json()["results"]
                assert sorted(f"{row['objectType']}:{row['objectId']}" for row in found) == objects


def test_a_validation_file_of_spicedb_answers_as_it_says(url: str) -> None:
    path = FILES / "devices.validation.yaml"

    imported = import_files(url, "--from-spicedb", path)

    assert (imported.exit_code, imported.stderr) == (0, ""), imported.output
    checks = [*list_spicedb_checks(yaml.safe_load(path.read_text()))]
    assert len(checks) > 12
    with running_service(settings_for(url)) as service, Client(service) as client:
        for text, context, holds in checks:
            assert (client.ask(text, context=context).json()["code"] == 200) is holds, (text, context)


def write_openfga_files(folder: Path) -> list[Path]:
    tuples = [
        {"user": "user:ann", "relation": "member", "object": "Team:a"},
        {"user": "Team:a#member", "relation": "member", "object": "Team:b"},
    ]
    contents = {
        "model.fga": MODEL,
        "tuples.csv": HEADINGS + "user,kim,,lead,Team,a\n",
        "tuples.json": json.dumps(tuples),
        "pages.json": json.dumps({"tuples": [{"key": one} for one in tuples], "continuation_token": ""}),
        "tuples.jsonl": "".join(f"{json.dumps(one)}\n" for one in tuples),
        "tuples.yaml": yaml.safe_dump(tuples),
    }
    for name, text in contents.items():
        (folder / name).write_text(text)
    return [folder / name for name in contents]


def test_tuples_of_all_formats_are_imported_and_again_change_nothing(url: str, tmp_path: Path) -> None:
    paths = write_openfga_files(tmp_path)

    first = import_files(url, "--from-openfga", *paths)
    again = import_files(url, "--from-openfga", *reversed(paths))

    assert first.stdout.endswith("2 object types, 4 objects, 3 warrants\n"), first.output
    assert again.stdout.endswith("0 object types, 0 objects, 0 warrants\n"), again.output
    assert len(dump(url)["warrant"]) == 3


def test_modules_and_store_files_name_files_of_their_folder(url: str, tmp_path: Path) -> None:
    (tmp_path / "org").mkdir()
    (tmp_path / "fga.mod").write_text('schema: "1.2"\ncontents:\n  - core.fga\n  - org/team.fga\n')
    (tmp_path / "core.fga").write_text("module core\ntype user\ntype team\n")
    (tmp_path / "org" / "team.fga").write_text("module org\nextend type team\n  relations\n    define member: [user]\n")
    (tmp_path / "tuples.yaml").write_text("- {user: 'user:ann', relation: member, object: 'team:a'}\n")
    (tmp_path / "all.fga.yaml").write_text("model_file: fga.mod\ntuple_file: tuples.yaml\n")

    converted = run("model", "convert", tmp_path / "fga.mod")
    imported = import_files(url, "--from-openfga", tmp_path / "all.fga.yaml")

    assert converted.stdout == "version 1.0\n\ntype user\n\ntype team\n    relation member [user]\n"
    assert imported.stdout.endswith("2 object types, 2 objects, 1 warrants\n"), imported.output


@pytest.mark.parametrize("name", ["../secret.fga", "/etc/hostname", "link.fga", ".", "no\\0.fga", "gone.fga", ""])
def test_files_outside_of_the_folder_are_not_read(url: str, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.fga").write_text(MODEL)
    (folder / "link.fga").symlink_to(tmp_path / "secret.fga")
    (folder / "fga.mod").write_text(f'schema: "1.2"\ncontents:\n  - "{name}"\n')
    (folder / "s.yaml").write_text(f'schemaFile: "{name}"\n')
    (folder / "store.yaml").write_text(f'model_file: "{name}"\n')

    for option, file in (("openfga", "fga.mod"), ("openfga", "store.yaml"), ("spicedb", "s.yaml")):
        refused = import_files(url, f"--from-{option}", folder / file)

        assert refused.exit_code == 2
        assert re.search(r"(fga\.mod|yaml):\d:\d+: invalid_reference: ", refused.stderr), refused.stderr
    assert not (tmp_path / "m.db").exists()


def test_one_bad_line_of_many_is_named_and_nothing_is_written(url: str, tmp_path: Path) -> None:
    lines = [f"user,u{number},,member,Team,t{number % 100}\n" for number in range(100_000)]
    lines[70_000] = "user,u,,membr,Team,t\n"
    (tmp_path / "model.fga").write_text(MODEL)
    (tmp_path / "tuples.csv").write_text(HEADINGS + "".join(lines))

    refused = import_files(url, "--from-openfga", tmp_path / "model.fga", tmp_path / "tuples.csv")

    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == (
        f"{tmp_path}/tuples.csv:70002:1: unknown_relation: relation membr is not defined; did you mean member?\n"
        "Error: 1 fault above; nothing was written; fix them, or leave them out with --leave-out\n"
    )
    assert not (tmp_path / "m.db").exists()


def test_of_very_many_faults_some_are_named_or_all_that_are_left_out(url: str, tmp_path: Path) -> None:
    (tmp_path / "model.fga").write_text(MODEL)
    lines = (f"user,u,,m{number},Team,t\n" for number in range(5_000))
    (tmp_path / "tuples.csv").write_text(HEADINGS + "".join(lines))

    refused = import_files(url, "--from-openfga", tmp_path / "model.fga", tmp_path / "tuples.csv")
    left_out = import_files(url, "--from-openfga", tmp_path / "model.fga", tmp_path / "tuples.csv", "--leave-out")

    assert len(refused.stderr.splitlines()) == 102
    assert "5,000 faults above; nothing was written" in refused.stderr
    assert len(left_out.stderr.splitlines()) == 5_001
    assert left_out.exit_code == 0


@pytest.mark.parametrize(
    ("option", "text", "place"),
    [
        ("openfga", "name: x\nmodel: |\n  model\n    schema 1.1\n  type user\n  typ team\n", "6:3: unknown_keyword"),
        ("spicedb", "schema: |-\n  definition user {\n    relation a: usr\n  }\n", "3:17: unknown_type"),
        ("spicedb", "schema: |-\n  caveat c(x int) {\n    x + 1.0\n  }\n  definition user {}", "3:7: not_expressible"),
        ("spicedb", "schema: 'definition user {}'\nrelationships: |-\n\n  user:a\n", "4:3: invalid_relationship"),
        ("openfga", "model: 'type user'\ntuples:\n- {user: 'u:a', relation: r, object: 'o:1'}\n", "3:3: unknown_type"),
    ],
)
def test_faults_in_a_yaml_file_have_their_place_in_it(
    url: str, tmp_path: Path, option: str, text: str, place: str
) -> None:
    (tmp_path / "all.yaml").write_text(text)

    refused = import_files(url, f"--from-{option}", tmp_path / "all.yaml")

    assert refused.stderr.startswith(f"{tmp_path}/all.yaml:{place}: "), refused.stderr


def test_what_is_wrong_is_left_out_if_that_is_wanted(url: str, tmp_path: Path) -> None:
    (tmp_path / "model.fga").write_text(MODEL + "condition c(x: bytes) { size(x) > 1 }\n")
    (tmp_path / "t.csv").write_text(HEADINGS + "user,ann,,member,Team,a\nuser,b d,,member,Team,a\n")

    imported = import_files(url, "--from-openfga", tmp_path / "model.fga", tmp_path / "t.csv", "--leave-out")

    assert imported.exit_code == 0, imported.output
    assert imported.stderr.splitlines()[0].startswith(f"{tmp_path}/model.fga:8:13: not_expressible: condition c: ")
    assert imported.stderr.splitlines()[1].startswith(f"{tmp_path}/t.csv:3:1: invalid_id: id b d: ")
    assert imported.stderr.splitlines()[2] == "2 faults above: left out"
    assert len(dump(url)["warrant"]) == 1


@pytest.mark.parametrize(
    ("arguments", "text", "message"),
    [
        (["--from-openfga"], "user: x\n", "store file of OpenFGA"),
        (["--from-openfga"], "- {user: 'user:a', relation: r, object: 'o:1'}\n", "none of the files has the model"),
        (["--from-openfga"], "a: &a [1]\nb: *a\n", "file.yaml:2:4: invalid_yaml: aliases are not supported"),
        (["--from-spicedb"], "relationships: ''\n", "none of the files has the model"),
        (["--from-openfga", "--from-spicedb"], "", "give either --from-openfga or --from-spicedb"),
        (["--leave-out"], "", "--leave-out goes with"),
        (["--from-openfga", "--skip-refused"], "", "--skip-refused goes with --from-warrant only"),
        (["other.jsonl"], "", "several FILEs go with"),
    ],
)
def test_what_cannot_be_imported_is_reported(
    url: str, tmp_path: Path, arguments: list[str], text: str, message: str
) -> None:
    (tmp_path / "file.yaml").write_text(text)

    refused = import_files(url, *arguments, tmp_path / "file.yaml")

    assert refused.exit_code == 2
    assert message in refused.stderr


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b"{", "is not valid JSON"),
        ("a.json", b'{"tuples": 5}', "tuples is no array"),
        ("a.json", b'{"x": 5}', "is neither a model nor tuples of OpenFGA"),
        ("a.json", b"5", "is not valid JSON"),
        ("a.fga", b"type \xff\n", "is not UTF-8"),
        ("a.csv", HEADINGS.encode() + b"user,\xff,,member,Team,a\n", "a.csv:2:1: is not UTF-8"),
        ("a.csv", b"x" * 1_100_000, "a.csv:1:1: is longer than 1048576 bytes"),
        ("a.csv", b"user,ann\n", "a.csv:1:1: invalid_csv: the first line must name the columns"),
        ("b.fga", MODEL.encode(), "repeated_declaration: type user is declared twice"),
        (
            "b.json",
            b'{"schema_version": "1.1", "type_definitions": [{"type": "user"}]}',
            "has a model, and another file has one, too",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_reported(
    url: str, tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / "model.fga").write_text(MODEL)
    (tmp_path / name).write_bytes(content)

    refused = import_files(url, "--from-openfga", tmp_path / "model.fga", tmp_path / name)

    assert refused.exit_code == 2
    assert message in refused.stderr
    assert not (tmp_path / "m.db").exists()


def test_a_backup_of_zed_says_how_to_write_what_it_has(url: str, tmp_path: Path) -> None:
    (tmp_path / "all.zedbackup").write_bytes(b"Obj\x01\x04\x14avro.codec")

    refused = import_files(url, "--from-spicedb", tmp_path / "all.zedbackup")

    assert "zed backup parse-relationships" in refused.stderr


def test_a_schema_and_relationships_are_told_by_their_content(url: str, tmp_path: Path) -> None:
    schema = "definition user {}\ndefinition doc { relation r: user }\n"
    (tmp_path / "one").write_text(f"/* the schema */\n// of all\n{schema}")
    (tmp_path / "two").write_text("// all of them\n\ndoc:a#r@user:ann\ndoc:b#r@user:ann\n")

    imported = import_files(url, "--from-spicedb", tmp_path / "two", tmp_path / "one")

    assert imported.stdout.endswith("2 object types, 3 objects, 2 warrants\n"), imported.output


def test_a_type_that_forbids_stored_warrants_is_reported(url: str, tmp_path: Path) -> None:
    (tmp_path / "a.fga").write_text(MODEL)
    (tmp_path / "a.csv").write_text(HEADINGS + "user,ann,,member,Team,a\n")
    (tmp_path / "b.fga").write_text(MODEL.replace("[user, Team#member]", "[Team#member]"))
    assert import_files(url, "--from-openfga", tmp_path / "a.fga", tmp_path / "a.csv").exit_code == 0

    refused = import_files(url, "--from-openfga", tmp_path / "b.fga")

    assert refused.exit_code == 2
    assert "stored warrants would not be allowed any more" in refused.stderr


def test_a_model_is_converted_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "m.txt").write_text("# ours\n\nmodel\n  schema 1.1\ntype Doc\n")
    (tmp_path / "s.txt").write_text("/** All. */ definition user {}\n")
    (tmp_path / "m.json").write_text('{"schema_version": "1.1", "type_definitions": [{"type": "user"}]}')

    openfga = run("model", "convert", tmp_path / "m.txt")
    spicedb = run("model", "convert", tmp_path / "s.txt", "--to", "json")
    from_json = run("model", "convert", tmp_path / "m.json", "--from", "openfga")

    assert (openfga.stdout, openfga.exit_code) == ("version 1.0\n\ntype doc\n", 0)
    assert openfga.stderr == "Doc becomes doc: types have names of lower-case letters, digits, - and _\n"
    assert json.loads(spicedb.stdout)["objectTypes"] == [{"type": "user", "relations": {}, "description": "All."}]
    assert from_json.stdout == "version 1.0\n\ntype user\n"


def test_a_model_that_cannot_be_expressed_is_converted_only_without_it(tmp_path: Path) -> None:
    path = tmp_path / "s.zed"
    path.write_text(
        "definition a { relation x: a }\ndefinition b {\nrelation up: a | b\nrelation x: a\n"
        "permission c = up.all(x)\npermission d = c + x\n}\n"
    )

    refused = run("model", "convert", path)
    converted = run("model", "convert", path, "--leave-out")
    unnamed = run("model", "convert", "-", "--from", "spicedb")

    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "s.zed:6:12: not_expressible: b#d depends on b#c, which cannot be expressed" in refused.stderr
    assert "relation c" not in converted.stdout
    assert "relation x [a]" in converted.stdout
    assert unnamed.exit_code == 2


@pytest.mark.parametrize("section", ["tuples:", "tuple_file:", "tuple_files:", "tests:", "tuples: null", "tuples: ~"])
def test_a_section_of_a_store_file_without_a_value_is_empty(url: str, tmp_path: Path, section: str) -> None:
    model = "".join(f"  {line}\n" for line in MODEL.splitlines())
    (tmp_path / "s.fga.yaml").write_text(f"model: |\n{model}{section}\n")

    imported = import_files(url, "--from-openfga", tmp_path / "s.fga.yaml")
    tested = run("model", "test", tmp_path / "s.fga.yaml")

    assert imported.stdout.endswith("2 object types, 0 objects, 0 warrants\n"), imported.output
    assert (tested.stdout, tested.exit_code) == ("0 passed, 0 failed\n", 0), tested.output


@pytest.mark.parametrize("section", ["relationships:", "assertions:", "validation:", "schemaFile:", "assertions: {}"])
def test_a_section_of_a_validation_file_without_a_value_is_empty(url: str, tmp_path: Path, section: str) -> None:
    (tmp_path / "s.yaml").write_text(f"schema: 'definition user {{}}'\n{section}\n")

    imported = import_files(url, "--from-spicedb", tmp_path / "s.yaml")
    tested = run("model", "test", tmp_path / "s.yaml")

    assert imported.stdout.endswith("1 object types, 0 objects, 0 warrants\n"), imported.output
    assert (tested.stdout, tested.exit_code) == ("0 passed, 0 failed\n", 0), tested.output


EMPTY_FILES = {
    "--from-openfga": {
        "a.fga": "# nothing yet\n",
        "a.csv": "\n\n",
        "a.json": " ",
        "a.jsonl": "",
        "a.yaml": "# later\n",
        "a.txt": "",
    },
    "--from-spicedb": {
        "a.zed": "// nothing yet\n/* nor here\n */\n",
        "a.txt": "",
        "b.txt": "\ufeff\n",
        "a.yaml": "# later\n",
    },
}


@pytest.mark.parametrize(("option", "name"), [(option, name) for option in EMPTY_FILES for name in EMPTY_FILES[option]])
def test_an_empty_file_is_nothing_to_import(url: str, tmp_path: Path, option: str, name: str) -> None:
    (tmp_path / name).write_text(EMPTY_FILES[option][name])
    model = tmp_path / "model"
    model.write_text("definition user {}\n" if option == "--from-spicedb" else "type user\n")

    alone = import_files(url, option, tmp_path / name)
    assert (alone.exit_code, alone.stdout) == (
        0,
        f"nothing to import: there is nothing but comments in {tmp_path / name}\n",
    ), alone.output
    assert not (tmp_path / "m.db").exists()

    beside = import_files(url, option, tmp_path / name, model)
    assert beside.stdout.endswith("1 object types, 0 objects, 0 warrants\n"), beside.output
    assert beside.stderr == f"{tmp_path / name}: nothing to import\n"


SCHEMA = "definition user {}\ndefinition doc { relation r: user }\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("# comment\ndoc:a#r@user:ann\n", "1:1: invalid_relationship: '# comment'"),
        ("doc:1 viewer user:a\n", "1:1: invalid_relationship: 'doc:1 viewer user:a'"),
        ("doc:1 viewer user:a\ndoc:a#r@user:ann\n", "1:1: invalid_relationship: "),
        ("- doc:a#r@user:ann\n", "1:1: invalid_relationship: '- doc:a#r@user:ann'"),
        ("// all\n/* of\n them */\n- doc:a#r@user:ann\n", "2:1: invalid_relationship: '/* of'"),
        ("doc:a#r@user:ann\ndoc:a#r@user:ann,\n", "2:1: invalid_id: id ann,: SpiceDB has ids of"),
        ("doc:a.b#r@user:ann\n", "1:1: invalid_id: id a.b: SpiceDB has ids of"),
        ("doc:*#r@user:ann\n", "1:1: invalid_id: id *: SpiceDB has ids of"),
        ("doc:a#r@user:ann@x\n", "1:1: invalid_id: id ann@x: SpiceDB has ids of"),
    ],
)
def test_a_faulty_line_of_relationships_is_named(url: str, tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "s.zed").write_text(SCHEMA)
    (tmp_path / "r.txt").write_text(text)

    refused = import_files(url, "--from-spicedb", tmp_path / "s.zed", tmp_path / "r.txt")
    alone = import_files(url, "--from-spicedb", tmp_path / "r.txt")

    assert (refused.exit_code, alone.exit_code) == (2, 2)
    assert f"r.txt:{fault}" in refused.stderr
    assert f"r.txt:{fault}" in alone.stderr
    assert not (tmp_path / "m.db").exists()


def test_a_condition_that_cannot_be_a_named_policy_is_printed(tmp_path: Path) -> None:
    text = "type user\ntype doc\n  relations\n    define viewer: [user with k]\ncondition k(a: any) {\n  a == null\n}\n"
    (tmp_path / "a.fga").write_text(text)

    converted = run("model", "convert", "--from", "openfga", tmp_path / "a.fga")

    told = "condition k becomes a policy of each warrant: a named policy has no parameter of type any\n"
    assert (converted.exit_code, converted.stderr) == (0, told)


@pytest.mark.parametrize(
    "begin",
    ["\n\n", "// c\n", "/* doc:a#r@user:ann\n*/", "/** d */ ", "use expiration\n", "caveat c(x int) { x > 1 }\n"],
)
def test_a_schema_is_recognized_whatever_it_begins_with(url: str, tmp_path: Path, begin: str) -> None:
    (tmp_path / "s.txt").write_text(begin + SCHEMA)

    imported = import_files(url, "--from-spicedb", tmp_path / "s.txt")

    assert "2 object types, 0 objects, 0 warrants" in imported.stdout, imported.output


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("- doc:a#r@user:ann\n", "is not a validation file of SpiceDB"),
        ("relation: x\n", "is not a validation file of SpiceDB"),
        ("relationships:\n  - doc:a#r@user:ann\n", "r.yaml:2:3: expected relationships as a text"),
        ("schema: {a: b}\n", "r.yaml:1:9: expected a schema as a text"),
    ],
)
def test_a_validation_file_of_another_form_is_refused_with_its_place(
    url: str, tmp_path: Path, text: str, fault: str
) -> None:
    (tmp_path / "s.zed").write_text(SCHEMA)
    (tmp_path / "r.yaml").write_text(text)

    refused = import_files(url, "--from-spicedb", tmp_path / "s.zed", tmp_path / "r.yaml")

    assert refused.exit_code == 2
    assert fault in refused.stderr


def test_ids_that_openfga_cannot_have_are_refused_with_the_line(url: str, tmp_path: Path) -> None:
    (tmp_path / "a.fga").write_text(MODEL)
    (tmp_path / "a.csv").write_text(
        HEADINGS + "user,a:b,,lead,Team,a\nuser,ann,,lead,Team,a#b\nuser,ann,,lead,Team,*\n"
    )

    refused = import_files(url, "--from-openfga", tmp_path / "a.fga", tmp_path / "a.csv")

    assert [line.partition("a.csv:")[2] for line in refused.stderr.splitlines()[:3]] == [
        "2:1: invalid_id: id a:b: OpenFGA has ids without white space, : and #",
        "3:1: invalid_id: id a#b: OpenFGA has ids without white space, : and #",
        "4:1: invalid_id: id *: OpenFGA has no wildcard for objects",
    ]


NAMES = """model
  schema 1.1
type iam.identity
type app/role
  relations
    define role.approver: [iam.identity, app/role#role.approver]
    define can/approve: role.approver
    define anyOf: [iam.identity] and can/approve
    define übersicht: role.approver
type doc
  relations
    define app.role: [app/role]
    define reader: role.approver from app.role
"""


def test_names_that_ours_cannot_hold_are_mapped_and_printed(url: str, tmp_path: Path) -> None:
    (tmp_path / "a.fga").write_text(NAMES)
    (tmp_path / "a.csv").write_text(
        HEADINGS + "iam.identity,ann,,role.approver,app/role,r\napp/role,r,role.approver,role.approver,app/role,s\n"
        "app/role,s,,app.role,doc,d\niam.identity,ann,,anyOf,app/role,r\n"
    )
    (tmp_path / "a.fga.yaml").write_text(
        "model_file: a.fga\ntuple_file: a.csv\ntests:\n  - check:\n"
        "    - {user: 'iam.identity:ann', object: 'doc:d', assertions: {reader: true, app.role: true}}\n"
        "    - {user: 'app/role:r#role.approver', object: 'app/role:s', assertions: {übersicht: true, anyOf: false}}\n"
    )

    imported = import_files(url, "--from-openfga", tmp_path / "a.fga", tmp_path / "a.csv")
    tested = run("model", "test", tmp_path / "a.fga.yaml")

    assert imported.exit_code == 0, imported.output
    renamed = [line.partition(":")[0] for line in imported.stdout.splitlines()[:-1]]
    assert renamed == [
        "iam.identity becomes iam__identity",
        "app/role becomes app--role",
        "role.approver becomes role__approver",
        "can/approve becomes can--approve",
        "anyOf becomes relation_anyOf",
        "übersicht becomes -u00fc-bersicht",
        "app.role becomes app__role",
        "app--role#relation_anyOf of relationships becomes app--role#direct_relation_anyOf",
    ]
    with running_service(settings_for(url)) as service, Client(service) as client:
        for check in ("doc:d#reader@iam__identity:ann", "app--role:s#can--approve@iam__identity:ann"):
            assert client.ask(check).json()["code"] == 200, check
    assert (tested.exit_code, tested.stdout.splitlines()) == (
        1,
        [
            f"FAILED {tmp_path}/a.fga.yaml: doc:d#app.role@iam.identity:ann: expected allowed, is denied",
            *tested.stdout.splitlines()[1:-1],
            "3 passed, 1 failed",
        ],
    ), tested.output
    assert "__" not in tested.stdout
    assert "app--role" not in tested.stdout


CONDITIONS = """model
  schema 1.1
type user
type doc
  relations
    define reader: [user with open, user with near]
condition open(now: timestamp, contains: map<list<string>>, now_: bool) {
  now < timestamp("2026-02-01T00:00:00Z") && "ann" in contains["a"] && !now_
}
condition near(ip: ipaddress, in: list<string>) { in.exists(n, ip.in_cidr(n)) }
"""
RENAMED = [
    "parameter now becomes now__2",
    "parameter contains becomes contains_",
    "parameter in becomes in_",
]


def test_parameters_that_are_words_of_policies_are_renamed_in_all_contexts(url: str, tmp_path: Path) -> None:
    (tmp_path / "a.fga").write_text(CONDITIONS)
    tuples = [
        ("plan", "open", {"contains": {"a": ["ann"]}, "now_": False}),
        ("home", "near", {"in": ["10.0.0.0/8", "::1/128"]}),
    ]
    written = [
        {
            "user": "user:ann",
            "relation": "reader",
            "object": f"doc:{object_id}",
            "condition": {"name": name, "context": context},
        }
        for object_id, name, context in tuples
    ]
    (tmp_path / "a.json").write_text(json.dumps(written))
    tests = [
        {"user": "user:ann", "object": f"doc:{object_id}", "assertions": {"reader": answer}, "context": context}
        for object_id, context, answer in [
            ("plan", {"now": "2026-01-31T23:59:59Z"}, True),
            ("plan", {"now": "2026-02-01T00:00:00Z"}, False),
            ("home", {"ip": "10.2.3.4"}, True),
            ("home", {"ip": "11.2.3.4"}, False),
        ]
    ]
    store = {"model_file": "a.fga", "tuple_file": "a.json", "tests": [{"check": tests}]}
    (tmp_path / "a.fga.yaml").write_text(json.dumps(store))

    imported = import_files(url, "--from-openfga", tmp_path / "a.fga", tmp_path / "a.json")
    converted = run("model", "convert", tmp_path / "a.fga")
    tested = run("model", "test", tmp_path / "a.fga.yaml")

    assert imported.exit_code == 0, imported.output
    assert [line.partition(":")[0] for line in imported.stdout.splitlines()[:-1]] == RENAMED
    assert [line.partition(":")[0] for line in converted.stderr.splitlines()] == RENAMED
    assert "policy near(ip string, in_ array) {" in converted.stdout
    assert (tested.exit_code, tested.stdout) == (0, "4 passed, 0 failed\n"), tested.output
    with running_service(settings_for(url)) as service, Client(service) as client:
        for object_id, context, code in [
            ("plan", {"now__2": "2026-01-31T23:59:59Z"}, 200),
            ("plan", {"now": "2026-01-31T23:59:59Z"}, 403),
            ("home", {"ip": "::1"}, 200),
            ("home", {"ip": "::2"}, 403),
        ]:
            assert client.ask(f"doc:{object_id}#reader@user:ann", context=context).json()["code"] == code, (
                object_id,
                context,
            )


def test_caveats_with_renamed_parameters_answer_as_their_file_says(tmp_path: Path) -> None:
    (tmp_path / "a.validation.yaml").write_text(
        """schema: |
  caveat within(not timestamp, warrant map<any>, expected map<any>) {
    not < timestamp("2026-02-01T00:00:00Z") && expected.isSubtreeOf(warrant)
  }
  definition user {}
  definition doc {
    relation reader: user with within
    permission read = reader
  }
relationships: |
  doc:plan#reader@user:ann[within:{"not":"2026-01-01T00:00:00Z","expected":{"a":{"b":1}}}]
assertions:
  assertTrue:
    - 'doc:plan#read@user:ann with {"warrant": {"a": {"b": 1, "c": 2}}}'
  assertFalse:
    - 'doc:plan#read@user:ann with {"warrant": {"a": {"b": 2}}}'
  assertCaveated:
    - doc:plan#read@user:ann
"""
    )

    tested = run("model", "test", tmp_path / "a.validation.yaml")

    assert (tested.exit_code, tested.stdout) == (0, "3 passed, 0 failed\n"), tested.output


def test_a_long_name_ends_with_a_digest_of_the_original(url: str, tmp_path: Path) -> None:
    names = [f"{'relation/' * 10}{letter}" for letter in "ab"]
    long = "type." * 40
    (tmp_path / "a.fga").write_text(
        f"type {long}a\ntype {long}b\n  relations\n" + "".join(f"    define {name}: [{long}a]\n" for name in names)
    )

    converted = run("model", "convert", tmp_path / "a.fga", "--from", "openfga", "--to", "json")

    model = json.loads(converted.stdout)
    found = [*(one["type"] for one in model["objectTypes"]), *model["objectTypes"][1]["relations"]]
    assert len(set(found)) == 4
    assert max(map(len, found)) == 64


def test_files_outside_the_folder_are_read_below_the_root_only(url: str, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "tests" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "model.fga").write_text(MODEL)
    (tmp_path / "src" / "t.yaml").write_text("- {user: 'user:ann', relation: lead, object: 'Team:a'}\n")
    store = tmp_path / "tests" / "deep" / "s.fga.yaml"
    store.write_text("model_file: ../../src/model.fga\ntuple_file: ../../src/t.yaml\n")

    refused = import_files(url, "--from-openfga", store)
    elsewhere = import_files(url, "--from-openfga", store, "--root", tmp_path / "tests")
    imported = import_files(url, "--from-openfga", store, "--root", tmp_path)
    tested = run("model", "test", store, "--root", tmp_path)

    fault = "s.fga.yaml:1:13: invalid_reference: '../../src/model.fga' is not in the folder of s.fga.yaml"
    assert f"{fault}; --root DIR allows files below DIR" in refused.stderr
    assert f"{fault}, nor in {tmp_path}/tests; --root DIR allows" in elsewhere.stderr
    assert imported.stdout.endswith("2 object types, 2 objects, 1 warrants\n"), imported.output
    assert tested.stdout == "0 passed, 0 failed\n", tested.output
