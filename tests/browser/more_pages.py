"""Page objects of the pages Tests and Service of the console, and of imports."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Locator, expect

from tests.browser.console_pages import Console


@dataclass
class TestsPage:
    """Represents the page on which a test file is written and run."""

    __test__ = False

    console: Console

    @property
    def file(self) -> Locator:
        return self.console.page.get_by_role("textbox", name="Test file", exact=True)

    async def read(self) -> str:
        await expect(self.file).to_be_visible()
        return "\n".join(await self.file.locator(".cm-line").all_text_contents())

    async def write(self, text: str) -> None:
        """Replaces the text of the editor, as somebody does who selects all and types."""
        await self.file.click()
        await self.console.page.keyboard.press("Control+A")
        await self.console.page.keyboard.insert_text(text)

    async def start_with_example(self) -> None:
        await self.console.page.get_by_role("button", name="Start with an example").click()

    @property
    def results(self) -> Locator:
        return self.console.page.get_by_role("region", name="Results")

    async def expect_counts(self, passed: int, failed: int) -> None:
        await expect(self.results).to_contain_text(f"{passed} passed, {failed} failed")

    async def pin(self, nearby: Locator) -> None:
        """Pins the check that is shown there."""
        await nearby.get_by_role("button", name="Pin").click()
        await expect(nearby.get_by_role("link", name="In the tests")).to_be_visible()

    async def save(self, button: str, folder: Path) -> Path:
        """Returns the file that the browser saves."""
        async with self.console.page.expect_download() as saving:
            await self.console.page.get_by_role("button", name=button, exact=True).click()
        path = folder / (await saving.value).suggested_filename
        await (await saving.value).save_as(path)
        return path


@dataclass
class KeysPage:
    """Represents the page that manages keys."""

    console: Console

    async def create(self, name: str, *scopes: str) -> str:
        """Returns the secret, which is shown once."""
        page = self.console.page
        await page.get_by_role("button", name="New key").click()
        await self.console.dialog.get_by_label("Name").fill(name)
        for scope in scopes:
            await self.console.dialog.get_by_role("checkbox", name=re.compile(f"^{scope} ")).check()
        await self.console.dialog.get_by_role("button", name="Create").click()
        await expect(page.locator(".secret")).to_be_visible()
        return await page.locator(".secret").inner_text()

    async def act(self, name: str, action: str, confirmation: str) -> None:
        await self.console.row(name).get_by_role("button", name=action).click()
        await self.console.dialog.get_by_role("button", name=confirmation).click()


def run_file(path: Path) -> str:
    """Returns the last line of the command that runs a test file."""
    command = [sys.executable, "-m", "magistrate", "model", "test", str(path)]
    return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()[-1]
