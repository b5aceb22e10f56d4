"""Decides about requests to a web application, whatever its framework: which object is meant, whether the subject has
the relation on it, and with which status a request is rejected.

The modules of frameworks (`magistrate_client.fastapi`, `starlette`, `django`, `flask`) translate a Rejection into an
answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID

from magistrate_client.errors import (
    InternalError,
    InvalidParameter,
    InvalidUse,
    RevisionLost,
    TooManyRequests,
    Unavailable,
    Unreachable,
)
from magistrate_client.ids import is_id
from magistrate_client.refs import AnyObject, AnySubject, ObjectRef, SubjectRef

if TYPE_CHECKING:
    from magistrate_client.asynchronous.client import AsyncClient
    from magistrate_client.synchronous.client import Client

TEMPORARY = (Unreachable, Unavailable, TooManyRequests, InternalError, RevisionLost)
"""Lists the errors after which the same check may be answered later. All others are faults of the application."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TEMPLATE = re.compile(r"([a-z0-9_-]{1,64}):((?:[^{}]|\{[A-Za-z_][A-Za-z0-9_]*\})+)", re.DOTALL)
_PARAMETER = re.compile(r"\{([^{}]*)\}")


class Rejection(Exception):
    """Reports that a request must not go on, and the status of its answer: 401, 403, 404 or 503."""

    def __init__(self, status: int, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after

    @property
    def headers(self) -> dict[str, str]:
        """Returns the headers that the answer needs."""
        if self.status == 401:
            return {"WWW-Authenticate": "Bearer"}
        if self.status == 503:
            return {"Retry-After": str(max(1, round(self.retry_after or 1)))}
        return {}


class ObjectTemplate:
    """Names an object by the parameters of a route: `document:{document_id}`. Only the id has parameters.

    Two different lists of values never name the same object: where there are several parameters, something stands
    between them, and no value may have a character of that."""

    def __init__(self, text: str) -> None:
        matched = _TEMPLATE.fullmatch(text)
        if matched is None:
            raise InvalidUse(f"{text!r} does not read as type:id with parameters in the id, like document:{{name}}")
        self._text = text
        self._type = matched[1]
        [self._prefix, *rest] = _PARAMETER.split(matched[2])
        self._parts = list(zip(rest[::2], rest[1::2]))
        if not is_id("".join(["x", self._prefix, *rest[1::2]])):
            raise InvalidUse(f"{text!r} has characters that no id has")
        between = [literal for _, literal in self._parts[:-1]]
        if not all(between):
            raise InvalidUse(f"{text!r} has parameters with nothing between them, so that its objects are ambiguous")
        self._separators = frozenset("".join(between))

    def name_object(self, parameters: Mapping[str, Any]) -> ObjectRef:
        """Returns the object that the parameters of a request name. Raises Rejection with 404 if no object can have
        this id, and InvalidUse if the route lacks a parameter."""
        named = [self._prefix]
        for name, literal in self._parts:
            value = self._read(name, parameters)
            if not value or not self._separators.isdisjoint(value):
                raise Rejection(404, "Not Found")
            named += (value, literal)
        object_id = "".join(named)
        if not is_id(object_id):
            raise Rejection(404, "Not Found")
        return ObjectRef(self._type, object_id)

    def _read(self, name: str, parameters: Mapping[str, Any]) -> str:
        value = parameters.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, (int, UUID)) and not isinstance(value, bool):
            return str(value)
        raise InvalidUse(
            f"the route has no parameter {name!r} with a text, number or UUID for the object {self._text!r}"
        )


def read_object(named: AnyObject) -> ObjectRef:
    """Returns the object that a value of the application names; in a text, all behind the first `:` is the id. Raises
    Rejection with 404 for an id that no object can have."""
    if isinstance(named, str):
        kind, colon, object_id = named.partition(":")
        if not kind or not colon or not object_id:
            raise InvalidUse(f"the object {named!r} does not read as type:id")
        named = ObjectRef(kind, object_id)
    if not is_id(named.id):
        raise Rejection(404, "Not Found")
    return named


def read_subject(subject: AnySubject | None) -> SubjectRef:
    """Returns who makes a request: one subject. Raises Rejection with 401 for None, and with 403 for an id that no
    subject can have.

    In a text, all behind the first `:` is the id, so no name of a user becomes a group or everyone."""
    if subject is None:
        raise Rejection(401, "Unauthorized")
    if isinstance(subject, str):
        kind, colon, subject_id = subject.partition(":")
        if not kind or not colon or not subject_id:
            raise InvalidUse(f"the subject {subject!r} does not read as type:id")
        subject = SubjectRef(kind, subject_id)
    if not is_id(subject.id):
        raise Rejection(403, "Forbidden")
    return subject if isinstance(subject, SubjectRef) else SubjectRef(subject.type, subject.id)


class Guard:
    """Requires that the subject of a request has a relation on the object that the request is about."""

    def __init__(self, relation: str, object: str) -> None:
        if not _NAME.fullmatch(relation):
            raise InvalidUse(f"{relation!r} is no name of a relation")
        self.relation = relation
        self._template = ObjectTemplate(object)

    def admit(self, client: Client, subject: AnySubject | None, parameters: Mapping[str, Any]) -> ObjectRef:
        """Returns the object of a request that may go on. Raises Rejection for any other."""
        found, named = read_subject(subject), self._template.name_object(parameters)
        with translate_errors():
            allowed = client.check(found, self.relation, named)
        return _choose(allowed, named)

    async def admit_async(
        self, client: AsyncClient, subject: AnySubject | None, parameters: Mapping[str, Any]
    ) -> ObjectRef:
        """Returns the same as `admit`."""
        found, named = read_subject(subject), self._template.name_object(parameters)
        with translate_errors():
            allowed = await client.check(found, self.relation, named)
        return _choose(allowed, named)


def _choose(allowed: bool, named: ObjectRef) -> ObjectRef:
    if allowed is not True:
        raise Rejection(403, "Forbidden")
    return named


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turns errors of a check into rejections where the caller can do something about them: wait, or name something
    else."""
    try:
        yield
    except TEMPORARY as error:
        raise Rejection(503, "Service Unavailable", getattr(error, "retry_after", None)) from error
    except InvalidParameter as error:
        if not (error.parameter or "").endswith("objectId"):
            raise
        raise Rejection(404, "Not Found") from error  # a letter that is newer than those of ids
