"""docs/migrating.md says what is true: what it promises that we answer is what we answer, on both stores."""

import re

from magistrate.cli.importing.command import MAX_NAMED_ROWS, MAX_SAMPLE_SIZE
from magistrate.cli.importing.warrant_migration import NAMED_ROWS, SAMPLE_SIZE
from magistrate.config.settings import read_settings
from magistrate.operations.importing import comparison as comparing
from tests.migration_examples import DOCUMENT, answer_of, sections
from tests.running import Client


def test_every_difference_has_an_example_with_both_answers() -> None:
    shown = sections()

    assert len(shown) >= 20
    for section in shown:
        pairs = [step.answers for step in section.steps if step.answers]
        assert pairs, section.title
        for answers in pairs:
            assert set(answers) == {"Warrant", "Magistrate"}, section.title
        assert any(answers["Warrant"] != answers["Magistrate"] for answers in pairs), section.title


def test_we_answer_as_the_examples_say(client: Client) -> None:
    seen: dict[str, str] = {}

    for section in sections():
        for step in section.steps:
            answered = answer_of(client, step, seen)
            promised = step.answers.get("Magistrate", "200")
            real = answered if " " in promised else answered.partition(" ")[0]
            assert real == promised, f"{section.title}: {step.request}"


def test_reasons_and_defaults_that_the_page_shows_are_those_of_the_command() -> None:
    for reason in (comparing.UNANSWERED, comparing.BARE_SUBJECT, comparing.EXPIRES):
        assert reason in DOCUMENT
    for difference in (comparing.MISSING_HERE, comparing.MISSING_THERE, comparing.DEFINED_OTHERWISE):
        assert difference in DOCUMENT
    for difference in (comparing.OTHER_META, comparing.OTHER_AGE):
        assert f"`{difference}`" in DOCUMENT
    assert f"the first {NAMED_ROWS} of each kind" in DOCUMENT
    assert NAMED_ROWS == comparing.NAMED_ROWS < MAX_NAMED_ROWS
    assert f"(`--sample`, {SAMPLE_SIZE} by default)" in DOCUMENT
    assert SAMPLE_SIZE < MAX_SAMPLE_SIZE
    assert read_settings({}, {}).port == int(re.findall(r"listen on port (\d+)", DOCUMENT)[0])


def test_examples_with_arrays_are_about_arrays() -> None:
    """The source server refuses arrays, so no other example can begin with one."""
    for section in sections():
        for step in section.steps:
            if re.match(r"POST \S+ \[", step.request):
                assert step.answers["Warrant"].startswith("400"), section.title
