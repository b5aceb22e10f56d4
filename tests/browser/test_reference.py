"""The API reference in a browser: what people look up and try, with scripts and without."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.accessibility import inspecting
from tests.browser.chromium import MAX_MILLISECONDS
from tests.browser.console_pages import Console
from tests.running import KEY, Client

pytestmark = pytest.mark.anyio

CHECK, LIST = "post_check", "get_objects"


@pytest.fixture
async def opened(page: Page, service: Client) -> AsyncIterator[Console]:
    """A page of the service; the browser may refuse nothing, and nothing may come from elsewhere."""
    opened = Console(page, str(service.base_url).rstrip("/"))
    yield opened
    assert opened.troubles == []


async def open_reference(opened: Console, operation: str = "") -> None:
    await opened.page.goto("about:blank")
    await opened.page.goto(f"{opened.url}/docs#{operation}")
    await expect(opened.page.get_by_label("Search requests")).to_be_visible()


async def test_a_request_is_found_and_tried_with_the_key_of_the_console(opened: Console) -> None:
    page = opened.page
    await opened.start()
    await open_reference(opened)
    await expect(page.get_by_text("Requests are sent with the key of this tab.")).to_be_visible()

    await page.get_by_label("Search requests").fill("check subjects /v2/")
    await page.get_by_role("link", name="POST /v2/check").click()
    await page.get_by_role("button", name="Send").click()

    answer = page.get_by_label("Answer", exact=True)
    await expect(answer).to_contain_text('"result": "Authorized"')
    await page.get_by_role("textbox", name="Body").fill("{}")
    await page.get_by_role("button", name="Send").click()
    await expect(answer).to_contain_text("must be greater than or equal to 1")
    await expect(page.get_by_label("curl, v2/check")).to_contain_text(f"curl -X POST '{opened.url}/v2/check'")
    await page.get_by_label("Language").select_option("JavaScript")
    await expect(page.get_by_label("JavaScript, v2/check")).to_contain_text("await fetch(")
    assert KEY not in await page.content()


async def test_a_key_is_taken_checked_and_forgotten(opened: Console) -> None:
    page = opened.page
    await open_reference(opened, LIST)

    await expect(page.get_by_role("button", name="Send")).to_be_disabled()
    await page.get_by_label("API key, to try requests").fill("not-a-key-of-this-service")
    await page.get_by_role("button", name="Use the key").click()
    await expect(page.get_by_role("alert")).to_contain_text("Invalid API key")
    await page.get_by_label("API key, to try requests").fill(KEY)
    await page.get_by_role("button", name="Use the key").click()
    await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_label("Answer", exact=True)).to_contain_text('"objectType": "document"')
    await page.get_by_role("button", name="Discard the key").click()

    await expect(page.get_by_role("button", name="Send")).to_be_disabled()


async def test_a_key_for_checks_alone_is_enough_to_try_them(opened: Console, service: Client) -> None:
    page = opened.page
    made = service.post("/v2/keys", json={"name": "checks", "scopes": ["check"]}).json()
    await open_reference(opened, CHECK)

    await page.get_by_label("API key, to try requests").fill(made["key"])
    await page.get_by_role("button", name="Use the key").click()
    await page.get_by_role("button", name="Send").click()

    await expect(page.get_by_label("Answer", exact=True)).to_contain_text('"result": "Authorized"')


async def test_schemas_are_shown_in_place(opened: Console) -> None:
    await open_reference(opened, CHECK)

    body = opened.page.get_by_role("region", name="Body")

    for member in ("warrants", "objectType", "subject", "objectId", "contextualWarrants"):
        await expect(body.get_by_text(member, exact=True).first).to_be_visible()
    assert "$ref" not in await opened.page.locator("main").inner_text()


async def test_every_request_has_a_page(opened: Console, service: Client) -> None:
    document = service.get("/openapi.json").json()
    await open_reference(opened)

    for methods in document["paths"].values():
        for operation in methods.values():
            await opened.page.evaluate("id => { location.hash = id }", operation["operationId"])
            await expect(opened.page.get_by_role("heading", level=1)).to_have_text(operation["summary"])


async def test_without_scripts_the_plain_page_is_shown(browser: Browser, service: Client) -> None:
    async with await browser.new_context(java_script_enabled=False) as context:
        page = await context.new_page()
        page.set_default_timeout(MAX_MILLISECONDS)
        await page.goto(f"{str(service.base_url).rstrip('/')}/docs#{CHECK}")

        await expect(page.locator(f"#{CHECK}")).to_be_visible()
        await expect(page.locator(f"#{CHECK}")).to_contain_text("/v2/check")


@pytest.mark.nightly
async def test_axe_finds_nothing_serious_in_the_reference(tools: Path, browser: Browser, service: Client) -> None:
    async with inspecting(browser, tools, str(service.base_url).rstrip("/")) as inspection:
        await inspection.console.start()
        for operation in ("", CHECK, LIST, "put_model"):
            await open_reference(inspection.console, operation)
            await inspection.look(operation)

    assert inspection.serious == []


@pytest.mark.parametrize("width", [375, 1280])
async def test_the_reference_is_not_wider_than_the_screen(browser: Browser, service: Client, width: int) -> None:
    async with await browser.new_context(viewport={"width": width, "height": 900}) as context:
        page = await context.new_page()
        page.set_default_timeout(MAX_MILLISECONDS)
        for operation in ("", CHECK, LIST):
            await open_reference(Console(page, str(service.base_url).rstrip("/")), operation)
            assert await page.evaluate("document.documentElement.scrollWidth") <= width
