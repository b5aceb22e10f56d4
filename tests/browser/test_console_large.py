"""The console with what is hard to show: long ids and paths, many types, narrow screens, and errors."""

from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.chromium import MAX_MILLISECONDS
from tests.browser.console_pages import Console
from tests.browser.console_places import PLACES, visit
from tests.browser.large_store import HOPS, LONG_ID, RIGHT_TO_LEFT_ID, load_large_store
from tests.running import Client, running_service, settings_for

pytestmark = pytest.mark.anyio
NARROW, WIDE = 390, 1280
HARD_PLACES: tuple[tuple[str, dict[str, str], str], ...] = (
    ("why", {"subject": f"user:{LONG_ID}", "relation": "can-read", "object": f"document:{LONG_ID}"}, ".suggestion"),
    ("why", {"subject": f"user:{RIGHT_TO_LEFT_ID}", "relation": "viewer", "object": "document:deep"}, ".verdict"),
    ("data", {"sort": "createdAt", "order": "DESC"}, "table"),
    ("data", {"show": "warrants", "order": "DESC"}, "table"),
    ("object", {"name": f"document:{LONG_ID}"}, ".matrix"),
    ("object", {"name": f"document:{RIGHT_TO_LEFT_ID}", "tab": "on"}, "table"),
    ("queries", {"q": f"select document where user:{LONG_ID} is *"}, "table"),
    ("history", {}, ".timeline li"),
    ("model", {}, ".drawn"),
)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("large")
    with running_service(settings_for(f"sqlite:///{folder}/m.db")) as url, Client(url) as client:
        load_large_store(client)
        yield url


@pytest.fixture
async def console(page: Page, large: str) -> Console:
    return Console(page, large)


async def right_of(shown: Locator) -> float:
    box = await shown.bounding_box()
    assert box is not None
    return box["x"] + box["width"]


@pytest.mark.parametrize("width", [NARROW, WIDE])
async def test_long_ids_are_wrapped_and_push_nothing_out(browser: Browser, large: str, width: int) -> None:
    async with await browser.new_context(viewport={"width": width, "height": 900}) as context:
        page = await context.new_page()
        page.set_default_timeout(MAX_MILLISECONDS)
        console = Console(page, large)
        await console.start()
        for name, parameters, selector in HARD_PLACES:
            await visit(console, name, parameters, selector)

            assert await page.evaluate("document.documentElement.scrollWidth") <= width, (name, parameters)
            for button in await page.locator("main button:visible").all():
                is_in_table = await button.evaluate("button => button.closest('.scrolled') !== null")
                if width == WIDE or not is_in_table:
                    assert await right_of(button) <= width, (name, await button.inner_text())
    assert console.troubles == []


async def test_narrow_tables_show_that_there_is_more_and_filters_are_folded(browser: Browser, large: str) -> None:
    async with await browser.new_context(viewport={"width": NARROW, "height": 900}) as context:
        console = Console(await context.new_page(), large)
        page = console.page
        await console.start("data", show="warrants")
        table, cue = page.get_by_role("region", name="Warrants"), page.locator(".scroller")

        await expect(cue).to_have_class("scroller more-after")
        await table.focus()
        await page.keyboard.press("End")
        await table.evaluate("table => table.scrollTo(table.scrollWidth, 0)")
        await expect(cue).to_have_class("scroller more-before")

        await expect(console.field("Subject")).to_be_hidden()
        await page.get_by_role("button", name="Filters").click()
        await console.field("Subject").fill("user:deep")
        await page.get_by_role("button", name="Filter", exact=True).click()
        await expect(console.row("folder:f0")).to_be_visible()


async def test_a_path_of_a_hundred_hops_is_folded(console: Console) -> None:
    await console.start("why", subject="user:deep", relation="viewer", object="document:deep")

    await expect(console.path.locator(".step")).to_have_count(8)
    await expect(console.path).to_contain_text(f"folder:f{HOPS - 2}")
    await console.page.get_by_role("button", name=f"Show {HOPS - 8} more steps").press("Enter")
    await expect(console.path.locator(".step")).to_have_count(HOPS)
    await expect(console.path).to_contain_text("folder:f50")
    await console.page.get_by_role("button", name="Hide").press("Enter")
    await expect(console.path.locator(".step")).to_have_count(8)


async def test_pages_have_one_width_and_their_buttons_one_edge(browser: Browser, large: str) -> None:
    async with await browser.new_context(viewport={"width": 2000, "height": 900}) as context:
        console = Console(await context.new_page(), large)
        await console.start()
        widths, edges = {}, {}
        for name, parameters, selector in (
            *HARD_PLACES,
            *(place for place in PLACES if place[0] in ("tests", "service")),
        ):
            await visit(console, name, parameters, selector)
            box = await console.page.locator("main > *").bounding_box()
            assert box is not None
            widths[name] = (box["x"], box["width"])
            actions = console.page.locator(".heading:has(h1) > .actions")
            if await actions.count():
                edges[name] = await right_of(actions)

    assert len({*widths.values()}) == 1, widths
    assert {*edges} >= {"data", "object", "tests"}
    assert len({*edges.values()}) == 1, edges


async def test_names_that_begin_with_what_is_typed_are_offered_first(console: Console) -> None:
    await console.start()
    options = console.page.get_by_role("option")
    field = console.field("Subject")

    await field.focus()
    await expect(field).to_have_attribute("aria-expanded", "false")
    await console.page.keyboard.type("user:de")
    await expect(options.first).to_have_text("user:deep")
    await field.fill("document:rep")
    await expect(options.first).to_have_text("document:report")
    await field.fill("kind-3")
    await expect(options.first).to_contain_text("kind-3:")


async def test_the_list_of_a_dialog_opens_when_something_is_typed(console: Console) -> None:
    await console.start("data")
    await console.page.get_by_role("button", name="New warrant").click()
    subject = console.dialog.get_by_role("combobox", name="Subject")

    await expect(subject).to_be_focused()
    await expect(subject).to_have_attribute("aria-expanded", "false")
    await console.page.keyboard.type("user:an")
    await expect(subject).to_have_attribute("aria-expanded", "true")
    await console.page.keyboard.press("Escape")
    await expect(subject).to_have_attribute("aria-expanded", "false")
    await expect(console.dialog).to_be_visible()


async def test_errors_keep_what_was_written_and_go_when_it_is_corrected(console: Console) -> None:
    alert = console.page.get_by_role("alert")
    await console.start("why", subject="eVe", relation="viewer", object="document:deep")
    await expect(alert).to_contain_text("Not a subject: eVe.")
    await expect(console.page.get_by_role("button", name="Try again")).to_have_count(0)
    await console.field("Subject").fill("user:eVe")
    await expect(alert).to_have_count(0)

    await console.open("queries", q="select document whree user:deep is viewer")
    await expect(alert.locator("pre")).to_have_text(
        "  | select document whree user:deep is viewer\n  | ................^", use_inner_text=True
    )
    await expect(console.page.get_by_role("button", name="Try again")).to_have_count(0)
    await console.field("Query").fill("select document where user:deep is viewer")
    await expect(alert).to_have_count(0)

    await console.open("data")
    await console.fill_warrant("deep", "viewer", "document:deep")
    await console.dialog.get_by_role("button", name="Create").click()
    await expect(alert).to_contain_text("The subject must be written type:id")
    await console.dialog.get_by_role("combobox", name="Subject").fill("user:deep")
    await expect(alert).to_have_count(0)


async def test_try_again_is_offered_where_it_can_help(console: Console) -> None:
    await console.start("service", show="sessions")
    await console.page.route("**/v2/objects?*", lambda route: route.abort())
    await console.show("Data")
    await expect(console.page.get_by_role("alert")).to_contain_text("The service did not answer")
    await console.page.unroute("**/v2/objects?*")

    await console.page.get_by_role("button", name="Try again").click()

    await expect(console.page.get_by_role("table")).to_be_visible()


async def test_times_are_read_easily_and_exact_on_hover(console: Console, large: str) -> None:
    with Client(large) as client:
        created = client.get("/v2/objects/document/deep").json()["createdAt"]
    await console.start("data", q="deep")
    time = console.row("document:deep").locator("time")

    await expect(time).to_have_attribute("title", created)
    assert created not in await time.inner_text()
    await console.open("service", show="metrics")
    await expect(console.page.get_by_role("term").filter(has_text="p50")).to_be_visible()
    await expect(console.page.get_by_role("term").filter(has_text="p99")).to_be_visible()
