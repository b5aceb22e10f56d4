"""`magistrate forward`: rules for gateways are tried and validated without a service."""

import json
from pathlib import Path

import jsonschema_rs
import pytest
import yaml
from click.testing import Result

from magistrate.cli.commands import main
from tests.cli.runner import CommandRunner

RULES = """\
version: 1
source: x-forwarded
identity:
  header: X-Auth-User
rules:
  - methods: [GET]
    path: /documents/{id}
    object: document:{id}
    relation: viewer
  - path: /public/{rest...}
    allow: anyone
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return str(path)


def run(*arguments: str) -> Result:
    return CommandRunner().invoke(main, ["forward", *arguments], prog_name="magistrate")


def test_each_request_is_shown_with_the_rule_that_decides(file: str) -> None:
    shown = run("test", file, "GET https://docs.example/documents/plan", "GET docs.example/public/../x")

    assert shown.exit_code == 0
    assert shown.output.splitlines() == [
        "GET docs.example/documents/plan: document:plan#viewer (rule 1, line 6)",
        "GET docs.example/public/../x: 403 (the path is ambiguous)",
    ]


def test_an_expected_result_that_differs_fails(file: str) -> None:
    passed = run("test", file, "GET h/documents/plan -> document:plan#viewer", "PUT h/documents/plan -> 403")
    failed = run("test", file, "GET h/public/x -> 403")

    assert (passed.exit_code, failed.exit_code) == (0, 1)
    assert failed.output == "FAILED, expected 403: GET h/public/x: anyone (rule 2, line 10)\n"


def test_a_file_is_validated_without_requests(file: str, tmp_path: Path) -> None:
    faulty = tmp_path / "faulty.yaml"
    faulty.write_text(RULES.replace("relation:", "relatio:"))

    valid, refused = run("test", file), run("test", str(faulty))

    assert (valid.exit_code, valid.output) == (0, f"{file}: 2 rules are valid\n")
    assert refused.exit_code == 2
    assert "faulty.yaml: line 6: rules[0]: Object contains unknown field `relatio`" in refused.stderr


@pytest.mark.parametrize("content", [b"\xff", b"x" * 1_048_577])
def test_a_file_that_cannot_be_read_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_bytes(content)

    assert run("test", str(tmp_path / "rules.yaml")).exit_code == 2


def test_a_request_that_is_none_is_refused(file: str) -> None:
    assert run("test", file, "/documents/plan").exit_code == 2


def test_the_schema_accepts_the_rules_and_refuses_others(file: str) -> None:
    schema = json.loads(run("schema").output)
    rules = yaml.safe_load(RULES)

    validator = jsonschema_rs.validator_for(schema)

    validator.validate(rules)
    with pytest.raises(jsonschema_rs.ValidationError):
        validator.validate(rules | {"source": "none"})
