"""`magistrate diff`: the table, proposals in files, what cannot be compared."""

import json

import pytest

from tests.cli.cases import Magistrate

TYPES = {"user": {}, "team": {"member": {}}, "page": {"owner": {}, "reader": {"inheritIf": "owner"}}}


@pytest.fixture
def written(magistrate: Magistrate) -> Magistrate:
    magistrate.done("types", "apply", "-", typed=json.dumps(TYPES))
    magistrate.done("warrants", "create", "page:home#owner@user:ann", "page:home#reader@team:eng#member")
    return magistrate


def test_a_table_says_what_was_gained_and_lost_and_why(written: Magistrate) -> None:
    shown = written.done("diff", "--create=team:eng#member@user:kim", "--delete=page:home#owner@user:ann")

    assert [line.split() for line in shown.splitlines()] == [
        ["CHANGE", "ACCESS", "CAUSE"],
        ["lost", "page:home#owner@user:ann", "-page:home#owner@user:ann"],
        ["lost", "page:home#reader@user:ann", "-page:home#owner@user:ann"],
        ["gained", "page:home#reader@user:kim", "+team:eng#member@user:kim"],
        ["gained", "team:eng#member@user:kim", "+team:eng#member@user:kim"],
    ]


def test_the_file_of_a_proposal_may_be_yaml_with_object_types(written: Magistrate) -> None:
    proposal = "create:\n  - page:home#owner@user:kim\nobjectTypes:\n  - {type: page, relations: {owner: {}}}\n"

    shown = written.done("diff", "--proposal", "-", "--of", "page#reader,page#owner@user", "--json", typed=proposal)

    rows = [(row["change"], row["relation"], row["subject"]["objectId"]) for row in json.loads(shown)["results"]]
    assert rows == [("gained", "owner", "kim"), ("lost", "reader", "ann")]


def test_without_a_difference_it_says_so(written: Magistrate) -> None:
    result = written("diff", "--create", "page:home#owner@user:ann")

    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "There are none\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say what to compare with"),
        (["--from", "1h", "--create", "page:home#owner@user:kim"], "leave out --from and --to"),
        (["--from", "yesterday"], "--from 'yesterday' is neither a time"),
        (["--from", "0s", "--to", "soon"], "--to 'soon' is neither a time"),
        (["--create", "page:home"], "create[0]:"),
        (["--delete", "page:home#owner@user:kim"], "not found"),
        (["--create", "page:home#owner@user:kim", "--of", "page#raeder@user"], "did you mean reader?"),
    ],
)
def test_what_cannot_be_compared_is_an_error(written: Magistrate, arguments: list[str], message: str) -> None:
    assert message in written.failed("diff", *arguments)
