"""Parses and renders warrants in written form, `document:plan#viewer@team:eng#member[amount < 10]`.

The form is unambiguous (docs/compatibility.md#warrants): a name ends at the first `:`, `#` or `@`, and no id can
contain `#` or `[`, so the first `#` ends the id of the object, whatever else that id contains. No id has to be quoted,
but one in double quotes is read as well. Names and ids are not validated here.
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


_NAME = r"([^:#@\[]+)"
_ID = r"(\"[^\"]*\"|[^#\[\"]+)"

_WRITTEN = re.compile(
    rf"{_NAME}:{_ID}#{_NAME}@{_NAME}:{_ID}(?:#([^#\[]+))?(?:\[(.+)\])?",
    re.DOTALL,  # a policy may have several lines
)


def read_written(text: str) -> Written:
    """Returns the parts of a warrant in written form. Raises InvalidRequest, whose message shows the form."""
    matched = _WRITTEN.fullmatch(text)
    if matched is None:
        raise InvalidRequest(
            f"{text!r} does not read as type:id#relation@type:id, with #relation behind it for a group"
        )
    written = Written(*matched.groups(default=""))
    return written._replace(object_id=unquote_id(written.object_id), subject_id=unquote_id(written.subject_id))


def unquote_id(text: str) -> str:
    """Returns an id without the double quotes around it, if there are any. No id contains one."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def render_claim(
    object_type: str, object_id: str, relation: str, subject_type: str, subject_id: str, subject_relation: str
) -> str:
    """Returns the written form without a policy or context, `document:plan#viewer@team:eng#member`.

    `subject_relation` is the empty text when absent.
    """
    group = f"#{subject_relation}" if subject_relation else ""
    return f"{object_type}:{object_id}#{relation}@{subject_type}:{subject_id}{group}"
