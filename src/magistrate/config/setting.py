"""Defines what a setting is: a name, a default that determines the type, a meaning, and how texts are read."""

import re
from dataclasses import dataclass

from magistrate.errors import InvalidSetting

PREFIX = "MAGISTRATE_"

Value = str | int | bool

BOOLEANS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
"""Lists the texts of a boolean setting, in lower case; any case is read."""

MOST_DIGITS = 18
"""Limits the characters of a number that is converted; longer ones are out of any range."""
_WHOLE_NUMBER = re.compile(r"\s*-?[0-9]+\s*")


@dataclass(frozen=True, slots=True)
class Setting:
    """Defines a setting. `default` determines the type; numbers lie in `minimum`..`maximum`, both included. Under
    `former_name` the setting is read as well, but not documented. If `is_repeatable`, the flag may be given several
    times, which means the same as one with commas."""

    name: str
    default: Value
    meaning: str
    minimum: int = 0
    maximum: int = 0
    former_name: str | None = None
    is_repeatable: bool = False
    further_values: tuple[str, ...] = ()
    """Lists texts, in lower case, that a boolean setting can have as its value, besides true and false."""
    variable_name: str = ""
    """Names the environment variable, if it is not made from the name."""

    @property
    def is_boolean(self) -> bool:
        return isinstance(self.default, bool)

    @property
    def default_text(self) -> str:
        """Returns the default as documents show it and as it may be written."""
        return str(self.default).lower() if self.is_boolean else str(self.default)

    @property
    def names(self) -> tuple[str, ...]:
        """Returns the names under which the setting is read; the first that is given counts."""
        return (self.name,) if self.former_name is None else (self.name, self.former_name)

    @property
    def flag(self) -> str:
        return name_flag(self.name)

    @property
    def variable(self) -> str:
        return self.variable_name or _name_variable(self.name)

    @property
    def variables(self) -> tuple[str, ...]:
        """Returns the environment variables from which the setting is read; the first that is given counts."""
        return (self.variable, *map(_name_variable, self.names[1:]))

    def read(self, text: str, origin: str) -> Value:
        """Returns the value that a text stands for; `origin` is the flag or variable to name in an InvalidSetting."""
        if not text.strip():
            raise InvalidSetting(f"{origin} is empty")
        if isinstance(self.default, str):
            return text
        if self.is_boolean:
            return self._read_boolean(text.strip().lower(), origin)
        if not _WHOLE_NUMBER.fullmatch(text):
            raise InvalidSetting(f"{origin} must be a whole number, not {text!r}")
        if len(text.strip()) > MOST_DIGITS or not self.minimum <= int(text) <= self.maximum:
            raise InvalidSetting(f"{origin} must be from {self.minimum} to {self.maximum}, not {text.strip()}")
        return int(text)

    def _read_boolean(self, text: str, origin: str) -> bool | str:
        if text in self.further_values:
            return text
        value = BOOLEANS.get(text)
        if value is None:
            raise InvalidSetting(f"{origin} must be {', '.join(['true', *self.further_values])} or false, not {text!r}")
        return value


def name_flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _name_variable(name: str) -> str:
    return PREFIX + name.upper()
