"""Parses and renders warrants in written form, `document:plan#viewer@team:eng#member[amount < 10]`.

The form is unambiguous (docs/compatibility.md#warrants): no name and no id can contain the character that ends it.
Names and ids are not validated here.
"""

import re
from typing import NamedTuple

from magistrate.errors import InvalidRequest


class Written(NamedTuple):
    """Holds the parts in order; `subject_relation` and `policy` are empty texts when absent."""

    object_type: str
    object_id: str
    relation: str
    subject_type: str
    subject_id: str
    subject_relation: str
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
    return Written(*matched.groups(default=""))


def render_claim(
    object_type: str, object_id: str, relation: str, subject_type: str, subject_id: str, subject_relation: str
) -> str:
    """Returns the written form without a policy or context, `document:plan#viewer@team:eng#member`.

    `subject_relation` is the empty text when absent.
    """
    group = f"#{subject_relation}" if subject_relation else ""
    return f"{object_type}:{object_id}#{relation}@{subject_type}:{subject_id}{group}"
