"""Looks for problems of accessibility with axe (https://github.com/dequelabs/axe-core)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.async_api import Browser

from tests.browser.chromium import MAX_MILLISECONDS
from tests.browser.console_pages import Console

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
RULES: dict[Scheme, list[str]] = {
    "light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    "dark": ["color-contrast"],
}
"""Has all rules, but only those of colours again when the page is dark: nothing else differs."""
SERIOUS = ("serious", "critical")


@dataclass
class Inspection:
    """Represents pages that axe looks at; `serious` lists what it finds, by place."""

    console: Console
    axe: str
    serious: list[tuple[str, Any]] = field(default_factory=list)

    async def look(self, place: str) -> None:
        """Looks at a page in each colour scheme. The last one is light, in which each page begins."""
        page = self.console.page
        if not await page.evaluate("'axe' in window"):
            await page.evaluate(self.axe)
        for scheme in reversed(SCHEMES):
            await page.emulate_media(color_scheme=scheme)
            result = await page.evaluate("only => axe.run(document, {runOnly: only})", RULES[scheme])
            for one in result["violations"]:
                if one["impact"] in SERIOUS:
                    self.serious.append((f"{place}, {scheme}", (one["id"], [node["html"] for node in one["nodes"]])))


@asynccontextmanager
async def inspecting(browser: Browser, tools: Path, url: str) -> AsyncIterator[Inspection]:
    """Yields the inspection of a service. Only here may a script be added to its pages."""
    axe = (tools / "node_modules" / "axe-core" / "axe.min.js").read_text()
    async with await browser.new_context(bypass_csp=True) as context:
        page = await context.new_page()
        page.set_default_timeout(MAX_MILLISECONDS)
        yield Inspection(Console(page, url), axe)
