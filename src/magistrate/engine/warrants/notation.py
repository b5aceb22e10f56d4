"""Parses warrants in written form, `document:plan#viewer@team:eng#member[amount < 10]`.

The form is unambiguous (docs/compatibility.md#warrants): a name ends at the first `:`, `#` or `@`, and no id can
contain `#` or `[`, so the first `#` ends the id of the object, whatever else that id contains. No id has to be quoted,
but one in double quotes is read as well. Names and ids are not validated here.
"""

import re
from typing import NamedTuple

from magistrate.engine.names import unquote_id
from magistrate.engine.warrants.warrant import WarrantNames, warrant_names
from magistrate.errors import InvalidRequest


class Written(NamedTuple):
    """Holds the names in a warrant, which are not validated, and its policy, the empty text when absent."""

    names: WarrantNames
    policy: str


_NAME = r"([^:#@\[]+)"
_ID = r"(\"[^\"]*\"|[^#\[\"]+)"

_WRITTEN = re.compile(
    rf"{_NAME}:{_ID}#{_NAME}@{_NAME}:{_ID}(?:#([^#\[]+))?(?:\[(.+)\])?",
    re.DOTALL,  # a policy may have several lines
)


_CHECK = re.compile(r"([^:#@]+):([^#]*)#([^#@]+)@([^:#@]+):([^#]*)(?:#(.+))?")


def read_rendered_check(text: str) -> WarrantNames | None:
    """Returns the names in the text of a check, as explanations have it, in which no id is quoted, whatever it
    contains. Returns None for other text."""
    matched = _CHECK.fullmatch(text)
    return None if matched is None else warrant_names(*matched.groups(default=""))


def read_written(text: str) -> Written:
    """Returns the parts of a warrant in written form. Raises InvalidRequest, whose message shows the form."""
    matched = _WRITTEN.fullmatch(text)
    if matched is None:
        raise InvalidRequest(
            f"{text!r} does not read as type:id#relation@type:id, with #relation behind it for a group"
        )
    *names, policy = matched.groups(default="")
    object_type, object_id, relation, subject_type, subject_id, group = names
    ids = unquote_id(object_id), unquote_id(subject_id)
    return Written(warrant_names(object_type, ids[0], relation, subject_type, ids[1], group), policy)
