"""Runs a service that keeps nothing: its data is in memory, and ends with it (docs/console.md#playground)."""

import asyncio
import base64
import zlib
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

from magistrate.config.settings import read_settings
from magistrate.config.settings_table import Settings
from magistrate.engine.testing.suites import ModelSuite
from magistrate.operations.keys.caller_keys import generate_key
from magistrate.operations.models.examples import load_suite
from magistrate.temporary_files import MEMORY, is_writable, make_temporary_folder
from magistrate.wiring.contexts import open_context
from magistrate.wiring.examples import read_example
from magistrate.wiring.maintenance import prepare_store
from magistrate.wiring.server import announce, listen, name_url, serve_alone
from magistrate.wiring.stores import migrate_store

MAX_LINK_CHARACTERS = 4_000
"""Limits a test file in the URL: terminals break longer ones, so that they cannot be clicked."""


class OpenedFile(NamedTuple):
    """Holds a test file to begin with: its content, and the text that the page Tests edits, which has no model of its
    own."""

    name: str
    suite: ModelSuite
    tests: str


def run_playground(host: str, port: int, example: str, file: OpenedFile | None) -> int:
    """Runs a service until SIGTERM or SIGINT, with an example or the content of a file, and returns the exit code. What
    it stores is in memory, or in a private temporary folder where the system has no files in memory, and is removed at
    the end.

    Raises InvalidSetting, StoreUnavailable or InvalidRequest before anything is served."""
    # SQLite in memory alone would have one connection, and no log of changes that others follow.
    in_memory = is_writable(MEMORY)
    with make_temporary_folder("playground", "a playground needs", MEMORY if in_memory else "") as folder:
        key = generate_key()
        settings = _choose_settings(folder, host, port, key)
        with ExitStack() as stack:
            sockets = [stack.enter_context(listening) for listening in listen(settings)]
            migrate_store(settings)
            left_out = asyncio.run(_fill_store(settings, example, file))
            place = "memory" if in_memory else f"{folder}, which is removed at the end"
            announce(f"This playground keeps its data in {place}: it loses everything when you stop it (Ctrl+C)")
            _announce(folder, f"{name_url(sockets[0])}/console", key, example, file=file, left_out=left_out)
            return serve_alone(settings, sockets)


def _choose_settings(folder: Path, host: str, port: int, key: str) -> Settings:
    """Returns the settings of a playground, which the environment does not change."""
    url = f"sqlite:///{quote(str(folder / 'playground.db'))}"
    flags = {"database_url": url, "host": host, "port": str(port), "api_key": key, "workers": "1"}
    return read_settings(flags, {})


async def _fill_store(settings: Settings, example: str, file: OpenedFile | None) -> int:
    """Returns how many warrants of the file were left out."""
    if file is None:
        await prepare_store(settings, read_example(example))
        return 0
    async with open_context(settings) as context:
        return await load_suite(context, file.suite)


def _announce(folder: Path, console: str, key: str, example: str, file: OpenedFile | None, left_out: int) -> None:
    if file is None:
        announce(f"It begins with the example {example}: {read_example(example).about}")
        announce(f"\nOpen it, signed in:\n\n  {console}#/why?{urlencode({'key': key})}\n")
        return
    announce(f"It begins with {file.name}: {len(file.suite.warrants) - left_out} warrants")
    if left_out:
        announce(f"Left out, because they have expired: {left_out}")
    parameters: Mapping[str, str] = {"key": key}
    packed = base64.urlsafe_b64encode(zlib.compress(file.tests.encode(), 9)).decode()
    if len(packed) > MAX_LINK_CHARACTERS:
        tests = folder / "tests.test.yaml"
        tests.write_text(file.tests, encoding="utf-8")
        announce(f"Open {tests} on the page Tests to run the {len(file.suite.assertions)} tests of {file.name}")
    else:
        parameters = {"key": key, "file": packed}
    announce(f"\nOpen it, signed in:\n\n  {console}#/tests?{urlencode(parameters)}\n")
