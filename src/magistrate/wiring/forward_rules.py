"""Keeps the rules of gateways up to date: those of the file that --forward-rules names."""

import asyncio

import structlog

from magistrate.api.auth.forwarding import ForwardRules
from magistrate.config.api_keys import FileState, find_file_state
from magistrate.config.settings_table import Settings
from magistrate.engine.forwarding.rule_files import MAX_FILE_BYTES, read_rules
from magistrate.engine.forwarding.rules import RuleTable
from magistrate.errors import InvalidRequest, InvalidSetting

LOOK_EVERY_SECONDS = 1.0

log = structlog.get_logger()


def read_forward_rules(path: str) -> RuleTable:
    """Returns the rules of a file. Raises InvalidSetting."""
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise InvalidSetting(f"forward_rules: {path} is larger than {MAX_FILE_BYTES} bytes")
        return read_rules(content.decode("utf-8-sig"), path)
    except OSError as error:
        raise InvalidSetting(f"forward_rules: {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise InvalidSetting(f"forward_rules: {path} is not valid UTF-8") from None
    except InvalidRequest as error:
        raise InvalidSetting(f"forward_rules: {error.message}") from None


def check_forward_rules(settings: Settings) -> None:
    """Raises InvalidSetting if the file of rules is invalid: workers would only log it."""
    if settings.forward_rules:
        read_forward_rules(settings.forward_rules)


class RuleFile:
    """Reads the rules of a service again when their file changes. While it is invalid, the rules before stay in force;
    without any, every request is refused."""

    def __init__(self, settings: Settings) -> None:
        self.rules = ForwardRules()
        self._path = settings.forward_rules
        self._state: FileState | None = None

    async def open(self) -> ForwardRules:
        """Returns the rules. Raises nothing: a worker that starts while the file is invalid has no rules until it is
        valid."""
        if self._path:
            await self._read_again()
        return self.rules

    async def keep_fresh(self) -> None:
        """Reads the file again when it changes. It must run once, as a background task."""
        while self._path:
            await asyncio.sleep(LOOK_EVERY_SECONDS)
            if await asyncio.to_thread(find_file_state, self._path) != self._state:
                await self._read_again()

    async def _read_again(self) -> None:
        # The state is that before the file is read: a later change is seen the next time.
        self._state = await asyncio.to_thread(find_file_state, self._path)
        try:
            table = await asyncio.to_thread(read_forward_rules, self._path)
        except InvalidSetting as error:
            log.error("the forward rules are invalid, the previous ones stay in force", error=error.message)
            return
        if self.rules.table is not None:
            log.info("the forward rules were read again", file=self._path, rules=len(table.rules))
        self.rules.table = table
