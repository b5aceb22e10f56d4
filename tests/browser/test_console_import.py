"""Imports from OpenFGA in the console: a model, then its relationships, then its tests, in an empty store."""

import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.console_pages import Console
from tests.browser.more_pages import TestsPage
from tests.running import Client, running_service, settings_for

pytestmark = pytest.mark.anyio
OPENFGA = """model
  schema 1.1

type user

type Doc
  relations
    define viewer: [user]
    define canRead: viewer
"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Client]:
    """A client of a service with an empty store."""
    with running_service(settings_for(f"sqlite:///{tmp_path}/m.db")) as url, Client(url) as client:
        client.clear()
        yield client


TUPLES = """- {user: "user:ann", relation: viewer, object: "Doc:plan"}
- {user: "user:bob", relation: viewer, object: "Doc:plan"}
"""


async def test_relationships_come_with_their_model_and_are_shown_before_they_are_written(
    console: Console, service: Client, tmp_path: Path
) -> None:
    page, dialog = console.page, console.dialog
    (tmp_path / "tuples.yaml").write_text(TUPLES)
    await console.start("model", open="import")
    await dialog.get_by_label("Or paste the model").fill(OPENFGA)
    await dialog.get_by_text("Relationships from another file").click()
    await dialog.get_by_label("File of relationships").set_input_files(tmp_path / "tuples.yaml")
    await expect(dialog.get_by_label("Or paste the relationships")).to_have_value(TUPLES)
    await dialog.get_by_role("button", name="Convert").click()

    start = page.get_by_role("button", name="Import 2 warrants")
    await expect(start).to_be_disabled()
    await page.get_by_role("button", name="Review and save").click()
    await dialog.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("The model was saved")).to_be_visible()
    assert service.get("/v2/warrants").json()["results"] == []
    await start.click()
    await expect(dialog.get_by_text("doc:plan#viewer@user:ann")).to_be_visible()
    await expect(dialog.locator(".access li").first).to_contain_text("gained")
    await dialog.get_by_role("button", name="Import").click()

    await expect(page.get_by_text("Imported: 2 were new")).to_be_visible()
    assert len(service.get("/v2/warrants").json()["results"]) == 2
    await page.get_by_role("button", name="Done", exact=True).click()
    await expect(start).to_have_count(0)
    assert console.troubles == []


STORE_FILE = f"""model: |
{textwrap.indent(OPENFGA, "  ")}
tuples:
{textwrap.indent(TUPLES, "  ")}
tests:
  - check:
      - {{user: "user:ann", object: "Doc:plan", assertions: {{canRead: true}}}}
"""


async def test_a_store_file_of_openfga_brings_its_tests(console: Console, service: Client) -> None:
    await console.start("model", open="import")
    await console.dialog.get_by_label("Or paste the model").fill(STORE_FILE)
    await console.dialog.get_by_role("button", name="Convert").click()
    await console.page.get_by_role("button", name="Review and save").click()
    await console.dialog.get_by_role("button", name="Save").click()
    await expect(console.page.get_by_text("The model was saved")).to_be_visible()

    await console.page.get_by_role("button", name="Open the tests").click()

    await TestsPage(console).expect_counts(1, 0)
    await console.show("Model")
    await console.page.get_by_role("button", name="Discard them").click()
    await expect(console.page.get_by_role("button", name="Import 2 warrants")).to_have_count(0)
    assert service.get("/v2/warrants").json()["results"] == []
