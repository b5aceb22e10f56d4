"""Parses warrants in written form, `document:plan#viewer@team:eng#member[amount < 10]`.

The form is unambiguous (docs/compatibility.md#warrants): no name and no id can contain the character that ends it.
Names and ids are not validated here.
"""

import re
from typing import NamedTuple

from magistrate.engine.names import WarrantNames, warrant_names
from magistrate.errors import InvalidRequest


class Written(NamedTuple):
    """Holds the names in a warrant, which are not validated, and its policy, the empty text when absent."""

    names: WarrantNames
    policy: str


_WRITTEN = re.compile(
    r"([^:#@\[]+):([^#\[]+)#([^:#@\[]+)@([^:#@\[]+):([^#\[]+)(?:#([^#\[]+))?(?:\[(.+)\])?",
    re.DOTALL,  # a policy may have several lines
)


def read_written(text: str) -> Written:
    """Returns the parts of a warrant in written form. Raises InvalidRequest, whose message shows the form."""
    matched = _WRITTEN.fullmatch(text)
    if matched is None:
        raise InvalidRequest(
            f"{text!r} does not read as type:id#relation@type:id, with #relation behind it for a group"
        )
    *names, policy = matched.groups(default="")
    return Written(warrant_names(*names), policy)
