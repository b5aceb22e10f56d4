"""Reads the contextual warrants of requests (docs/api.md#contextual-warrants)."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from itertools import chain, groupby
from operator import itemgetter

import msgspec

from magistrate.api.endpoints.warrants import (
    ReadPolicies,
    SubjectBody,
    WarrantBody,
    read_warrant,
    read_warrant_policies,
)
from magistrate.api.http.json_values import build_decoder
from magistrate.api.http.request_values import decode_body, read_elements
from magistrate.engine.names import WILDCARD, ObjectId
from magistrate.engine.policy.policy import is_kept
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef, are_object_ids, relation_name, type_name
from magistrate.engine.warrants.plain_warrants import KindIds, PlainRuns, WarrantKind, ids_to_subject
from magistrate.errors import InvalidParameter, InvalidRequest, UnknownMember
from magistrate.operations.readers.contextual_warrants import CONTEXTUAL_WARRANTS, MAX_CONTEXTUAL_WARRANTS
from magistrate.store.contract.new_rows import NewWarrant

Names = tuple[str | None, str | None, str | None, str | None]


def read_plain_runs(bodies: Sequence[WarrantBody], has_wildcards: bool) -> PlainRuns | None:
    """Returns the warrants that these bodies describe, or None unless all of them are valid and plain. No id may be `*`
    unless `has_wildcards`."""
    # By columns: each of these comprehensions takes a hundredth of a microsecond for a body.
    subjects = [body.subject for body in bodies if body.subject is not None]
    if len(subjects) < len(bodies) or [1 for body in bodies if body.policy or body.context]:
        return None
    if [1 for body in bodies if body.starts_at is not None or body.expires_at is not None]:
        return None
    object_ids, subject_ids = [body.object_id for body in bodies], [subject.object_id for subject in subjects]
    runs: list[tuple[WarrantKind, KindIds]] = []
    start = 0
    for names, length in _list_runs(bodies, subjects):
        kind = _read_kind(*names)
        if kind is None:
            return None
        end = start + length
        runs.append((kind, KindIds(object_ids[start:end], subject_ids[start:end])))  # type: ignore[arg-type]  # below
        start = end
    ids = {*object_ids, *subject_ids}
    if has_wildcards:
        ids.discard(WILDCARD)
    return PlainRuns(runs) if are_object_ids(ids) else None


def _list_runs(bodies: Sequence[WarrantBody], subjects: Sequence[SubjectBody]) -> Iterable[tuple[Names, int]]:
    """Returns the names in each run of bodies with the same names, and its length."""
    columns = (
        [body.object_type for body in bodies],
        [body.relation for body in bodies],
        [subject.object_type for subject in subjects],
        [subject.relation for subject in subjects],
    )
    if bodies and all([column.count(column[0]) == len(column) for column in columns]):  # such as the groups of a user
        of_type, relation, subject_type, group = (column[0] for column in columns)
        return [((of_type, relation, subject_type, group), len(bodies))]
    return [(names, len(list(alike))) for names, alike in groupby(zip(*columns, strict=True))]


def _read_kind(
    of_type: str | None, relation: str | None, subject_type: str | None, group: str | None
) -> WarrantKind | None:
    """Returns the kind of warrants with these names, or None if one is not valid."""
    try:
        if group:
            relation_name(group, "relation")
        names = type_name(of_type, "objectType"), relation_name(relation, "relation")
        return *names, type_name(subject_type, "objectType"), group or ""
    except InvalidParameter:
        return None


def read_plain_bodies(bodies: Sequence[WarrantBody]) -> list[NewWarrant] | None:
    """Returns the warrants that these bodies describe, or None unless all of them are valid and plain: then they have
    to be read one by one."""
    runs = read_plain_runs(bodies, has_wildcards=True)
    return None if runs is None else list(chain.from_iterable(_build_warrants(kind, ids) for kind, ids in runs.runs))


def _build_warrants(kind: WarrantKind, ids: KindIds) -> Iterable[NewWarrant]:
    of_type, relation, subject_type, subject_relation = kind
    return [
        NewWarrant(ObjectRef(of_type, object_id), relation, Subject(subject_type, subject_id, subject_relation))
        for object_id, subject_id in zip(ids.object_ids, ids.subject_ids, strict=True)
    ]


MAX_TEMPLATES, MAX_CHARACTERS = 1_024, 512
"""Limit the warrants without an id that are kept, and the characters of each."""

_WARRANT_DECODER = build_decoder(WarrantBody)
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
    if len(first) > MAX_CHARACTERS:
        return None
    for place in _ID.finditer(first):  # that of the object, or first that of the subject
        before, after = first[: place.start(1)], first[place.end(1) :]
        template = _read_template(before, after, max_depth - 1)
        if template is not None:
            ids = _split_ids(text, begin, end, (before, after, separator), most=most)
            return _join_ids(*template, ids) if ids else None
    return None


@lru_cache(MAX_TEMPLATES)
def _read_template(before: str, after: str, max_depth: int) -> tuple[WarrantKind, ObjectId] | None:
    """Returns the kind and the subject of the warrants that are written like this around the ids of their objects, or
    None if none of them is plain, or if the ids of the objects are not there. Each may nest `max_depth` levels."""
    if max_depth < 1 or "\\" in before or "\\" in after or _ANY_ID in before or _ANY_ID in after:
        return None  # with an escape or another such id, this one might be in a member that has no effect
    try:
        body = decode_body(f"{before}{_ANY_ID}{after}".encode(), _WARRANT_DECODER, max_depth)
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


MAX_DEPTH = 8
"""Limits the levels of contextual warrants in a query string; an array of warrants has four."""

DOCUMENTED_LIMIT = msgspec.Meta(extra_json_schema={"maxItems": MAX_CONTEXTUAL_WARRANTS})
"""Sets the limit in the OpenAPI document only: here, the error for it is an InvalidParameter."""

_DECODER = build_decoder(list[WarrantBody])
_NONE_READ: ReadPolicies = {}


def are_readable_at_once(bodies: Sequence[WarrantBody]) -> bool:
    """Returns whether no policy of these warrants has to be read first, which takes milliseconds if it is long."""
    return all(not body.policy or is_kept(body.policy) for body in bodies[:MAX_CONTEXTUAL_WARRANTS])


def read_plain_warrants(bodies: Sequence[WarrantBody]) -> PlainRuns | None:
    """Returns the warrants that these bodies describe, or None unless all of them are valid and have no policy, no time
    limits and no `*`; `read_contextual_warrants` then reads them one by one.

    A user may be in a hundred groups."""
    return read_plain_runs(bodies, has_wildcards=False) if len(bodies) <= MAX_CONTEXTUAL_WARRANTS else None


class ContextualMember(msgspec.Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Represents the contextual warrants of a body without the other members."""

    contextual_warrants: list[WarrantBody]

    def read_plain(self) -> PlainRuns | None:
        """Returns the warrants if there are any, and all are plain."""
        return read_plain_warrants(self.contextual_warrants) if self.contextual_warrants else None


def read_contextual_text(text: str, begin: int, end: int, max_depth: int) -> PlainRuns | None:
    """Returns the warrants in the JSON array between these places of a text, or None if they have to be decoded."""
    return read_alike_warrants(text, begin, end, MAX_CONTEXTUAL_WARRANTS, max_depth=max_depth)


def read_contextual_warrants(
    bodies: Sequence[WarrantBody] | None, policies: ReadPolicies = _NONE_READ
) -> Sequence[NewWarrant]:
    """Returns the warrants that these bodies describe. `policies` has the errors of the policies that are not kept.

    Raises InvalidParameter, whose parameter begins with the place of the warrant: `contextualWarrants[3].relation`."""
    if not bodies:
        return ()
    if len(bodies) > MAX_CONTEXTUAL_WARRANTS:
        raise InvalidParameter(CONTEXTUAL_WARRANTS, f"must be at most {MAX_CONTEXTUAL_WARRANTS} warrants")
    return read_elements(bodies, partial(read_warrant, policies), CONTEXTUAL_WARRANTS)


async def validate_contextual_warrants(bodies: Sequence[WarrantBody] | None) -> Sequence[NewWarrant]:
    """Returns what `read_contextual_warrants` does, with other requests in between when policies are read."""
    some = (bodies or ())[:MAX_CONTEXTUAL_WARRANTS]
    return read_contextual_warrants(bodies, await read_warrant_policies(some))


def decode_contextual_warrants(text: str | None) -> Sequence[WarrantBody]:
    """Returns the contextual warrants in a query string, which are the text of a JSON array."""
    if not text:
        return ()
    try:
        return decode_body(text.encode(), _DECODER, MAX_DEPTH)
    except UnknownMember as error:
        raise error.within(CONTEXTUAL_WARRANTS) from None
    except (InvalidRequest, UnicodeEncodeError):
        raise InvalidParameter(CONTEXTUAL_WARRANTS, "must be the JSON text of an array of warrants") from None
