"""Page objects of the console: what its users do, in their words."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from playwright.async_api import Locator, Page, expect

from tests.browser.chromium import MAX_MILLISECONDS
from tests.running import KEY

expect.set_options(timeout=MAX_MILLISECONDS)


@dataclass
class Console:
    """Represents the console of a service, in one page. `troubles` lists what must not happen: errors of scripts,
    refusals of the browser, and requests to other origins."""

    page: Page
    url: str
    troubles: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        origin = urlsplit(self.url).netloc
        self.page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: self.troubles.append(f"dialog: {dialog.message}"))
        self.page.on(
            "console",
            lambda line: self.troubles.append(line.text) if "Content Security Policy" in line.text else None,
        )
        self.page.on(
            "request",
            lambda sent: None if urlsplit(sent.url).netloc in (origin, "") else self.troubles.append(sent.url),
        )

    async def open(self, page: str = "why", **parameters: str) -> None:
        """Opens a page of the console, as a link from elsewhere would."""
        query = f"?{urlencode(parameters)}" if parameters else ""
        await self.page.goto(f"{self.url}/console#/{page}{query}")

    async def sign_in(self, key: str = KEY) -> None:
        await self.page.get_by_label("API key").fill(key)
        await self.page.get_by_role("button", name="Sign in").click()

    async def start(self, page: str = "why", key: str = KEY, **parameters: str) -> None:
        """Opens a page and signs in."""
        await self.open(page, **parameters)
        await self.sign_in(key)
        await expect(self.page.get_by_role("navigation", name="Pages of the console")).to_be_visible()

    async def show(self, page: str) -> None:
        await self.page.get_by_role("navigation", name="Pages of the console").get_by_role("link", name=page).click()

    async def explain(self, subject: str, relation: str, object_name: str) -> None:
        for name, text in (("Subject", subject), ("Relation", relation), ("Object", object_name)):
            await self.field(name).fill(text)
        await self.page.get_by_role("button", name="Explain").click()

    def field(self, name: str) -> Locator:
        return self.page.get_by_role("combobox", name=name)

    async def fill_warrant(self, subject: str, relation: str, object_name: str) -> None:
        """Opens the dialog of a new warrant, and fills it in."""
        await self.page.get_by_role("button", name="New warrant").click()
        for name, text in (("Subject", subject), ("Relation", relation), ("Object", object_name)):
            await self.dialog.get_by_role("combobox", name=name).fill(text)

    async def write_model(self, text: str) -> None:
        """Replaces the text of the editor, as somebody does who selects all and types."""
        await self.editor.click()
        await self.page.keyboard.press("Control+A")
        await self.page.keyboard.insert_text(text)

    @property
    def editor(self) -> Locator:
        return self.page.get_by_role("textbox", name="Model", exact=True)

    async def save_csv(self, label: str, path: Path) -> None:
        """Saves the table of this name as a file."""
        async with self.page.expect_download() as download:
            await self.page.get_by_role("button", name=f"Export CSV of {label}").click()
        await (await download.value).save_as(path)

    def line(self, name: str) -> Locator:
        """The line of a subject or an object in a matrix."""
        header = self.page.get_by_role("rowheader", name=name, exact=True)
        return self.page.locator(".matrix tr").filter(has=header)

    @property
    def columns(self) -> Locator:
        return self.page.locator(".matrix thead th")

    @property
    def reasons(self) -> Locator:
        return self.page.locator(".matrix .reason")

    @property
    def verdict(self) -> Locator:
        return self.page.locator(".verdict")

    @property
    def dialog(self) -> Locator:
        return self.page.get_by_role("dialog")

    @property
    def path(self) -> Locator:
        return self.page.get_by_label("Path from the subject to the object")

    def requirement(self, sentence: str) -> Locator:
        return self.page.locator(".requirement").filter(has_text=sentence)

    def row(self, text: str) -> Locator:
        return self.page.get_by_role("row").filter(has_text=text)
