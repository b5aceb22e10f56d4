"""Reads warrants that are written alike but for the ids of their objects, such as the groups in a user's token, without
decoding each.

What is around the ids is decoded and validated once, for many requests. No character of an id ends a string of JSON or
is part of an escape, so each warrant would be decoded to the same one with another id."""

import re
from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter

from magistrate.api.endpoints.plain_bodies import read_plain_runs
from magistrate.api.endpoints.warrants import WarrantBody
from magistrate.api.json_decoders import build_decoder
from magistrate.api.parse import decode_body
from magistrate.engine.plain_warrants import PlainRuns, WarrantKind, ids_to_subject
from magistrate.engine.terms import ObjectId, are_object_ids
from magistrate.errors import InvalidRequest

MOST_TEMPLATES, MOST_CHARACTERS = 1_024, 512
"""Limit the warrants without an id that are kept, and the characters of each."""

_DECODER = build_decoder(WarrantBody)
_OPENING = re.compile(r"\[[ \t\r\n]*+(?=\{)")
_BETWEEN = re.compile(r'\}([ \t\r\n]*+,[ \t\r\n]*+)\{[ \t\r\n]*+"')
_ID = re.compile(r'"objectId"[ \t\r\n]*+:[ \t\r\n]*+"([^"\\]++)"')
_ANY_ID = "id-of-any-object"
"""Stands for the ids in a warrant without one."""


def read_alike_warrants(text: str, begin: int, end: int, most: int, max_depth: int) -> PlainRuns | None:
    """Returns the warrants in the JSON array between these places of a text, or None unless there are 1 to `most`, all
    plain and written alike but for the ids of their objects. None does not mean that something is not valid. The array
    may nest `max_depth` levels."""
    opening = _OPENING.match(text, begin, end)
    if opening is None or text[end - 1] != "]":
        return None
    begin, end = opening.end(), end - 1
    between = _BETWEEN.search(text, begin, end)
    first, separator = (text[begin:end], "") if between is None else (text[begin : between.start() + 1], between[1])
    if len(first) > MOST_CHARACTERS:
        return None
    for place in _ID.finditer(first):  # that of the object, or first that of the subject
        before, after = first[: place.start(1)], first[place.end(1) :]
        template = _read_template(before, after, max_depth - 1)
        if template is not None:
            ids = _split_ids(text, begin, end, (before, after, separator), most)
            return _join_ids(*template, ids) if ids else None
    return None


@lru_cache(MOST_TEMPLATES)
def _read_template(before: str, after: str, max_depth: int) -> tuple[WarrantKind, ObjectId] | None:
    """Returns the kind and the subject of the warrants that are written like this around the ids of their objects, or
    None if none of them is plain, or if the ids of the objects are not there. Each may nest `max_depth` levels."""
    if max_depth < 1 or "\\" in before or "\\" in after or _ANY_ID in before or _ANY_ID in after:
        return None  # with an escape or another such id, this one might be in a member that has no effect
    try:
        body = decode_body(f"{before}{_ANY_ID}{after}".encode(), _DECODER, max_depth)
    except InvalidRequest:
        return None
    runs = read_plain_runs([body], has_wildcards=False)
    if runs is None or body.object_id != _ANY_ID:
        return None
    [(kind, ids)] = runs.runs
    return kind, ids.subject_ids[0]


def _split_ids(text: str, begin: int, end: int, around: tuple[str, str, str], most: int) -> list[ObjectId]:
    """Returns the ids of the objects in the warrants between these places of a text, or nothing if there are more than
    `most`, or if one is not written like this: before its id, after it, and between two warrants."""
    before, after, separator = around
    opening = before.index('"') + 1
    # No id has a quotation mark, so each of these parts ends in what is behind an id, but for its brace.
    parts = text[begin + opening : end - 1].split(f"}}{separator}{before[:opening]}", most)
    ids: list[ObjectId] = list(map(itemgetter(slice(len(before) - opening, 1 - len(after))), parts))
    alike = f"{before}{f'{after}{separator}{before}'.join(ids)}{after}"
    is_alike = len(alike) == end - begin and text.startswith(alike, begin)
    return ids if is_alike and len(ids) <= most else []


def _join_ids(kind: WarrantKind, subject_id: ObjectId, ids: Sequence[ObjectId]) -> PlainRuns | None:
    """Returns warrants of this kind to one subject on these objects, or None if an id is not valid."""
    unique = frozenset(ids)
    if not are_object_ids(unique):
        return None
    return PlainRuns([(kind, ids_to_subject(ids, unique, subject_id))])
