"""The table of letters, marks and numbers that ids may have: `./run python -m tests.unicode_ranges` writes it.

It is generated once, by the oldest interpreter that is supported, so that all of them accept the same ids."""

import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

from magistrate.engine import id_ranges

VERSION = "14.0.0"
"""The version of Unicode that the table is of: that of Python 3.11."""
CATEGORIES = "LMN"
PATH = Path(id_ranges.__file__)


def is_allowed(character: str) -> bool:
    return unicodedata.category(character)[0] in CATEGORIES


def ranges() -> Iterator[tuple[int, int]]:
    """Yields the first and the last code point of each range beyond ASCII."""
    first = None
    for code in range(0x80, sys.maxunicode + 2):
        allowed = code <= sys.maxunicode and is_allowed(chr(code))
        if allowed and first is None:
            first = code
        elif not allowed and first is not None:
            yield first, code - 1
            first = None


def render() -> str:
    """The text of the module, as this interpreter's version of Unicode has it."""
    written = (f"{first:X}" if first == last else f"{first:X}-{last:X}" for first, last in ranges())
    lines = wrap(" ".join(written), 116, break_on_hyphens=False)
    return "\n".join(
        [
            '"""Lists the letters, marks and numbers of one version of Unicode (tests/unicode_ranges.py)."""',
            "",
            f'VERSION = "{unicodedata.unidata_version}"',
            "",
            'RANGES = """',
            *lines,
            '"""',
            '"""Lists code points beyond ASCII in hexadecimal, and ranges of them by their first and last one."""',
            "",
        ]
    )


if __name__ == "__main__":
    assert unicodedata.unidata_version == VERSION, f"this interpreter has Unicode {unicodedata.unidata_version}"
    PATH.write_text(render(), "utf-8")
