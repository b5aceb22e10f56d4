"""Results as Markdown."""

from collections.abc import Sequence


def markdown_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns but the first are numbers, and set to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return f"### {title}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
