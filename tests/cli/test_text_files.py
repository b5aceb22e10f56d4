"""Every file of text that somebody wrote may begin with a byte order mark, as files of Windows do."""

import ast
import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from magistrate.api.auth.provider_keys import read_key_file
from magistrate.config.api_keys import read_api_key_file
from magistrate.config.settings import read_settings
from magistrate.store.scripts.key_encryption import read_sealing
from magistrate.wiring.forward_rules import read_forward_rules
from tests.cli.cases import Magistrate
from tests.generated_docs import ROOT

SRC = ROOT / "src" / "magistrate"
MODEL = "version 1.0\n\ntype user\n\ntype document\n    relation viewer [user]\n"
WARRANT = "document:plan#viewer@user:ann"
JSON_MODEL = '{"objectTypes": [{"type": "user", "relations": {}}]}'
OPENFGA = "model\n  schema 1.1\ntype user\ntype document\n  relations\n    define viewer: [user]\n"
SPICEDB = "definition user {}\ndefinition document {\n  relation viewer: user\n}\n"
TESTS = f"model_file: m.txt\nsetup:\n  warrants: ['{WARRANT}']\ntests:\n  - {{check: '{WARRANT}', expect: true}}\n"
STORE = (
    "model_file: m.fga\ntuple_file: t.yaml\n"
    "tests: [{check: [{user: 'user:ann', object: 'document:plan', assertions: {viewer: true}}]}]\n"
)
TUPLE = '{"user": "user:ann", "relation": "viewer", "object": "document:plan"}'
CSV = "user_type,user_id,relation,object_type,object_id\nuser,ann,viewer,document,plan\n"
RULES = "version: 1\nsource: x-forwarded\nidentity: {header: X-User}\nrules:\n  - path: /public\n    allow: anyone\n"
VALIDATION = "schemaFile: s.zed\nrelationships: 'document:plan#viewer@user:ann'\n"
LINE = '{"objectType": "document", "objectId": "plan", "relation": "viewer", "subject": '
LINE += '{"objectType": "user", "objectId": "ann"}}'
TYPES = '{"type": "document", "relations": {"viewer": {}}}'

SPEED = re.compile(r" in [0-9.]+ s \([^)]*\)")

COMMANDS: dict[str, tuple[dict[str, str], str]] = {
    "model fmt": ({"m.txt": MODEL}, "model fmt --check m.txt"),
    "model lint": ({"m.txt": MODEL}, "model lint m.txt"),
    "model lint of JSON": ({"m.json": JSON_MODEL}, "model lint m.json"),
    "model convert": ({"m.txt": MODEL}, "model convert m.txt"),
    "model convert of OpenFGA": ({"m.fga": OPENFGA}, "model convert m.fga"),
    "model convert of SpiceDB": ({"s.zed": SPICEDB}, "model convert s.zed"),
    "model test": ({"m.txt": MODEL, "a.test.yaml": TESTS}, "model test a.test.yaml"),
    "model test of OpenFGA": (
        {"m.fga": OPENFGA, "t.yaml": f"- {TUPLE}\n", "a.fga.yaml": STORE},
        "model test a.fga.yaml",
    ),
    "model test of SpiceDB": ({"s.zed": SPICEDB, "a.yaml": VALIDATION}, "model test a.yaml"),
    "model test --model": (
        {"m.txt": MODEL, "a.yaml": "tests:\n  - {check: 'document:a#viewer@user:b', expect: false}\n"},
        "model test --model m.txt a.yaml",
    ),
    "forward test": ({"r.yaml": RULES}, "forward test r.yaml"),
    "import of lines": ({"a.jsonl": f"{TYPES}\n{LINE}\n"}, "import a.jsonl"),
    "import of a test file": ({"m.txt": MODEL, "a.test.yaml": TESTS}, "import a.test.yaml"),
    "import of CSV": ({"m.fga": OPENFGA, "t.csv": CSV}, "import --from-openfga m.fga t.csv"),
    "import of JSON": ({"m.fga": OPENFGA, "t.json": f"[{TUPLE}]"}, "import --from-openfga m.fga t.json"),
    "import of JSON Lines": ({"m.fga": OPENFGA, "t.jsonl": f"{TUPLE}\n"}, "import --from-openfga m.fga t.jsonl"),
    "import of modules": (
        {"fga.mod": 'schema: "1.2"\ncontents: [m.fga]\n', "m.fga": OPENFGA},
        "import --from-openfga fga.mod",
    ),
    "import of relationships": (
        {"s.zed": SPICEDB, "r.txt": "document:plan#viewer@user:ann\n"},
        "import --from-spicedb s.zed r.txt",
    ),
}
"""Holds, for each command that reads files without a service, the files and its arguments."""

SERVED: dict[str, tuple[str, str]] = {
    "types apply": (f"[{TYPES}]", "types apply FILE"),
    "policies apply": ('{"name": "big", "parameters": {}, "expression": "true"}', "policies apply FILE"),
    "write": (f'{{"create": {{"warrants": ["{WARRANT}"]}}}}', "write FILE"),
    "write of YAML": (f"create:\n  warrants: ['{WARRANT}']\n", "write FILE"),
    "diff --proposal": (f'{{"create": ["{WARRANT}"]}}', "diff --proposal FILE"),
    "model plan": (MODEL, "model plan FILE"),
    "model apply": (MODEL, "model apply --yes FILE"),
}
"""Holds, for each command that reads a file and calls a service, the file and its arguments."""

SETTINGS: dict[str, tuple[str, Callable[[str], object]]] = {
    "api_key_file": ("0123456789abcdef-key\n", lambda path: read_api_key_file(path).keys),
    "secret_key_file": (f"{'ab' * 32}\n", lambda path: read_sealing(path).keys),
    "jwt_keys": (
        json.dumps({"keys": [{"kty": "RSA", "kid": "a", "e": "AQAB", "n": "w" * 400}]}),
        lambda path: [key.id for key in read_key_file(path)],
    ),
    "forward_rules": (RULES, lambda path: read_forward_rules(read_settings({"forward_rules": path}, {})).text),
}
"""Holds, for each setting that names a file of text, the content and its reader."""


@pytest.mark.parametrize("named", COMMANDS)
def test_a_command_reads_files_with_a_mark_as_without(named: str, tmp_path: Path) -> None:
    files, arguments = COMMANDS[named]
    printed = []
    for folder, begin in ((tmp_path / "plain", b""), (tmp_path / "marked", BOM_UTF8)):
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_bytes(begin + text.encode())
        words = [str(folder / word) if word in files else word for word in arguments.split()]
        url = ["--database-url", f"sqlite:///{folder}/m.db"] if words[0] == "import" else []
        result = Magistrate("http://127.0.0.1:9")(*words, *url)
        assert result.exit_code == 0, result.output
        printed.append(SPEED.sub("", result.output.replace(str(folder), "")))

    assert printed[1] == printed[0]


@pytest.mark.parametrize("named", SERVED)
def test_a_command_that_calls_a_service_reads_a_file_with_a_mark(
    named: str, magistrate: Magistrate, tmp_path: Path
) -> None:
    content, arguments = SERVED[named]
    (tmp_path / "file").write_bytes(BOM_UTF8 + content.encode())

    result = magistrate(*(str(tmp_path / "file") if word == "FILE" else word for word in arguments.split()))

    assert result.exit_code in (0, 2) if named == "model plan" else result.exit_code == 0, result.output
    assert "cannot" not in result.output


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_file_of_a_setting_may_have_a_mark(setting: str, tmp_path: Path) -> None:
    content, read = SETTINGS[setting]
    (tmp_path / "plain").write_bytes(content.encode())
    (tmp_path / "marked").write_bytes(BOM_UTF8 + content.encode())
    for name in ("plain", "marked"):
        (tmp_path / name).chmod(0o600)

    assert read(str(tmp_path / "marked")) == read(str(tmp_path / "plain"))


READERS = {
    "api/auth/provider_keys.py": "jwt_keys, above",
    "api/http/pages.py": "files of the package",
    "api/http/metrics.py": "files of other workers",
    "api/processes/supervisor.py": "asks whether there is a terminal",
    "api/http/tls.py": "PEM, of which OpenSSL skips what is before it",
    "cli/administration/audit.py": "audit logs, which are hashed to the byte",
    "cli/administration/backups.py": "backups, which are hashed to the byte",
    "cli/checks/event_position.py": "a file that the command writes",
    "cli/commands.py": "opens standard input if the caller has closed it",
    "cli/checks/diff.py": "above",
    "cli/importing/foreign_files.py": "above",
    "cli/importing/foreign_import.py": "a temporary file",
    "cli/importing/command.py": "above",
    "cli/models/tests.py": "above",
    "cli/models/text.py": "above",
    "cli/models/policies.py": "above",
    "cli/models/object_types.py": "above",
    "cli/writes/write.py": "above",
    "commit.py": "a file of the package",
    "config/api_keys.py": "above",
    "engine/importers/texts.py": "no file, but a text that its caller has read",
    "engine/importers/whole_files.py": "likewise",
    "engine/lists/language.py": "files of the package",
    "operations/backups/backup_file.py": "backups, as above",
    "operations/importing/importer.py": "above",
    "store/migration.py": "files of the package",
    "store/scripts/key_encryption.py": "above",
    "wiring/server.py": "files of the kernel",
    "wiring/diagnosis.py": "PEM, as in tls.py",
    "wiring/rule_files.py": "forward_rules, above",
    "wiring/examples.py": "files of the package",
}
"""Says of each module that reads files which test above is about it, or why none is."""

READING = {"read_text", "read_bytes", "File", "stdin", "readline"}


def list_reading_modules() -> Iterator[str]:
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            is_open = isinstance(node, ast.Call) and any(
                isinstance(one, ast.Constant) and one.value == "rb" for one in node.args
            )
            if is_open or (isinstance(node, ast.Attribute) and node.attr in READING):
                yield str(path.relative_to(SRC))
                break


def test_every_module_that_reads_files_is_known_here() -> None:
    assert sorted(list_reading_modules()) == sorted(READERS)
