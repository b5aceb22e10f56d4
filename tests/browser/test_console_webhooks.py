"""The webhooks of the page Service of the console, with a receiver that answers on a real socket."""

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.console_pages import Console
from tests.browser.console_places import load_example
from tests.conftest import STORES, new_database_url
from tests.issuing import issue_key
from tests.running import Client, running_service, settings_for
from tests.webhook_receiver import WebhookReceiver, answer_status, receiving

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module", params=STORES)
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a service that may send to this machine, on each store in turn at night."""
    url = new_database_url(request.param, tmp_path_factory.mktemp("stored"), request)
    settings = settings_for(url, webhook_allow_networks="127.0.0.0/8")
    with running_service(settings) as service, Client(service) as client:
        load_example(client)
        yield client


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
async def console(page: Page, stored: Client) -> AsyncIterator[Console]:
    """The console of the service; nothing may go wrong in it."""
    opened = Console(page, str(stored.base_url).rstrip("/"))
    yield opened
    assert opened.troubles == []


def button(console: Console, name: str) -> Locator:
    return console.page.get_by_role("button", name=name)


async def confirm(console: Console, opening: str, action: str) -> None:
    await button(console, opening).click()
    await console.dialog.get_by_role("button", name=action).click()
    await expect(console.dialog).to_have_count(0)


async def create(console: Console, url: str, **fields: str) -> str:
    """Returns the secret, which is shown once."""
    await button(console, "New webhook").click()
    await console.dialog.get_by_label("URL").fill(url)
    for label, text in fields.items():
        await console.dialog.get_by_label(label.replace("_", " ")).fill(text)
    await console.dialog.get_by_role("button", name="Create").click()
    return await console.page.locator(".secret").inner_text()


async def wait_for_deliveries(stored: Client, webhook_id: str, count: int) -> list[dict[str, Any]]:
    with anyio.fail_after(60):
        while True:
            rows: list[dict[str, Any]] = stored.get(f"/v2/webhooks/{webhook_id}/deliveries").json()["results"]
            if len(rows) >= count:
                return rows
            await anyio.sleep(0.05)


async def test_a_webhook_is_made_tested_changed_and_deleted(
    console: Console, stored: Client, receiver: WebhookReceiver
) -> None:
    page = console.page
    await console.start("service", show="webhooks")

    secret = await create(console, receiver.url, Object_types="document, folder", Description="for the index")
    assert secret.startswith("whsec_")
    await button(console, "I have stored it").click()
    await expect(page.get_by_text("type document or folder")).to_be_visible()
    await button(console, "Send a test").click()
    await expect(page.locator(".notice")).to_contain_text("The receiver answered 204")
    await expect(console.row("Delivered")).to_have_count(1)
    assert [each.data["test"] for each in receiver.received] == [True]
    receiver.answers.append(answer_status(500))
    await button(console, "Send a test").click()
    await expect(console.row("Failed")).to_contain_text("500")
    await button(console, "Edit").click()
    await expect(console.dialog.get_by_label("Object types")).to_have_value("document, folder")
    await console.dialog.get_by_label("Object types").fill("")
    await console.dialog.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("all changes", exact=True)).to_be_visible()
    await button(console, "Disable").click()
    await expect(page.locator(".notice")).to_contain_text("is sent when it is enabled again")
    await expect(button(console, "Enable")).to_be_visible()
    await confirm(console, "Rotate the secret", "Rotate")
    await expect(page.locator(".secret")).not_to_have_text(secret)
    await page.get_by_role("link", name="All webhooks").click()
    await expect(page.locator(".secret")).to_have_count(0)
    await expect(console.row("for the index")).to_contain_text("Disabled")
    await page.get_by_role("link", name=receiver.url).click()
    await confirm(console, "Delete", "Delete")

    await expect(page.get_by_text("There are no webhooks.")).to_be_visible()
    assert secret not in await page.evaluate("document.documentElement.outerHTML + location.href")
    assert stored.get("/v2/webhooks").json()["results"] == []


async def test_changes_that_were_delivered_are_sent_again(
    console: Console, stored: Client, receiver: WebhookReceiver
) -> None:
    made = stored.post("/v2/webhooks", json={"url": receiver.url}).json()
    stored.grant("document:first#viewer@user:ann")
    stored.grant("document:second#viewer@user:ann")
    first, second = reversed([row["id"] for row in await wait_for_deliveries(stored, made["id"], 2)])
    await console.start("service", show="webhooks", id=made["id"])

    await button(console, f"Replay after this… {first}").click()
    await console.dialog.get_by_role("button", name="Replay").click()
    await expect(console.page.get_by_text("Everything after that write is sent again.")).to_be_visible()
    await wait_for_deliveries(stored, made["id"], 3)
    await button(console, "Read again").click()
    await expect(console.row(second)).to_have_count(2)
    await button(console, "Replay…").click()
    await console.field("After the write").click()
    await console.page.get_by_role("option", name=re.compile("document:first#viewer@user:ann")).click()
    await console.dialog.get_by_role("button", name="Replay").click()
    await wait_for_deliveries(stored, made["id"], 5)

    assert receiver.ids == [first, second, second, first, second]
    stored.delete(f"/v2/webhooks/{made['id']}").raise_for_status()


async def test_what_the_service_refuses_is_said_in_the_dialog(console: Console, stored: Client) -> None:
    made = stored.post("/v2/webhooks", json={"url": "http://127.0.0.1:9/", "enabled": False}).json()
    await console.start("service", show="webhooks")

    await button(console, "New webhook").click()
    await console.dialog.get_by_label("URL").fill("https://10.0.0.1/")
    await console.dialog.get_by_role("button", name="Create").click()
    await expect(console.dialog.get_by_role("alert")).to_contain_text("10.0.0.1")
    await console.dialog.get_by_role("button", name="Cancel").click()
    await console.page.get_by_role("link", name="http://127.0.0.1:9/").click()
    await button(console, "Replay…").click()
    await console.field("After the write").fill("no-token")
    await console.dialog.get_by_role("button", name="Replay").click()
    await expect(console.dialog.get_by_role("alert")).to_contain_text("Since must be a token")
    await console.dialog.get_by_role("button", name="Cancel").click()
    stored.delete(f"/v2/webhooks/{made['id']}").raise_for_status()
    await button(console, "Send a test").click()

    await expect(console.page.get_by_role("alert").first).to_contain_text("not found")


async def test_a_webhook_gets_access_that_is_gained_and_lost(console: Console, stored: Client) -> None:
    await console.start("service", show="webhooks")
    await button(console, "New webhook").click()
    await console.dialog.get_by_label("URL").fill("http://127.0.0.1:9/")
    await console.dialog.get_by_label("Relations").fill("viewer")

    await console.dialog.get_by_label("Gets").select_option("access that is gained and lost")
    await expect(console.dialog.get_by_label("Relations")).to_have_count(0)
    await console.dialog.get_by_label("Access").fill("document#can-read@user, folder#viewer@user")
    await console.dialog.get_by_role("button", name="Create").click()
    await expect(console.page.get_by_text("access document#can-read@user or folder#viewer@user")).to_be_visible()
    await button(console, "Edit").click()
    await console.dialog.get_by_label("Access").fill("folder#viewer@user")
    await console.dialog.get_by_role("button", name="Save").click()
    await expect(console.page.get_by_text("access folder#viewer@user", exact=True)).to_be_visible()

    assert [row["of"] for row in stored.get("/v2/webhooks").json()["results"]] == [["folder#viewer@user"]]
    await confirm(console, "Delete", "Delete")
    await expect(console.page.get_by_text("There are no webhooks.")).to_be_visible()


async def test_a_key_with_the_scope_webhooks_alone_manages_them(console: Console, stored: Client) -> None:
    await console.start("service", key=issue_key(stored, "hooks", "read", "webhooks"), show="webhooks")

    await create(console, "http://127.0.0.1:9/")
    await button(console, "Replay…").click()
    await console.field("After the write").click()
    await expect(console.dialog.get_by_role("option")).to_have_count(0)
    await console.dialog.get_by_role("button", name="Cancel").click()
    await confirm(console, "Delete", "Delete")

    await expect(console.page.get_by_text("There are no webhooks.")).to_be_visible()
