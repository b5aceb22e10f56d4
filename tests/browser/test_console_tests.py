"""The page Tests of the console: checks are pinned, run live, saved, and opened again in a playground."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.browser.console_pages import Console
from tests.browser.more_pages import TestsPage, run_file
from tests.cli.playgrounds import FILE, playground
from tests.running import Client

pytestmark = pytest.mark.anyio
MARKUP = "<img src=x onerror=window.ran=1>"


@pytest.fixture
async def console(page: Page, stored: Client) -> Console:
    return Console(page, str(stored.base_url).rstrip("/"))


async def test_pinned_checks_are_tests_wherever_they_are_run(console: Console, tmp_path: Path) -> None:
    tests = TestsPage(console)
    await console.start("why", subject="user:kim", relation="can-read", object="document:roadmap")
    await tests.pin(console.verdict)
    await console.explain("user:bob", "can-read", "document:roadmap")
    await expect(console.verdict).to_contain_text("Allowed")
    await tests.pin(console.verdict)
    await console.open("queries", q="select document where user:ann is *")
    await tests.pin(console.page.locator("tbody tr").first)

    await console.show("Tests")
    await tests.expect_counts(3, 0)
    await expect(tests.file).to_contain_text("document:roadmap#blocked@user:kim")
    saved = await tests.save("Download", tmp_path)

    assert "model: |" in saved.read_text()
    assert run_file(saved) == "3 passed, 0 failed"
    assert console.troubles == []


async def test_what_failed_is_shown_first_and_what_passed_is_folded(console: Console) -> None:
    tests = TestsPage(console)
    await console.start("tests")
    await tests.start_with_example()
    await tests.expect_counts(1, 0)
    file = await tests.read()
    line = next(line for line in file.splitlines() if "expect: false" in line)
    failing = line.replace("expect: false", "expect: true").replace("somebody else", "a wrong one")

    await tests.write(f"{file}{failing}\n")
    await tests.expect_counts(1, 1)

    await expect(tests.results.get_by_text("a wrong one")).to_be_visible()
    await expect(tests.results.get_by_text("somebody else")).to_be_hidden()
    await tests.results.get_by_text("What passed").click()
    await expect(tests.results.get_by_text("somebody else")).to_be_visible()


async def test_results_follow_each_edit_and_failures_have_reasons(console: Console) -> None:
    tests = TestsPage(console)
    await console.start("tests")
    await tests.start_with_example()
    await tests.expect_counts(1, 0)

    file = await tests.read()
    await tests.write(file.replace("expect: false", "expect: true").replace("somebody else", MARKUP))
    await tests.expect_counts(0, 1)
    await expect(tests.results).to_contain_text("expected allowed, is denied")
    await expect(tests.results).to_contain_text(MARKUP)
    await tests.results.get_by_text("Why it is denied").click()
    await expect(tests.results).to_contain_text("This would allow it")
    await tests.write("tests: [")
    await expect(tests.results.get_by_role("alert")).to_contain_text("not valid YAML")
    await console.page.reload()

    await expect(tests.file).to_have_text("tests: [")
    assert await console.page.evaluate("window.ran") is None
    await console.page.get_by_role("button", name="Sign out").click()
    assert await console.page.evaluate("sessionStorage.length") == 0
    assert console.troubles == []


FAULTS = {
    "setup:\n  warrants: []\ntests: [\n": (4, ""),
    "setup:\n  warrants:\n    - nonsense\n": (3, "- nonsense"),
    "setup: {}\ntests:\n  - {check: 'document:a#viewer@user:b', expect: true}\n  - {check: 1}\n": (4, "- {check: 1}"),
    "model: |\n  version 1.0\n  type user\n  typ document\n": (4, "typ"),
    "tests: []\ntest: []\n": (2, "test: []"),
}
"""Has the line of what is wrong with a file, and what is underlined there."""


@pytest.mark.parametrize(("file", "line", "marked"), [(file, *place) for file, place in FAULTS.items()])
async def test_a_mistake_in_the_file_is_shown_at_its_line(console: Console, file: str, line: int, marked: str) -> None:
    tests = TestsPage(console)
    await console.start("tests")
    await tests.start_with_example()
    await tests.write(file)

    await tests.results.get_by_role("button", name=f"Line {line}", exact=True).click()

    await expect(tests.file).to_be_focused()
    await expect(console.page.locator(".cm-gutterElement.bad")).to_have_text(str(line))
    await expect(console.page.locator(".cm-activeLineGutter")).to_have_text(str(line))
    if marked:
        await expect(console.page.locator(".fault-error").first).to_contain_text(marked)
    assert console.troubles == []


async def test_a_test_that_failed_is_marked_and_leads_to_its_line(console: Console) -> None:
    tests = TestsPage(console)
    await console.start("tests")
    await tests.start_with_example()
    checks = '{"document:a#viewer@user:b": false, "document:a#viewer@user:c": true}'
    await tests.write(f"tests:\n  - name: nobody views\n    checks: {checks}\n")
    await tests.expect_counts(1, 1)

    await tests.results.get_by_role("button", name="Line 2").click()

    await expect(console.page.locator(".cm-gutterElement.bad")).to_have_text("2")
    await expect(console.page.locator(".cm-activeLine")).to_have_text("  - name: nobody views")


async def test_the_keyboard_indents_completes_and_leaves_the_editor(console: Console) -> None:
    tests, keyboard = TestsPage(console), console.page.keyboard
    await console.start("tests")
    await tests.start_with_example()
    await tests.write("tests:\n- x")

    await keyboard.press("Tab")
    await expect(tests.file.locator(".cm-line").last).to_have_text("  - x")
    await keyboard.press("Shift+Tab")
    await expect(tests.file.locator(".cm-line").last).to_have_text("- x")
    await keyboard.press("Backspace")
    await keyboard.type('{check: "docum')
    await console.page.get_by_role("option", name="document").click()
    await expect(tests.file.locator(".cm-line").last).to_have_text('- {check: "document')
    assert "Escape" in str(await tests.file.get_attribute("aria-description"))
    await keyboard.press("Escape")
    await keyboard.press("Tab")
    await expect(tests.file).not_to_be_focused()

    await tests.file.focus()
    await keyboard.press("Escape")
    await keyboard.press("Shift+Tab")
    await expect(tests.file).not_to_be_focused()
    assert console.troubles == []


async def test_the_editor_stays_when_its_text_is_deleted(console: Console) -> None:
    tests = TestsPage(console)
    await console.start("tests")
    await tests.start_with_example()
    await tests.write("x")
    await console.page.keyboard.press("Backspace")

    await expect(tests.results).to_contain_text("There are no tests in the file yet")
    await console.page.keyboard.type("tests: []")
    await expect(tests.file).to_have_text("tests: []")


async def test_everything_is_shared_as_one_file(console: Console, stored: Client, tmp_path: Path) -> None:
    tests = TestsPage(console)
    await console.start("tests")
    saved = await tests.save("Download with all warrants", tmp_path)
    text = saved.read_text()

    assert "model: |" in text
    warrants = stored.get("/v2/warrants", params={"limit": 1000}).json()["results"]
    assert text.count("    - ") == len(warrants)
    assert run_file(saved) == "0 passed, 0 failed"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "shared.yaml").write_text(FILE)
    with playground(tmp_path, "shared.yaml") as (link, _):
        yield link


async def test_the_link_of_a_playground_signs_in_and_brings_the_tests(page: Page, opened: str) -> None:
    console = Console(page, opened.partition("/console")[0])
    tests = TestsPage(console)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))

    await page.goto(opened)
    await tests.expect_counts(1, 0)

    assert "#/tests" in page.url
    assert "key=" not in page.url + "".join(sent)
    assert "file=" not in page.url + "".join(sent)
    assert console.troubles == []


async def test_a_link_with_a_key_does_not_replace_the_key_of_who_is_signed_in(console: Console) -> None:
    await console.start("why")
    key = await console.page.evaluate("sessionStorage.getItem('magistrate.key')")

    await console.open("why", key="another-key")
    await expect(console.field("Subject")).to_be_visible()

    assert await console.page.evaluate("sessionStorage.getItem('magistrate.key')") == key
    assert "another-key" not in console.page.url
