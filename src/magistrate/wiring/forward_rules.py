"""Keeps the rules of gateways up to date: those of the file that --forward-rules names."""

import asyncio
import os
import stat
import time
from pathlib import Path
from typing import NamedTuple

import structlog

from magistrate.api.auth.forwarding import ForwardRules
from magistrate.api.http.fast_path import RESOLUTIONS_PART
from magistrate.config.api_keys import FileState, find_file_state
from magistrate.config.settings_table import Settings
from magistrate.engine.forwarding.rule_files import read_rules
from magistrate.engine.forwarding.rules import RuleTable, TokenKind
from magistrate.errors import InvalidRequest, InvalidSetting
from magistrate.wiring.rule_files import read_rule_text
from magistrate.wiring.shared_files import SharedFile

LOOK_EVERY_SECONDS = 1.0
SHARED_NAME = "forward.rules"
"""Names the file in which workers share the text of the rules."""
UNSTABLE_NS = 500_000_000
"""Sets the age below which a file is read again although it has not changed (0.5 s)."""

log = structlog.get_logger()


class ReadRules(NamedTuple):
    """Holds rules and the text that they were read from."""

    table: RuleTable
    text: str


def read_forward_rules(settings: Settings) -> ReadRules:
    """Returns the rules of the file of a service. Raises InvalidSetting."""
    path = settings.forward_rules
    try:
        # A pipe, which only one process could read, must not be waited for.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise InvalidSetting(f"forward_rules: {path} must be a regular file, because each worker reads it")
        text = read_rule_text(path)
        return ReadRules(_read_table(settings, text), text)
    except OSError as error:
        raise InvalidSetting(f"forward_rules: {path} cannot be read: {error.strerror}") from error
    except InvalidRequest as error:
        raise InvalidSetting(f"forward_rules: {error.message}") from None


def _read_table(settings: Settings, text: str) -> RuleTable:
    """Returns the rules in a text. Raises InvalidRequest, and InvalidSetting if the service does not know the tokens
    that say who sends a request."""
    table = read_rules(text, settings.forward_rules)
    if table.identity is TokenKind.JWT and not settings.jwt_keys:
        identity = f"the identity of {settings.forward_rules} is jwt"
        raise InvalidSetting(f"forward_rules: {identity}, which needs a provider: --jwt-keys")
    return table


def check_forward_rules(settings: Settings) -> None:
    """Raises InvalidSetting if the file of rules is invalid: workers would only log it."""
    if settings.forward_rules:
        read_forward_rules(settings)


class RuleFile:
    """Reads the rules of a service again when their file changes. While it is invalid, the rules before stay in force;
    without any, every request is refused. Workers of one service share a folder."""

    def __init__(self, settings: Settings, shared_folder: Path | None = None) -> None:
        self._settings, self._path = settings, settings.forward_rules
        self._shared = None if shared_folder is None else SharedFile(shared_folder, SHARED_NAME)
        self.rules = ForwardRules(bool(self._path), int(RESOLUTIONS_PART * settings.request_cache_bytes))
        self._state: FileState | None = FileState(0, 0, 0, 0, 0)  # no file has that
        self._is_stable = True

    async def open(self) -> ForwardRules:
        """Returns the rules: if the file is invalid, those that other workers have read before. Raises nothing: a
        worker that finds none answers 503 to gateways until there are some."""
        if self._path and not await self._read_again() and self._shared is not None:
            text = await asyncio.to_thread(self._shared.read)
            if text:
                self.rules.replace_table(await asyncio.to_thread(_read_table, self._settings, text))
        return self.rules

    async def keep_fresh(self) -> None:
        """Reads the file again when it changes. It must run once, as a background task."""
        while self._path:
            await asyncio.sleep(LOOK_EVERY_SECONDS)
            state = await asyncio.to_thread(find_file_state, self._path)
            if not self._is_stable or state != self._state:
                await self._read_again()

    async def _read_again(self) -> bool:
        """Returns whether the file is valid. Its rules are then in force."""
        # The state is that before the file is read: a later change is seen the next time.
        state = await asyncio.to_thread(find_file_state, self._path)
        # Two writes within one tick of the clock of the file system leave the same time.
        is_stable = state is None or time.time_ns() - state.modified_ns > UNSTABLE_NS
        is_changed, self._state, self._is_stable = state != self._state, state, is_stable
        try:
            table, text = await asyncio.to_thread(read_forward_rules, self._settings)
        except InvalidSetting as error:
            if is_changed:
                log.error("the forward rules are invalid; those before, if any, stay in force", error=error.message)
            return False
        if is_changed and self.rules.table is not None:
            log.info("the forward rules were read again", file=self._path, rules=len(table.rules))
        self.rules.replace_table(table)
        if self._shared is not None:
            try:
                await asyncio.to_thread(self._shared.write, text)
            except OSError as error:
                log.error("the forward rules could not be shared with workers that start later", error=repr(error))
        return True
