"""The page Model of the console: the model is edited, drawn, reviewed and saved."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.async_api import Locator, expect

from tests.browser.console_pages import Console
from tests.browser.console_places import model_of
from tests.running import Client

pytestmark = pytest.mark.anyio
BLOCKED = "    relation blocked\n"
SVG = "{http://www.w3.org/2000/svg}"


async def test_a_mistake_in_the_model_is_shown_at_its_line(console: Console, service: Client) -> None:
    await console.start("model")
    await expect(console.page.get_by_text("Valid", exact=True)).to_be_visible()
    text = model_of(service)
    line = text.splitlines().index("type group") + 1

    await console.write_model(text.replace("type group", "typ group"))

    await expect(console.page.get_by_text("Not valid")).to_be_visible()
    await console.page.get_by_role("button", name=f"Line {line},").click()
    await expect(console.page.locator(".cm-gutterElement.bad")).to_contain_text(str(line))
    await expect(console.page.locator(".fault-error")).to_have_text("typ")
    await expect(console.page.get_by_role("button", name="Review and save")).to_be_disabled()


async def test_the_graph_follows_the_cursor_and_leads_to_lines(console: Console) -> None:
    await console.start("model", of="document#can-read")
    chosen = console.page.locator(".graph .chosen")
    await expect(chosen).to_contain_text("can-read")
    assert {"viewer", "blocked"} <= {*await console.page.locator(".graph .needed text").all_text_contents()}

    await console.editor.press("Control+Home")
    await expect(chosen).to_have_count(0)
    await console.page.locator(".graph .row").filter(has_text="can-share").click()

    await expect(chosen).to_contain_text("can-share")
    await expect(console.page.locator(".cm-activeLine")).to_contain_text("relation can-share")


OPENFGA = """model
  schema 1.1

type user

type Doc
  relations
    define viewer: [user]
    define canRead: viewr
"""


async def test_a_model_of_openfga_is_imported(console: Console, service: Client, tmp_path: Path) -> None:
    page = console.page
    before = service.get("/v2/model").json()
    await console.start("model", open="import")
    await expect(console.dialog.get_by_role("heading", name="Import a model")).to_be_visible()
    await console.dialog.get_by_label("Or paste the model").fill(OPENFGA)
    await console.dialog.get_by_role("button", name="Convert").click()
    await expect(console.dialog.get_by_role("alert")).to_contain_text("viewr")

    (tmp_path / "model.fga").write_text(OPENFGA.replace("viewr", "viewer"))
    await console.dialog.get_by_label("File", exact=True).set_input_files(tmp_path / "model.fga")
    await expect(console.dialog.get_by_label("Or paste the model")).to_have_value(re.compile("canRead: viewer"))
    await console.dialog.get_by_role("button", name="Convert").click()

    await expect(console.dialog).to_have_count(0)
    await expect(page.get_by_text("Doc becomes doc")).to_be_visible()
    await expect(console.editor).to_contain_text("type doc")
    await expect(page.get_by_text("Valid", exact=True)).to_be_visible()
    await expect(page.get_by_role("button", name="Review and save")).to_be_enabled()
    assert service.get("/v2/model").json() == before
    assert "open=" not in page.url


MANY_TYPES = "version 1.0\n\ntype user\n" + "".join(
    f"\ntype t{number}\n    relation parent [{f't{number // 3}' if number else 'user'}]\n    relation viewer [user]\n"
    for number in range(40)
)


async def test_a_large_graph_can_be_read_searched_and_saved(console: Console, tmp_path: Path) -> None:
    page = console.page
    await page.set_viewport_size({"width": 1400, "height": 900})
    await console.start("model")
    await console.write_model(MANY_TYPES)
    names = page.locator(".graph .type-name")
    await expect(names).to_have_count(41)
    await expect(page.get_by_text("All 41 types together would be too small to read")).to_be_visible()

    assert await smallest_text(console) >= 10
    await console.field("Find").fill("t39")
    await page.get_by_role("option", name="t39#viewer").click()
    await expect(page.locator(".graph .chosen")).to_have_text(re.compile("viewer"))
    assert await is_within(page.locator(".graph .chosen"), page.locator(".graph"))
    await page.get_by_label("Show").select_option("t13")
    await expect(names).to_have_text(["user", "t4", "t13", "t39"])
    await page.get_by_role("button", name="Types only").click()
    await expect(page.locator(".graph .row")).to_have_count(0)
    assert await smallest_text(console) >= 10
    async with page.expect_download() as saving:
        await page.get_by_role("button", name="Save SVG").click()
    await (await saving.value).save_as(tmp_path / "model.svg")

    texts = [one.text for one in ElementTree.parse(tmp_path / "model.svg").iter(SVG + "text")]
    assert texts == ["user", "t4", "t13", "t39"]


async def test_the_graph_is_moved_by_keys_wheel_and_pointer(console: Console) -> None:
    page = console.page
    await page.set_viewport_size({"width": 1400, "height": 1100})
    await console.start("model")
    box = page.locator(".graph .frame").first
    await expect(box).to_be_visible()
    graph = page.get_by_role("group", name="Types and relations")
    widths = [await width_of(box)]

    await graph.focus()
    await page.keyboard.press("+")
    widths.append(await width_of(box))
    await graph.hover()
    await page.keyboard.down("Control")
    await page.mouse.wheel(0, -200)
    await page.keyboard.up("Control")
    await expect(page.locator(".minimap")).to_be_visible()
    widths.append(await width_of(box))
    left = (await box.bounding_box() or {"x": 0})["x"]
    await page.keyboard.press("ArrowRight")
    assert (await box.bounding_box() or {"x": 0})["x"] < left
    await page.keyboard.press("0")

    assert widths == sorted({*widths})
    await expect(page.locator(".minimap")).to_have_count(0)
    assert await width_of(box) == pytest.approx(widths[0])


async def is_within(inner: Locator, outer: Locator) -> bool:
    one, other = await inner.bounding_box(), await outer.bounding_box()
    return bool(
        one
        and other
        and other["x"] <= one["x"]
        and one["x"] + one["width"] <= other["x"] + other["width"]
        and other["y"] <= one["y"]
        and one["y"] + one["height"] <= other["y"] + other["height"]
    )


async def width_of(box: Locator) -> float:
    return (await box.bounding_box() or {"width": 0})["width"]


async def smallest_text(console: Console) -> float:
    """The size of the names in the graph as they are drawn, in pixels."""
    size: float = await console.page.evaluate(
        "Math.min(...[...document.querySelectorAll('.graph text')].map("
        "(one) => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a))"
    )
    return size


async def test_the_model_is_completed_and_formatted(console: Console) -> None:
    await console.start("model")
    await console.write_model("version 1.0\ntype user\ntype team // of people\n  relation ")
    await console.page.keyboard.type("member [us")

    await console.page.get_by_role("option", name="user:*").click()
    await console.page.keyboard.type("]")
    await console.page.get_by_role("button", name="Format").click()

    lines = console.page.locator(".cm-line")
    wanted = ["version 1.0", "", "type user", "", "type team // of people", "    relation member [user:*]", ""]
    await expect(lines).to_have_text(wanted, use_inner_text=False)
    await console.page.get_by_role("button", name="Back to the stored model").click()
    await expect(console.page.get_by_role("button", name="Back to the stored model")).to_have_count(0)


async def test_the_actions_of_authzen_are_shown_and_completed(console: Console, service: Client) -> None:
    text = model_of(service)  # the type comes first, in view
    tool = 'type api-tool\n    relation can-call [user]\n    action "tools/call" is can-call\n'
    given = text.replace("version 1.0\n", f"version 1.0\n\n{tool}", 1)
    service.put("/v2/model", content=given, headers={"Content-Type": "text/plain"}).raise_for_status()

    await console.start("model")
    lines = console.page.locator(".cm-line")
    await expect(lines.filter(has_text='action "tools/call" is can-call')).to_have_count(1)
    await expect(console.page.get_by_text("Valid", exact=True)).to_be_visible()

    await console.write_model(
        'version 1.0\ntype user\ntype tool\n  relation can-call [user]\n  action "tools/call" is '
    )
    await console.page.keyboard.type("can")
    await console.page.get_by_role("option", name="can-call").click()
    await expect(lines.last).to_have_text('  action "tools/call" is can-call', use_inner_text=False)
    await expect(console.page.get_by_text("Valid", exact=True)).to_be_visible()


FOLLOW_BUTTON = """button => {
    window.changes = [];
    new MutationObserver(() => window.changes.push(button.disabled)).observe(button, {attributeFilter: ["disabled"]});
}"""


async def test_a_change_can_be_saved_once_it_is_validated_and_not_before(console: Console, service: Client) -> None:
    page, text = console.page, model_of(service)
    await console.start("model")
    await console.editor.wait_for()
    button = page.get_by_role("button", name="Review and save")
    await button.evaluate(FOLLOW_BUTTON)

    await console.write_model(text.replace(BLOCKED, "    relation blocked [user]\n", 1))

    await expect(button).to_be_enabled()
    await page.wait_for_timeout(500)  # longer than the pause before a text is validated
    assert await page.evaluate("window.changes") == [False]


async def test_warrants_that_a_model_does_not_allow_are_kept_only_if_that_is_chosen(
    console: Console, service: Client
) -> None:
    page, text = console.page, model_of(service)
    service.grant("document:roadmap#blocked@user:kim")
    await console.start("model")
    await console.write_model(text.replace(BLOCKED, "    relation blocked [group#member]\n", 1))

    await page.get_by_role("button", name="Review and save").click()
    await expect(console.dialog).to_contain_text("1 warrant is not allowed by this model")
    await expect(console.dialog.locator(".notice code")).to_have_text("document:roadmap#blocked@user:kim")
    await expect(console.dialog.locator(".access")).to_contain_text("can-read")
    await expect(console.dialog.get_by_role("button", name="Save")).to_be_disabled()
    await console.dialog.get_by_label("Keep them without effect").check()
    await console.dialog.get_by_role("button", name="Save").click()

    await expect(page.get_by_text("The model was saved.")).to_be_visible()
    assert "relation blocked [group#member]" in model_of(service)
    service.put("/v2/model", content=text).raise_for_status()


async def test_a_model_that_somebody_else_changed_is_not_overwritten_unseen(console: Console, service: Client) -> None:
    page, text = console.page, model_of(service)
    await console.start("model")
    await console.write_model(f"{text}\ntype mine // of my own\n")
    save = page.get_by_role("button", name="Review and save")
    await expect(save).to_be_enabled()
    await save.click()
    await expect(console.dialog.locator(".added").filter(has_text="type mine")).to_be_visible()
    await expect(console.dialog).to_contain_text("Comments (//) are not stored")

    service.put("/v2/model", content=f"{text}\ntype theirs\n").raise_for_status()
    await console.dialog.get_by_role("button", name="Save").click()

    await expect(console.dialog.get_by_role("alert")).to_contain_text("Somebody else has just changed the model")
    await expect(console.dialog.get_by_text("Somebody else has changed the model since you opened it")).to_be_visible()
    await expect(console.dialog.locator(".removed").filter(has_text="type theirs")).to_be_visible()
    await console.dialog.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("The model was saved.")).to_be_visible()
    assert "type mine" in model_of(service)
    assert "type theirs" not in model_of(service)
    service.put("/v2/model", content=text).raise_for_status()


async def test_what_was_written_stays_while_other_pages_are_open(console: Console) -> None:
    await console.start("model")
    await console.write_model("version 1.0\n\ntype draft\n")
    await expect(console.page.locator(".type-name")).to_have_text(["draft"])

    await console.show("Data")
    await console.show("Model")

    await expect(console.page.locator(".type-name")).to_have_text(["draft"])
