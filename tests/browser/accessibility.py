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
"""All rules, but only those of colours again when the page is dark: nothing else differs."""
SERIOUS = ("serious", "critical")


@dataclass
class Inspection:
    """Represents pages that axe looks at; `serious` lists what it finds, by place."""

    console: Console
    axe: str
    scheme: Scheme
    serious: list[tuple[str, Any]] = field(default_factory=list)

    async def look(self, place: str) -> None:
        page = self.console.page
        await page.evaluate(self.axe)
        result = await page.evaluate("only => axe.run(document, {runOnly: only})", RULES[self.scheme])
        for one in result["violations"]:
            if one["impact"] in SERIOUS:
                self.serious.append((place, (one["id"], [node["html"] for node in one["nodes"]])))


@asynccontextmanager
async def inspecting(browser: Browser, tools: Path, url: str, scheme: Scheme) -> AsyncIterator[Inspection]:
    """Yields the inspection of a service in a colour scheme. Only here may a script be added to its pages."""
    axe = (tools / "node_modules" / "axe-core" / "axe.min.js").read_text()
    async with await browser.new_context(color_scheme=scheme, bypass_csp=True) as context:
        page = await context.new_page()
        page.set_default_timeout(MAX_MILLISECONDS)
        yield Inspection(Console(page, url), axe, scheme)
