"""Warrants in written form, `document:plan#viewer@team:eng#member[amount < 10]` (docs/compatibility.md#warrants).

The form is unambiguous: no name and no id can hold the sign that ends it. Whether they can stand is not looked at here.
"""

import re
from typing import NamedTuple

from magistrate.errors import InvalidRequest


class Written(NamedTuple):
    """The parts in order; `subject_relation` and `policy` are empty texts when absent."""

    object_type: str
    object_id: str
    relation: str
    subject_type: str
    subject_id: str
    subject_relation: str
    policy: str


_WRITTEN = re.compile(
    r"([^:#@\[]+):([^#\[]+)#([^:#@\[]+)@([^:#@\[]+):([^#\[]+)(?:#([^#\[]+))?(?:\[(.+)\])?",
    re.DOTALL,  # a policy may have lines
)


def read_written(text: str) -> Written:
    """Raises InvalidRequest, which shows what a warrant looks like."""
    matched = _WRITTEN.fullmatch(text)
    if matched is None:
        raise InvalidRequest(
            f"{text!r} does not read as type:id#relation@type:id, with #relation behind it for a group"
        )
    return Written(*matched.groups(default=""))


def render_claim(
    object_type: str, object_id: str, relation: str, subject_type: str, subject_id: str, subject_relation: str
) -> str:
    """`document:plan#viewer@team:eng#member`: the written form without a policy or context. `subject_relation` is
    the empty text if absent."""
    group = f"#{subject_relation}" if subject_relation else ""
    return f"{object_type}:{object_id}#{relation}@{subject_type}:{subject_id}{group}"
