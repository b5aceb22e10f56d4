"""The places of the console that tests visit one after the other, and the data that they show."""

import msgspec
from playwright.async_api import expect

from magistrate.wiring.examples import read_example
from tests.browser.console_pages import Console
from tests.running import Client

EXAMPLE = read_example("document-sharing")
STRANGE_ID = "$(a,b);~!&|c@d.e{}"
"""Has characters that are special somewhere."""
DENIED = {"subject": "user:kim", "relation": "can-read", "object": "document:roadmap"}
PLACES: tuple[tuple[str, dict[str, str], str], ...] = (
    ("why", {}, ".empty"),
    ("why", DENIED, ".suggestion .effect, .suggestion .effect-title"),
    ("why", DENIED | {"subject": "user:bob"}, ".path"),
    ("why", DENIED | {"subject": "user:zoe"}, ".path"),
    ("why", DENIED | {"subject": "nobody"}, ".notice.fault"),
    ("data", {}, "table"),
    ("data", {"show": "warrants"}, "table"),
    ("object", {"name": "document:roadmap"}, "table"),
    ("object", {"name": "user:bob", "group": "because"}, "table"),
    ("queries", {"q": "select document where user:ann is *"}, "table"),
    ("history", {}, ".timeline li"),
    ("live", {}, ".mark.yes"),
    ("model", {"of": "document#can-read"}, ".graph .chosen"),
    ("tests", {}, ".empty"),
    ("service", {}, ".empty"),
    ("service", {"show": "sessions"}, "form"),
    ("service", {"show": "webhooks"}, ".empty"),
    ("service", {"show": "own"}, "table"),
    ("service", {"show": "integrations"}, "[aria-label=OpenFGA] .mark.yes"),
    ("service", {"show": "metrics"}, ".figure"),
)
"""Lists pages, and what is on them once they have loaded."""


def load_example(client: Client) -> None:
    client.define({one.name: msgspec.to_builtins(one.render_relations()) for one in EXAMPLE.types})
    client.grant(*(warrant.render() for warrant in EXAMPLE.warrants))


async def visit(console: Console, name: str, parameters: dict[str, str], selector: str) -> None:
    """Loads a page anew, and waits until it shows that and loads nothing more."""
    await console.page.goto("about:blank")
    await console.open(name, **parameters)
    await expect(console.page.locator(selector).first).to_be_visible()
    await expect(console.page.locator(".busy, [aria-busy=true]")).to_have_count(0)


def model_of(service: Client) -> str:
    return service.get("/v2/model", headers={"Accept": "text/plain"}).text
