"""`magistrate model plan` and `apply`: what a model would change is shown before it is written."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.cases import Magistrate
from tests.conftest import new_database_url
from tests.running import Client, running_service, settings_for

TEXT = """\
version 1.0

type document
    relation editor [user]

    relation viewer [user, user:*]
    inherit viewer if
        relation editor

type user
"""
WIDER = TEXT.replace(
    "        relation editor\n", "        any_of\n            relation editor\n            policy open\n"
).replace("type user\n", "type user\n\npolicy open(level integer) {\n    level < 2\n}\n")
NARROWER = """\
version 1.0

type document
    relation editor [user]
    relation viewer [user:*]

type user
"""


@pytest.fixture(params=["sqlite", "postgres"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Client]:
    with (
        running_service(settings_for(new_database_url(request.param, tmp_path, request))) as url,
        Client(url) as client,
    ):
        client.put("/v2/model", content=TEXT).raise_for_status()
        client.grant("document:a#editor@user:ann", "document:a#viewer@user:bob", "document:b#editor@user:ann")
        yield client


@pytest.fixture
def magistrate(client: Client) -> Magistrate:
    return Magistrate(str(client.base_url))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.txt"


def read_model(client: Client) -> str:
    return client.get("/v2/model", headers={"Accept": "text/plain"}).text


def test_a_plan_shows_text_stranded_warrants_and_access(magistrate: Magistrate, client: Client, file: Path) -> None:
    file.write_text(NARROWER)

    planned = magistrate("model", "plan", str(file))

    token = client.get("/v2/model").headers["Service-Token"]
    assert (planned.exit_code, planned.stderr) == (2, "")
    assert (
        planned.stdout
        == f"""\
changed  type document

@@ -3,8 +3,5 @@
 type document
     relation editor [user]
-
-    relation viewer [user, user:*]
-    inherit viewer if
-        relation editor
+    relation viewer [user:*]
{" "}
 type user

These warrants are not allowed any more; the model is refused:
  document:a#viewer@user:bob

Access that changes:
CHANGE  ACCESS                      CAUSE
lost    document:a#viewer@user:ann  type document
lost    document:a#viewer@user:bob  type document
lost    document:b#viewer@user:ann  type document

planned at {token}
"""
    )
    assert read_model(client) == TEXT


def test_a_plan_without_changes_says_so(magistrate: Magistrate, file: Path) -> None:
    file.write_text(TEXT.replace("version 1.0", "version 1.0 // as it is"))

    assert magistrate.done("model", "plan", str(file)) == "nothing changes\n"
    assert magistrate.done("model", "apply", str(file)) == "nothing changes\n"


def test_a_policy_that_a_model_adds_makes_access_conditional(
    magistrate: Magistrate, client: Client, file: Path
) -> None:
    file.write_text(WIDER)

    planned = magistrate("model", "plan", str(file), "--of", "document#viewer@user", "--json")

    answer = json.loads(planned.stdout)
    assert planned.exit_code == 2
    assert answer["objectTypes"] == {"created": [], "changed": ["document"], "deleted": []}
    assert answer["policies"] == {"created": ["open"], "changed": [], "deleted": []}
    assert answer["stranded"] == []
    assert {one["change"] for one in answer["access"]["results"]} == {"gained"}
    assert all(one["conditional"] for one in answer["access"]["results"])


def test_a_model_is_applied_after_it_was_confirmed(magistrate: Magistrate, client: Client, file: Path) -> None:
    file.write_text(WIDER)

    declined = magistrate("model", "apply", str(file), typed="n\n")
    unchanged = read_model(client)
    applied = magistrate("model", "apply", str(file), typed="y\n")

    assert (declined.exit_code, unchanged) == (1, TEXT)
    assert "Apply this?" in declined.stderr
    assert applied.exit_code == 0
    assert applied.stdout.startswith("changed  type document\ncreated  policy open\n")
    assert applied.stdout.endswith("\napplied\n")
    assert read_model(client) == WIDER


def test_a_model_that_strands_warrants_is_refused_unless_they_are_kept(
    magistrate: Magistrate, client: Client, file: Path
) -> None:
    file.write_text(NARROWER)

    refused = magistrate("model", "apply", "--yes", str(file))
    kept = magistrate("model", "apply", "--yes", "--keep-existing", str(file))

    assert refused.exit_code == 1
    assert "document:a#viewer@user:bob" in refused.stderr
    assert kept.exit_code == 0
    assert "will have no effect any more" in kept.stdout
    assert read_model(client) == NARROWER


def test_a_large_model_is_planned_and_applied_and_access_is_compared_unless_something_is_deleted(
    magistrate: Magistrate, client: Client, file: Path
) -> None:
    others = "".join(f"type other-{number:03}\n" for number in range(100))
    file.write_text(TEXT + others)
    client.put("/v2/model", content=TEXT + others + "type unused\n").raise_for_status()

    deleted = magistrate("model", "plan", str(file))
    applied = magistrate("model", "apply", "--yes", str(file))
    file.write_text(NARROWER.replace("relation viewer [user:*]", "relation viewer []") + others)
    changed = magistrate("model", "plan", "--keep-existing", str(file))

    assert (deleted.exit_code, deleted.stderr) == (2, "")
    assert "deleted  type unused" in deleted.stdout
    assert "it is not known: something is deleted, and more than 100 types or policies stay" in deleted.stdout
    assert applied.exit_code == 0
    assert client.get("/v2/object-types/unused").status_code == 404
    assert changed.exit_code == 2
    assert "lost    document:a#viewer@user:ann" in changed.stdout


def test_a_model_is_applied_only_if_it_is_still_that_of_the_expected_plan(
    magistrate: Magistrate, client: Client, file: Path
) -> None:
    file.write_text(WIDER)
    token = json.loads(magistrate("model", "plan", "--json", str(file)).stdout)["token"]
    client.put("/v2/policies", json=[{"name": "other", "expression": "true"}]).raise_for_status()

    refused = magistrate("model", "apply", "--yes", "--expected-revision", token, str(file))

    assert refused.exit_code == 1
    assert "the model has changed since that token" in refused.stderr
    assert read_model(client) != WIDER
    token = json.loads(magistrate("model", "plan", "--json", str(file)).stdout)["token"]
    client.grant("document:a#editor@user:eve")
    assert magistrate("model", "apply", "--yes", "--expected-revision", token, str(file)).exit_code == 0
    assert read_model(client) == WIDER


NEGATION_LOOP = """\
version 1.0

type user

type doc
    relation a [user]
    relation b [user]
    inherit a if
        none_of
            relation b
    inherit b if
        relation a
"""
BAD_EXPRESSION = """\
version 1.0

type user

policy open(level integer) {
    level >
}

policy closed(level integer) {
    levl > 2
}
"""


@pytest.mark.parametrize("command", [["plan"], ["apply", "--yes"]])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (NEGATION_LOOP, ["model.txt:8:13: error negation_loop: a relation depends on its own negation: doc#a"]),
        (
            BAD_EXPRESSION,
            [
                "model.txt:6:11: error invalid_expression: ",
                "model.txt:10:5: error invalid_expression: levl is not a parameter of policy closed; did you mean",
            ],
        ),
    ],
)
def test_what_has_no_meaning_is_reported_where_it_is_written(
    command: list[str], text: str, told: list[str], magistrate: Magistrate, client: Client, file: Path
) -> None:
    file.write_text(text)

    refused = magistrate("model", *command, str(file))
    linted = magistrate("model", "lint", str(file))

    assert (refused.exit_code, refused.stdout) == (1, "")
    for expected in told:
        assert f"{file.parent}/{expected}" in refused.stderr
        assert f"{file.parent}/{expected}" in linted.stdout
    assert read_model(client) == TEXT


def test_names_that_do_not_exist_are_accepted_with_a_warning(
    magistrate: Magistrate, client: Client, file: Path
) -> None:
    file.write_text(TEXT.replace("        relation editor\n", "        relation owner\n"))

    planned = magistrate("model", "plan", str(file))
    applied = magistrate("model", "apply", "--yes", str(file))

    assert (planned.exit_code, applied.exit_code) == (2, 0)
    assert planned.stderr == applied.stderr == "Warning: document#viewer: relation owner is not defined on document\n"
    assert "relation owner" in read_model(client)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_reader_that_has_seen_enough_does_not_stop_a_plan_or_an_apply(
    options: list[str], client: Client, file: Path
) -> None:
    file.write_text(WIDER)
    magistrate = Magistrate(str(client.base_url))

    commands = (["plan"], ["apply", "--yes"], ["plan"], ["apply"])
    ran = [magistrate.run_unread("model", *command, str(file), *options) for command in commands]

    assert ran == [(2, b""), (0, b""), (0, b""), (0, b"")]
    assert read_model(client) == WIDER


@pytest.mark.parametrize("command", ["plan", "apply"])
@pytest.mark.parametrize("arguments", [["missing.txt"], [], ["--banana"], ["-", "--yes"]])
def test_every_failure_has_the_exit_code_1(command: str, arguments: list[str]) -> None:
    nobody = Magistrate("http://127.0.0.1:9")

    result = nobody("model", command, *arguments, typed="version 1.0\ntype User\n")

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr


def test_nobody_can_be_asked_about_a_model_from_standard_input(magistrate: Magistrate, client: Client) -> None:
    refused = magistrate("model", "apply", "-", typed=WIDER)

    assert refused.exit_code == 1
    assert "add --yes" in refused.stderr
    assert read_model(client) == TEXT


def test_a_service_that_is_away_is_an_error_and_no_change(file: Path) -> None:
    file.write_text(TEXT)

    result = Magistrate("http://127.0.0.1:9")("model", "plan", str(file))

    assert (result.exit_code, result.stdout) == (1, "")
    assert "no service at" in result.stderr
