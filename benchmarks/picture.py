"""Draws the picture of docs/performance.md from the table on that page: `python -m benchmarks.picture`."""

import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
PICTURE = PAGE.parent / "performance" / "comparison.svg"

WIDTH = 760
LABELS_WIDTH = 362
BAR_HEIGHT = 16
ROW_HEIGHT = 58
TOP = 46
FULL = 330
"""The length of a bar of 100 %."""

# Both schemes have a contrast of at least 4.5 to 1 for text, on the backgrounds that GitHub and editors use.
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .small { font-size: 11px; fill: #59636e }
.sqlite { fill: #0969da } .postgresql { fill: #8250df } .line { stroke: #59636e; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .small { fill: #9198a1 } .sqlite { fill: #4493f8 } .postgresql { fill: #ab7df8 }
.line { stroke: #9198a1 } }
"""


@dataclass(frozen=True)
class Comparison:
    """Holds a row of the table whose results are shares: per cent of what it is compared with."""

    measured: str
    compared_with: str
    sqlite: int
    postgresql: int


def read_comparisons(page: str) -> list[Comparison]:
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| (\d+) % \| (\d+) % \|", page, re.MULTILINE)
    return [Comparison(what.replace("`", ""), against.replace("`", ""), int(a), int(b)) for what, against, a, b in rows]


def draw(comparisons: list[Comparison]) -> str:
    """Returns an SVG image that is readable on a light and on a dark background."""
    height = TOP + ROW_HEIGHT * len(comparisons) + 8
    full = LABELS_WIDTH + FULL
    title = "What Magistrate reaches of the speed of the same without it, in per cent"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{title}">',
        f"<style>{STYLE}</style>",
        *_draw_legend(),
        f'<line class="line" x1="{full}" y1="28" x2="{full}" y2="{height - 8}"/>',
        f'<text class="small" x="{full}" y="22" text-anchor="middle">100 %</text>',
    ]
    for place, comparison in enumerate(comparisons):
        lines += _draw_row(comparison, TOP + ROW_HEIGHT * place)
    return "\n".join([*lines, "</svg>", ""])


def _draw_legend() -> list[str]:
    return [
        '<rect class="sqlite" x="0" y="11" width="12" height="12"/><text x="18" y="22">SQLite</text>',
        '<rect class="postgresql" x="80" y="11" width="12" height="12"/><text x="98" y="22">PostgreSQL</text>',
    ]


def _draw_row(comparison: Comparison, top: int) -> list[str]:
    lines = [
        f'<text x="0" y="{top + 14}">{escape(comparison.measured)}</text>',
        f'<text class="small" x="0" y="{top + 32}">of {escape(comparison.compared_with)}</text>',
    ]
    for name, share in (("sqlite", comparison.sqlite), ("postgresql", comparison.postgresql)):
        length = share * FULL // 100
        lines.append(f'<rect class="{name}" x="{LABELS_WIDTH}" y="{top}" width="{length}" height="{BAR_HEIGHT}"/>')
        lines.append(f'<text class="small" x="{LABELS_WIDTH + length + 6}" y="{top + 12}">{share} %</text>')
        top += BAR_HEIGHT + 4
    return lines


def main() -> None:
    PICTURE.write_text(draw(read_comparisons(PAGE.read_text())))


if __name__ == "__main__":
    main()
