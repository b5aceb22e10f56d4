"""Reads typed arguments into the values of requests. All functions raise InvalidRequest, which says how to write
them."""

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import TYPE_CHECKING, Any

import click

from magistrate.cli.completion import complete_objects
from magistrate.engine.names import unquote_id
from magistrate.errors import InvalidRequest

if TYPE_CHECKING:
    from magistrate.client import CheckJson, LimitsJson, RefJson, SubjectJson, WarrantJson
    from magistrate.engine.rules.rule_operator import RuleOperator
    from magistrate.engine.warrants.notation import Written


def find_operator(keyword: str) -> "type[RuleOperator] | None":
    """Returns the operator over rules of this keyword, or None. The rules take a moment to import."""
    from magistrate.engine.rules import RULE_OPERATORS

    return RULE_OPERATORS.get(keyword)


def read_warrant_names(text: str) -> "Written":
    """Reads the names and the policy of a warrant in written form, which takes a moment to import, too."""
    from magistrate.engine.warrants.notation import read_written

    return read_written(text)


def read_check(text: str) -> "CheckJson":
    """Reads a check, such as `document:plan#viewer@user:ann`."""
    written = read_warrant_names(text)
    if written.policy:
        raise InvalidRequest(
            f"{text!r} has a policy; write a check without one, and pass the variables of policies with --context"
        )
    return _render_names(written)


def read_warrant(text: str, policy: str | None = None, limits: "LimitsJson | None" = None) -> "WarrantJson":
    """Reads a warrant with the policy in its brackets, or with the policy given separately."""
    written = read_warrant_names(text)
    if written.policy and policy is not None:
        raise InvalidRequest(f"{text!r} has a policy already; leave out --policy, or the brackets")
    return {**_render_names(written), "policy": written.policy or policy or "", **(limits or {})}


def _render_names(written: "Written") -> "CheckJson":
    names = written.names
    subject: SubjectJson = {
        "objectType": names.subject_type,
        "objectId": names.subject_id,
        "relation": names.subject_relation,
    }
    return {
        "objectType": names.object_type,
        "objectId": names.object_id,
        "relation": names.relation,
        "subject": subject,
    }


def read_type(text: str) -> str:
    """Reads an object type, such as `document`."""
    if not text or "/" in text:
        raise InvalidRequest(f"{text!r} cannot be the name of an object type")
    return text


def read_ref(text: str) -> "RefJson":
    """Reads an object, such as `document:plan`."""
    of_type, _, object_id = text.partition(":")
    if not of_type or not object_id:
        raise InvalidRequest(f"{text!r} is not an object; write it like document:plan")
    return {"objectType": of_type, "objectId": unquote_id(object_id)}


context_option = click.option(
    "--context",
    metavar="KEY=TEXT",
    multiple=True,
    help="variables for policies: key=text, key:=JSON, or a JSON object; can be repeated",
)
"""Collects values for `read_context`."""


with_option = click.option(
    "--with",
    "contextual",
    metavar="WARRANT",
    multiple=True,
    shell_complete=complete_objects,
    help="a warrant that counts as if it were written, for this command alone; can be repeated",
)
"""Collects values for `read_contextual`."""


def read_contextual(texts: Iterable[str]) -> "list[WarrantJson]":
    """Reads contextual warrants, such as `team:eng#member@user:ann`, with their policies in brackets."""
    return [read_warrant(text) for text in texts]


def read_context(texts: Iterable[str]) -> dict[str, Any]:
    """Reads a context, of which each part is a JSON object or one value: `tenant=acme` is a text, `amount:=50` is JSON.
    The last of equal keys counts."""
    context: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if text.lstrip().startswith("{"):
            context |= read_json_object(text, "--context")
        elif not equals or not key.rstrip(":"):
            raise InvalidRequest(f"--context {text!r} is neither key=text, key:=JSON nor a JSON object")
        elif key.endswith(":"):
            context[key[:-1]] = read_json(value, f"--context {text}")
        else:
            context[key] = value
    return context


_SPAN = re.compile(r"([0-9]{1,18})([smhd])")
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def read_time(text: str, origin: str) -> int:
    """Reads a time, such as `2026-11-20T10:00Z`, or how long ago it was, such as `15m`, and returns microseconds since
    1970. A time without a zone is in UTC."""
    ago = _read_span(text)
    at = datetime.now(UTC) if ago is not None else _read_moment(text, origin, "how long ago")
    return (at - datetime.fromtimestamp(0, UTC) - (ago or timedelta())) // timedelta(microseconds=1)


def read_limit(text: str, origin: str) -> str:
    """Reads a time, such as `2026-12-01T10:00Z`, or how far ahead it is, such as `3d`, and returns it as RFC 3339. A
    time without a zone is in UTC."""
    ahead = _read_span(text)
    try:
        at = datetime.now(UTC) + ahead if ahead is not None else _read_moment(text, origin, "how far ahead")
        return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except OverflowError:
        raise InvalidRequest(f"{origin} {text!r} is too far away; the last year is {datetime.max.year}") from None


def _read_span(text: str) -> timedelta | None:
    """Returns a span, at most the longest that there is; None if the text is not one."""
    span = _SPAN.fullmatch(text)
    if span is None:
        return None
    seconds = int(span[1]) * _UNITS[span[2]]
    return timedelta(seconds=min(seconds, timedelta.max // timedelta(seconds=1)))


def _read_moment(text: str, origin: str, meaning: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidRequest(
            f"{origin} {text!r} is neither a time, as in 2026-11-20T10:00Z, nor {meaning}, as in 15m or 3d"
        ) from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


as_of_option = click.option(
    "--as-of",
    metavar="WHEN",
    help="answer as of a past time, as in 2026-11-20T10:00 (UTC unless a zone is stated), or how long ago, as in 3d, "
    "or a token",
)
"""Collects a value for `read_as_of`."""

_TOKEN = re.compile(r"[A-Za-z0-9_-]{28}(?:[A-Za-z0-9_-]{6})?(?:\.\d{1,18})?", re.ASCII)


def read_as_of(text: str | None, origin: str = "--as-of") -> str | None:
    """Returns the point in time in the form of the API: a token, the id of an event, or an RFC 3339 time. None
    stands for now."""
    if text is None or _TOKEN.fullmatch(text):
        return text
    try:
        at = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=read_time(text, origin))
    except OverflowError:
        raise InvalidRequest(f"{origin} {text!r} is further back than any calendar") from None
    except InvalidRequest as error:
        raise InvalidRequest(f"{error.message}, nor a token") from None
    return at.isoformat().replace("+00:00", "Z")


def read_json_object(text: str, origin: str) -> dict[str, Any]:
    value = read_json(text, origin)
    if not isinstance(value, dict):
        raise InvalidRequest(f'{origin} must be a JSON object, as in {{"title": "Plan"}}')
    return value


def read_json(text: str, origin: str) -> Any:
    """Reads JSON. Repeated members are refused, as the service does, because it is not defined which one counts."""
    try:
        return json.loads(text, object_pairs_hook=_members, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"{origin} is not valid JSON: {error}") from error


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member is given twice in one object")
    return members


def _refuse_constant(constant: str) -> Any:
    """Refuses NaN and Infinity, which Python would read and write."""
    raise ValueError(f"{constant} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    return value if isfinite(value) else _refuse_constant(text)
