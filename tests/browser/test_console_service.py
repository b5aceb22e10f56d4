"""The page Service of the console, imports of files, and contexts that are tried."""

import json
import re
from pathlib import Path

import pytest
from playwright.async_api import Page, Route, expect

from tests.browser.console_pages import Console
from tests.browser.console_places import STRANGE_ID
from tests.browser.more_pages import KeysPage
from tests.issuing import issue_key, wait_for_key
from tests.running import Client

pytestmark = pytest.mark.anyio


@pytest.fixture
async def console(page: Page, stored: Client) -> Console:
    return Console(page, str(stored.base_url).rstrip("/"))


async def test_an_export_of_keys_has_all_pages(console: Console, stored: Client, tmp_path: Path) -> None:
    issued = [stored.post("/v2/keys", json={"name": f"many-{number}", "scopes": ["check"]}) for number in range(51)]
    await console.start("service")
    await expect(console.page.get_by_role("button", name="Next")).to_be_visible()

    await console.save_csv("Keys", tmp_path / "keys.csv")

    lines = (tmp_path / "keys.csv").read_text().splitlines()
    assert lines[0] == "name,prefix,scopes,types,created,creator,used,expires"
    assert sum(line.startswith("many-") for line in lines) == len(issued)
    for key in issued:
        stored.delete(f"/v2/keys/{key.json()['id']}").raise_for_status()


async def test_keys_are_created_replaced_and_revoked(console: Console, stored: Client) -> None:
    keys = KeysPage(console)
    await console.start("service")

    secret = await keys.create("billing", "read", "query")
    wait_for_key(stored, secret)
    with Client(str(stored.base_url), secret) as billing:
        assert billing.get("/v2/warrants").status_code == 200
        assert billing.post("/v2/writes", json={}).status_code == 403
    await expect(console.row("billing")).to_contain_text("check, query, read")
    await keys.act("billing", "Rotate", "Rotate")
    await expect(console.page.locator(".secret")).not_to_have_text(secret)
    await console.page.get_by_role("button", name="I have stored it").click()
    await expect(console.page.locator(".secret")).to_have_count(0)
    await keys.act("billing", "Revoke", "Revoke")

    await expect(console.page.get_by_text("Revoked the key billing.")).to_be_visible()
    assert "billing" not in [row["name"] for row in stored.get("/v2/keys").json()["results"]]
    assert secret not in await console.page.evaluate("document.documentElement.outerHTML + location.href")
    assert console.troubles == []


async def test_a_session_checks_what_its_user_may_do(console: Console, stored: Client) -> None:
    await console.start("service", show="sessions")

    await console.page.get_by_label("User").fill("bob")
    await console.page.get_by_role("button", name="Create").click()

    token = await console.page.locator(".secret").inner_text()
    check = {"objectType": "document", "objectId": "roadmap", "relation": "can-read"}
    headers = {"Authorization": f"Bearer {token}"}
    warrants = [check | {"subject": {"objectType": "user", "objectId": "bob"}}]
    assert stored.post("/v2/check", json={"warrants": warrants}, headers=headers).json()["result"] == "Authorized"
    assert console.troubles == []


async def test_the_first_reading_of_metrics_is_shown_at_once(console: Console) -> None:
    await console.start("data")
    asked = 0

    async def answer_once(route: Route) -> None:
        nonlocal asked
        asked += 1
        if asked == 1:  # the second one is never answered
            await route.continue_()

    await console.page.route("**/metrics", answer_once)
    await console.open("service", show="metrics")

    await expect(console.row("GET /v2/object-types").first).to_be_visible()
    await expect(console.page.get_by_text("Since the service was started")).to_be_visible()


async def test_metrics_are_shown_as_they_change(console: Console) -> None:
    await console.start("service", show="metrics")

    await expect(console.page.locator(".figure").first).to_contain_text("Requests a second")
    await expect(console.page.locator(".figure").first).to_contain_text("in all")
    await expect(console.page.get_by_text("Every two seconds")).to_be_visible()
    # Which fifty are the busiest depends on the tests before: all services of a process share their counters.
    busiest = console.page.get_by_role("region", name="Routes").get_by_role("row").nth(1)
    await expect(busiest).to_contain_text(re.compile("^(GET|POST|PUT|DELETE) /"))


def limited(stored: Client) -> str:
    return issue_key(stored, "reading", "read", "query")


async def test_a_key_without_the_scope_is_told_which_one_is_missing(console: Console, stored: Client) -> None:
    await console.start("service", key=limited(stored))
    await expect(console.page.get_by_text("Your key lacks the scope keys.")).to_be_visible()

    await console.open("service", show="metrics")

    await expect(console.page.get_by_text("Your key lacks the scope metrics.")).to_be_visible()
    needed = "magistrate keys create NAME --scope query --scope read --scope metrics"
    await expect(console.page.get_by_text(needed)).to_be_visible()


async def test_a_file_is_imported_and_a_wrong_line_is_named(console: Console, stored: Client, tmp_path: Path) -> None:
    lines = [f"document:imported-{number}#viewer@user:ann" for number in range(1_200)]
    lines[7] = json.dumps(
        {
            "objectType": "document",
            "objectId": STRANGE_ID,
            "relation": "viewer",
            "subject": {"objectType": "user", "objectId": "ann"},
        }
    )
    wrong = [*lines[:600], "document:imported-x#no-such-relation@user:ann", *lines[600:]]
    (tmp_path / "wrong.txt").write_text("\n".join(wrong))
    (tmp_path / "right.txt").write_text("# with a comment\n" + "\n".join(lines))
    await console.start("data")

    await console.page.get_by_role("button", name="Import a file").click()
    await console.dialog.get_by_label("File").set_input_files(tmp_path / "wrong.txt")
    await console.dialog.get_by_role("button", name="Import").click()
    await expect(console.dialog.get_by_role("alert")).to_contain_text("Line 601")
    await console.dialog.get_by_label("File").set_input_files(tmp_path / "right.txt")
    await console.dialog.get_by_role("button", name="Import").click()

    done = console.page.get_by_text("Imported 1,200 lines")
    await expect(done).to_contain_text("700 were new, 500 were there already")
    assert stored.ask(f"document:{STRANGE_ID}#viewer@user:ann").json()["result"] == "Authorized"
    assert console.troubles == []


async def test_a_context_is_tried_on_the_page_of_an_object(console: Console, stored: Client) -> None:
    stored.grant('document:secret#viewer@user:vera[network == "office"]')
    await console.start("object", name="user:vera", tab="what")
    await expect(console.row("document:handbook").first).to_be_visible()
    await expect(console.row("document:secret")).to_have_count(0)

    await console.page.get_by_text("Try a context for policies").click()
    await console.page.get_by_label("JSON object").fill('{"network": "office"}')
    await console.page.get_by_role("button", name="Try it").click()

    await expect(console.row("document:secret").first).to_be_visible()
    assert console.troubles == []


async def test_a_page_says_in_words_what_the_key_may_do(console: Console, stored: Client) -> None:
    reader = issue_key(stored, "reader", "read", "check")
    await console.start("service", key=reader, show="own")

    await expect(console.row("read the model")).to_contain_text("may")
    await expect(console.row("create and delete warrants")).to_contain_text("may not")
    await expect(console.page.get_by_text("It opens no other store.")).to_be_visible()


async def test_integrations_say_what_is_on_and_have_a_first_request(console: Console, stored: Client) -> None:
    tool = {"type": "tool", "relations": {"can-call": {}}, "actions": {"tools/call": "can-call"}}
    stored.post("/v2/object-types", json=tool).raise_for_status()
    await console.start("service", show="integrations")
    openfga, gateways = (console.page.get_by_role("region", name=name) for name in ("OpenFGA", "Gateways"))

    await expect(gateways).to_contain_text("Off")
    await expect(gateways).to_contain_text("--forward-rules")
    await expect(openfga).to_contain_text("On")
    await openfga.get_by_text("Copy as").click()
    request = await openfga.locator("pre").inner_text()
    assert re.search(r"/stores/[0-9A-Z]{26}/check", request)
    await expect(console.row("tools/call")).to_contain_text("can-call")
    assert "magistrate_" not in await console.page.locator("main").inner_text()
    assert console.troubles == []
    stored.delete("/v2/object-types/tool").raise_for_status()
