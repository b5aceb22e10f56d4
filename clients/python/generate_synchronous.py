"""Writes the modules of `magistrate_client.synchronous` that are generated from `magistrate_client.asynchronous`: those
with the same name, network.py apart. A test demands that what is there is what this makes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent / "src" / "magistrate_client"
MODULES = ("client.py", "httpx_network.py", "object_sets.py", "sending.py")

_NOTE = "# Generated from ../asynchronous/{name} by generate_synchronous.py.\n"
_REPLACEMENTS = (
    (r"AsyncGenerator\[(\w+), None\]", r"Generator[\1, None, None]"),
    (r"import asyncio\n", "import time\n"),
    (r"asyncio\.sleep", "time.sleep"),
    (r"import time\n((?:.*\n)*?)import time\n", r"import time\n\1"),
    (r"__a(enter|exit|next)__", r"__\1__"),
    (r"StopAsyncIteration", "StopIteration"),
    (r"asynccontextmanager, contextmanager", "contextmanager"),
    (r"asynccontextmanager", "contextmanager"),
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\baiter_", "iter_"),
    (r"\baclose\b", "close"),
    (r"\basynchronous\b", "synchronous"),
    (r"all tasks of a program", "all threads of a program"),
)


def generate(name: str) -> str:
    """Returns the text of a module for threads."""
    text = (PACKAGE / "asynchronous" / name).read_text()
    for pattern, replacement in _REPLACEMENTS:
        text = re.sub(pattern, replacement, text)
    sorted_imports = _run_ruff(
        ["check", "--select", "I,F401,UP028", "--fix", "--unsafe-fixes", "--quiet"],
        _NOTE.format(name=name) + text,
        name,
    )
    return _run_ruff(["format"], sorted_imports, name)


def _run_ruff(arguments: list[str], text: str, name: str) -> str:
    path = PACKAGE / "synchronous" / name
    command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", str(path), "-"]
    ran = subprocess.run(command, input=text, capture_output=True, text=True, check=True)  # noqa: S603  # our own words
    return ran.stdout


if __name__ == "__main__":
    for module in MODULES:
        (PACKAGE / "synchronous" / module).write_text(generate(module))
