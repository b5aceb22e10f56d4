"""Reads the filter of `magistrate warrants delete --where`, and completes it."""

import re
from collections.abc import Iterable, Sequence

import click

from magistrate.cli.completion import complete_types
from magistrate.engine.written import unquote_id
from magistrate.errors import InvalidRequest

MEMBERS = ("objectType", "objectId", "relation", "subjectType", "subjectId", "subjectRelation")

_NEXT = rf",(?=(?:{'|'.join(MEMBERS)})=)"
_PART = re.compile(rf"(\w+)=(\"[^\"]*\"|.*?)(?:{_NEXT}|$)", re.DOTALL)


def read_where(texts: Iterable[str]) -> dict[str, str]:
    """Reads `objectType=document,relation=viewer`, perhaps in several texts. A comma ends a value only if a member
    follows it, and not within double quotes, because an id may have commas.

    Raises InvalidRequest for other texts, unknown members, and members that are given twice."""
    found: dict[str, str] = {}
    for text in texts:
        for member, value in _read_content(text):
            if member not in MEMBERS:
                raise InvalidRequest(f"--where {text!r} names {member}; the members are {', '.join(MEMBERS)}")
            if member in found:
                raise InvalidRequest(f"--where gives {member} twice")
            found[member] = unquote_id(value)
    return found


def _read_content(text: str) -> Sequence[tuple[str, str]]:
    parts: list[tuple[str, str]] = []
    end = 0
    while end < len(text) or not parts:
        part = _PART.match(text, end)
        if part is None or not part[2]:
            raise InvalidRequest(f"--where {text!r} does not read as member=value,member=value")
        parts.append((part[1], part[2]))
        end = part.end()
    return parts


def complete_where(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Returns the members, or the names of object types behind one that takes them."""
    before, comma, part = begun.rpartition(",")
    member, equals, value = part.partition("=")
    if equals:
        types = complete_types(ctx, parameter, value) if member.endswith("Type") else []
        return [f"{before}{comma}{member}={name}" for name in types]
    return [f"{before}{comma}{name}=" for name in MEMBERS if name.startswith(member)]
