"""Reads the members of a test file in our own format (docs/model-testing.md#format) into a suite."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from magistrate.engine.check import Check
from magistrate.engine.model import ObjectType
from magistrate.engine.model_tests.suite import Assertion, CheckAssertion, ModelSuite, QueryAssertion, Reason
from magistrate.engine.model_tests.values import read_list
from magistrate.engine.model_text.building import ModelContent, build_content
from magistrate.engine.model_text.faults import describe_fault
from magistrate.engine.model_text.meaning import find_meaningless
from magistrate.engine.model_text.reports import is_json, report_text, report_value
from magistrate.engine.policy import read_new_policy
from magistrate.engine.query.language import read_query
from magistrate.engine.suggestions import suggest_name
from magistrate.engine.terms import (
    ObjectRef,
    RelationName,
    Subject,
    TypeName,
    object_id_or_wildcard,
    relation_name,
    type_name,
)
from magistrate.engine.warrant_faults import find_names_fault
from magistrate.engine.warrants import Warrant
from magistrate.engine.written import Written, read_written
from magistrate.errors import InvalidRequest

Json = Mapping[str, Any]
ReadFile = Callable[[str], str]
"""Returns the text of a file that a test file names. Raises InvalidRequest."""

_FILE_MEMBERS = ("name", "model", "model_file", "now", "setup", "tests", "teardown")
_SETUP_MEMBERS = ("warrants",)
_CHECK_MEMBERS = ("subject", "relation", "resource")
_WARRANT_MEMBERS = ("warrant", *_CHECK_MEMBERS, "policy", "starts_at", "expires_at")
_TEST_MEMBERS = ("name", "check", "query", "checks", "context", "warrants", "expect", "denied_because")
_LISTS_OF_ROWS = ("expect",)
"""Lists members that must be there, but may be empty; all others that have no value are as if they were not there."""
_ANSWERS = {True: True, False: False, "allowed": True, "denied": False, "authorized": True, "not_authorized": False}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class GivenModel(NamedTuple):
    """Holds the text of the model for files that have none, and the name of its file."""

    name: str
    text: str


def read_suite(value: object, read_file: ReadFile, now: int, given: GivenModel | None = None) -> ModelSuite:
    """Returns the suite that a parsed file describes; `now` counts unless the file states the time. Raises
    InvalidRequest, which says where in the file the first fault is."""
    members = _read_members(value, _FILE_MEMBERS, "the file")
    content = _read_model(members, read_file, given)
    types = {one.name: one for one in content.types}
    at = _read_time(members["now"], "now") if "now" in members else now
    setup = _read_members(members.get("setup", {}), _SETUP_MEMBERS, "setup")
    warrants = _read_warrants(setup.get("warrants"), "setup.warrants", types, at)
    tests = read_list(members.get("tests"), "tests")
    assertions = [
        assertion
        for place, test in enumerate(tests)
        for assertion in _read_test(test, f"tests[{place}]", types, at, len(warrants))
    ]
    return ModelSuite(content.types, content.policies, warrants, assertions, at)


def _read_members(value: object, known: Sequence[str], place: str) -> Json:
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"{place}: must be an object with the members {', '.join(known)}")
    for name in value:
        if name not in known:
            raise InvalidRequest(f"{place}: {name!r} is not a member{suggest_name(str(name)[:64], known)}")
    return {name: member for name, member in value.items() if member is not None or name in _LISTS_OF_ROWS}


def _read_text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(f"{place}: must be a text")
    return value


def _read_model(members: Json, read_file: ReadFile, given: GivenModel | None) -> ModelContent:
    """Returns the model of the file. Raises InvalidRequest with the first fault of a model that is not valid."""
    if "model" in members and "model_file" in members:
        raise InvalidRequest("the file: must not have both model and model_file")
    name = "model"
    text: Any = members.get("model")
    if "model_file" in members:
        name = _read_text(members["model_file"], "model_file")
        text = read_file(name)
    elif "model" not in members:
        if given is None:
            raise InvalidRequest("the file: must have model or model_file, unless --model names a model")
        name, text = given
    if not isinstance(text, str):
        report = report_value(text, "")
    elif is_json(text):
        report = report_value(_parse_json(text, name), text)
    else:
        report = report_text(text)
    faults = report.errors or find_meaningless(report.document)
    if faults:
        raise InvalidRequest(describe_fault(text if isinstance(text, str) else "", faults[0], name))
    return build_content(report.document)


def _parse_json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"{name} is not valid JSON: {error}") from None


def _read_time(value: object, place: str) -> int:
    """Returns a time in RFC 3339 as microseconds since 1970 UTC."""
    try:
        moment = datetime.fromisoformat(_read_text(value, place))
        return (moment - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, TypeError):
        raise InvalidRequest(f"{place}: {value!r} is not a time with a zone, as in 2026-11-20T10:00:00Z") from None


def _read_warrants(
    value: object, place: str, types: Mapping[TypeName, ObjectType], now: int, before: int = 0
) -> list[Warrant]:
    """Returns warrants, which must be such that they could be written with these types."""
    warrants = []
    for index, one in enumerate(read_list(value, place)):
        where = f"{place}[{index}]"
        members = {"warrant": one} if isinstance(one, str) else _read_members(one, _WARRANT_MEMBERS, where)
        if "warrant" not in members:
            policy = _read_text(members.get("policy") or "", f"{where}.policy")
            members = {**members, "warrant": _join_check(members, where) + (f"[{policy}]" if policy else "")}
        limits = [
            _read_time(members[name], f"{where}.{name}") if name in members else None
            for name in ("starts_at", "expires_at")
        ]
        text = _read_text(members.get("warrant"), f"{where}.warrant")
        with_names = _read_within(where, lambda text: _read_names(read_written(text)), text)
        object, relation, subject, policy = with_names
        names = (object.type, object.id, relation, subject.type, subject.id, subject.relation or "")
        warrant = Warrant(*names, policy, now, 1 + before + index, *limits)
        fault = find_names_fault(warrant.names, types)
        if fault is not None:
            raise InvalidRequest(f"{where}: {text}: {fault.message}")
        warrants.append(warrant)
    return warrants


def _join_check(members: Json, place: str) -> str:
    """Returns the written form of what names its subject, relation and resource separately."""
    subject, relation, resource = (_read_text(members.get(name), f"{place}.{name}") for name in _CHECK_MEMBERS)
    return f"{resource}#{relation}@{subject}"


def _read_within(place: str, read: Callable[[str], Any], text: str) -> Any:
    try:
        return read(text)
    except InvalidRequest as fault:
        raise InvalidRequest(f"{place}: {text[:200]}: {fault.message}") from None


def _read_names(written: Written) -> tuple[ObjectRef, RelationName, Subject, str]:
    names = written.names
    if written.policy:
        read_new_policy(written.policy)
    userset = relation_name(names.subject_relation, "relation") if names.subject_relation else None
    return (
        ObjectRef(type_name(names.object_type, "objectType"), object_id_or_wildcard(names.object_id, "objectId")),
        relation_name(names.relation, "relation"),
        Subject(type_name(names.subject_type, "subject"), object_id_or_wildcard(names.subject_id, "subject"), userset),
        written.policy,
    )


def _read_test(
    value: object, place: str, types: Mapping[TypeName, ObjectType], now: int, before: int
) -> Iterator[Assertion]:
    members = _read_members(value, _TEST_MEMBERS, place)
    if sum(name in members for name in ("check", "query", "checks")) != 1:
        raise InvalidRequest(f"{place}: must have one of check, checks and query")
    context = members.get("context") or {}
    if not isinstance(context, Mapping):
        raise InvalidRequest(f"{place}.context: must be an object")
    added = _read_warrants(members.get("warrants"), f"{place}.warrants", types, now, before)
    name = _read_text(members.get("name", ""), f"{place}.name")
    if "query" in members:
        yield _read_query(members, name, place, context, added)
    elif "check" in members:
        yield _read_check(members, name, place, context, added)
    else:
        checks = members["checks"]
        if not isinstance(checks, Mapping):
            raise InvalidRequest(f"{place}.checks: must be an object: true or false by check")
        for text, answer in checks.items():
            given = {**members, "check": text, "expect": answer}
            yield _read_check(given, f"{name}: {text}" if name else "", place, context, added)


def _read_query(members: Json, name: str, place: str, context: Json, added: Sequence[Warrant]) -> QueryAssertion:
    text = _read_text(members["query"], f"{place}.query")
    if "denied_because" in members:
        raise InvalidRequest(f"{place}: denied_because belongs to a check")
    expected = [_read_text(one, f"{place}.expect") for one in read_list(members.get("expect"), f"{place}.expect")]
    if "expect" not in members:
        raise InvalidRequest(f"{place}: must have expect, the list of rows")
    return QueryAssertion(name or text, _read_within(place, read_query, text), expected, context, added)


def _read_check(members: Json, name: str, place: str, context: Json, added: Sequence[Warrant]) -> CheckAssertion:
    written = members["check"]
    if isinstance(written, Mapping):
        written = _join_check(_read_members(written, _CHECK_MEMBERS, f"{place}.check"), f"{place}.check")
    text = _read_text(written, f"{place}.check")
    object, relation, subject, policy = _read_within(place, lambda text: _read_names(read_written(text)), text)
    if policy:
        raise InvalidRequest(f"{place}: {text}: a check has no policy; its variables belong to context")
    because = [*_read_reasons(members.get("denied_because"), f"{place}.denied_because")]
    answer = members.get("expect", False if because else None)
    if not isinstance(answer, bool | str) or answer not in _ANSWERS:
        raise InvalidRequest(f"{place}.expect: must be true or false, allowed or denied")
    if because and _ANSWERS[answer]:
        raise InvalidRequest(f"{place}: denied_because belongs to a check that is denied")
    return CheckAssertion(name or text, Check(object, relation, subject, context), _ANSWERS[answer], added, because)


def _read_reasons(value: object, place: str) -> Iterator[Reason]:
    """Yields checks that hold; `not` before one says that it does not."""
    for one in [value] if isinstance(value, str) else read_list(value, place):
        text = _read_text(one, place)
        written = _read_within(place, read_written, text.removeprefix("not "))
        if written.policy:
            raise InvalidRequest(f"{place}: {text}: a check has no policy; its variables belong to context")
        yield Reason(written.names, not text.startswith("not "))
