"""Defines what the readers of test files make, whatever the format of the file: a model, warrants, and assertions."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from magistrate.engine.evaluation.check import Check
from magistrate.engine.lists.language import ObjectsQuery, Query, read_query, render_query
from magistrate.engine.model.object_types import ObjectType
from magistrate.engine.model.undefined_names import find_names_fault
from magistrate.engine.names import RelationName, TypeName, suggest_name
from magistrate.engine.policy.named_policies import NamedPolicy
from magistrate.engine.policy.policy import read_new_policy
from magistrate.engine.policy.values import EPOCH
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef, object_id_or_wildcard, relation_name, type_name, userset_relation
from magistrate.engine.text.faults import describe_fault
from magistrate.engine.text.json_documents import ModelContent, build_content
from magistrate.engine.text.reports import find_meaningless, is_json, report_text, report_value
from magistrate.engine.warrants.notation import Written, read_written
from magistrate.engine.warrants.warrant import Warrant, WarrantNames
from magistrate.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Reason:
    """Represents a check that a denial comes to, and whether it holds."""

    names: WarrantNames
    holds: bool

    def render(self) -> str:
        return self.names.render() if self.holds else f"not {self.names.render()}"

    def to_check(self, context: Mapping[str, Any]) -> Check:
        names = self.names
        return Check(ObjectRef(names.object_type, names.object_id), names.relation, names.subject, context)


@dataclass(frozen=True, slots=True)
class CheckAssertion:
    """Asserts that a check is allowed, or that it is not.

    `name` is how messages name the assertion. The warrants in `added` count for this assertion alone. A denial must
    also depend on each reason in `because`."""

    name: str
    check: Check
    is_allowed: bool
    added: Sequence[Warrant] = ()
    because: Sequence[Reason] = ()


@dataclass(frozen=True, slots=True)
class QueryAssertion:
    """Asserts the rows of a query, as `document:plan`, or all of them as `document:plan#viewer`, in any order. Without
    `is_complete`, there may be others."""

    name: str
    query: Query
    expected: Collection[str]
    context: Mapping[str, Any] = field(default_factory=dict)
    added: Sequence[Warrant] = ()
    is_complete: bool = True


Assertion = CheckAssertion | QueryAssertion


@dataclass(frozen=True, slots=True)
class ModelSuite:
    """Holds what one test file says. Policies and time limits are evaluated at `now`, in microseconds since 1970 UTC.
    Each warrant has been validated like one that is written, allowed types included. `restore_names` puts the names of
    the file into a message, if they differ from those of the model."""

    types: Sequence[ObjectType]
    policies: Sequence[NamedPolicy]
    warrants: Sequence[Warrant]
    assertions: Sequence[Assertion]
    now: int
    restore_names: Callable[[str], str] = str


def read_list(value: object, place: str) -> Sequence[Any]:
    """Returns a list, which is empty if there is no value. Raises InvalidRequest."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidRequest(f"{place}: must be a list")
    return value


def read_object(value: object, place: str) -> Mapping[str, Any]:
    """Returns an object. Raises InvalidRequest."""
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"{place}: must be an object")
    return value


def read_microseconds(text: str) -> int:
    """Returns a time in RFC 3339 as microseconds since 1970 UTC. Raises ValueError or TypeError."""
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)


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


class GivenModel(NamedTuple):
    """Holds the text of the model for files that have none, and the name of its file."""

    name: str
    text: str


def read_suite(value: object, read_file: ReadFile, now: int, given_model: GivenModel | None = None) -> ModelSuite:
    """Returns the suite that a parsed file describes; `now` counts unless the file states the time. Raises
    InvalidRequest, which says where in the file the first fault is."""
    members = _read_members(value, _FILE_MEMBERS, "the file")
    content = _read_model(members, read_file, given_model)
    types = {of_type.name: of_type for of_type in content.types}
    at = _read_time(members["now"], "now") if "now" in members else now
    setup = _read_members(members.get("setup", {}), _SETUP_MEMBERS, "setup")
    warrants = _read_warrants(setup.get("warrants"), "setup.warrants", types, at)
    tests = read_list(members.get("tests"), "tests")
    assertions = [
        assertion
        for place, test in enumerate(tests)
        for assertion in _read_test(test, f"tests[{place}]", types, at, before=len(warrants))
    ]
    return ModelSuite(content.types, content.policies, warrants, assertions, now=at)


def _read_members(value: object, names: Sequence[str], place: str) -> Json:
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"{place}: must be an object with the members {', '.join(names)}")
    for name in value:
        if name not in names:
            raise InvalidRequest(f"{place}: {name!r} is not a member{suggest_name(str(name)[:64], names)}")
    return {name: member for name, member in value.items() if member is not None or name in _LISTS_OF_ROWS}


def _read_text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(f"{place}: must be a text")
    return value


def _read_model(members: Json, read_file: ReadFile, given_model: GivenModel | None) -> ModelContent:
    """Returns the model of the file. Raises InvalidRequest with the first fault of a model that is not valid."""
    if "model" in members and "model_file" in members:
        raise InvalidRequest("the file: must not have both model and model_file")
    name = "model"
    text: Any = members.get("model")
    if "model_file" in members:
        name = _read_text(members["model_file"], "model_file")
        text = read_file(name)
    elif "model" not in members:
        if given_model is None:
            raise InvalidRequest("the file: must have model or model_file, unless --model names a model")
        name, text = given_model
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
        return read_microseconds(_read_text(value, place))
    except (ValueError, TypeError):
        raise InvalidRequest(f"{place}: {value!r} is not a time with a zone, as in 2026-11-20T10:00:00Z") from None


def _read_warrants(
    value: object, place: str, types: Mapping[TypeName, ObjectType], now: int, before: int = 0
) -> list[Warrant]:
    """Returns warrants, which must be such that they could be written with these types."""
    warrants = []
    for index, element in enumerate(read_list(value, place)):
        where = f"{place}[{index}]"
        members = {"warrant": element} if isinstance(element, str) else _read_members(element, _WARRANT_MEMBERS, where)
        if "warrant" not in members:
            policy = _read_text(members.get("policy") or "", f"{where}.policy")
            members = {**members, "warrant": _join_check(members, where) + (f"[{policy}]" if policy else "")}
        limits = [
            _read_time(members[name], f"{where}.{name}") if name in members else None
            for name in ("starts_at", "expires_at")
        ]
        text = _read_text(members.get("warrant"), f"{where}.warrant")
        with_names = _read_within(where, lambda text: _read_names(read_written(text)), text)
        object_ref, relation, subject, policy = with_names
        names = (object_ref.type, object_ref.id, relation, subject.type, subject.id, subject.relation)
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
    userset = userset_relation(names.subject_relation, "relation")
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
    context = read_object(members.get("context") or {}, f"{place}.context")
    added = _read_warrants(members.get("warrants"), f"{place}.warrants", types, now, before=before)
    name = _read_text(members.get("name", ""), f"{place}.name")
    if "query" in members:
        yield _read_query(members, name, place, context, added=added)
    elif "check" in members:
        yield _read_check(members, name, place, context, added=added)
    else:
        checks = members["checks"]
        if not isinstance(checks, Mapping):
            raise InvalidRequest(f"{place}.checks: must be an object: true or false by check")
        for text, answer in checks.items():
            check_members = {**members, "check": text, "expect": answer}
            yield _read_check(check_members, f"{name}: {text}" if name else "", place, context, added=added)


def _read_query(members: Json, name: str, place: str, context: Json, added: Sequence[Warrant]) -> QueryAssertion:
    text = _read_text(members["query"], f"{place}.query")
    if "denied_because" in members:
        raise InvalidRequest(f"{place}: denied_because belongs to a check")
    expected = [_read_text(row, f"{place}.expect") for row in read_list(members.get("expect"), f"{place}.expect")]
    if "expect" not in members:
        raise InvalidRequest(f"{place}: must have expect, the list of rows")
    return QueryAssertion(name or text, _read_within(place, read_query, text), expected, context, added=added)


def _read_check(members: Json, name: str, place: str, context: Json, added: Sequence[Warrant]) -> CheckAssertion:
    written = members["check"]
    if isinstance(written, Mapping):
        written = _join_check(_read_members(written, _CHECK_MEMBERS, f"{place}.check"), f"{place}.check")
    text = _read_text(written, f"{place}.check")
    object_ref, relation, subject, policy = _read_within(place, lambda text: _read_names(read_written(text)), text)
    if policy:
        raise InvalidRequest(f"{place}: {text}: a check has no policy; its variables belong to context")
    because = [*_read_reasons(members.get("denied_because"), f"{place}.denied_because")]
    answer = members.get("expect", False if because else None)
    if not isinstance(answer, bool | str) or answer not in _ANSWERS:
        raise InvalidRequest(f"{place}.expect: must be true or false, allowed or denied")
    if because and _ANSWERS[answer]:
        raise InvalidRequest(f"{place}: denied_because belongs to a check that is denied")
    return CheckAssertion(
        name or text, Check(object_ref, relation, subject, context), _ANSWERS[answer], added, because=because
    )


def _read_reasons(value: object, place: str) -> Iterator[Reason]:
    """Yields checks that hold; `not` before one says that it does not."""
    for element in [value] if isinstance(value, str) else read_list(value, place):
        text = _read_text(element, place)
        written = _read_within(place, read_written, text.removeprefix("not "))
        if written.policy:
            raise InvalidRequest(f"{place}: {text}: a check has no policy; its variables belong to context")
        yield Reason(written.names, not text.startswith("not "))


RenderedJson = dict[str, Any]


def list_setup_lines(suite: ModelSuite) -> Iterator[RenderedJson]:
    """Yields the policies, the object types and the warrants of a suite in the JSON of the HTTP API."""
    yield from map(_render_policy, suite.policies)
    yield from map(_render_type, suite.types)
    yield from map(_render_warrant, suite.warrants)


def render_tests(suite: ModelSuite) -> str:
    """Returns the text of a test file with the warrants and the tests of a suite, but without its model. Every value is
    JSON, which YAML reads alike."""
    lines = ["setup:", "  warrants:", *(f"    - {_render_json(_write_warrant(warrant))}" for warrant in suite.warrants)]
    lines += ["tests:", *map(_write_test, suite.assertions)]
    return "\n".join(lines) + "\n"


def _render_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _render_policy(policy: NamedPolicy) -> RenderedJson:
    parameters = {name: str(of_type) for name, of_type in policy.parameters.items()}
    described = {"description": policy.description} if policy.description else {}
    return {"name": policy.name, "parameters": parameters, "expression": policy.expression, **described}


def _render_type(object_type: ObjectType) -> RenderedJson:
    rendered: RenderedJson = {"type": object_type.name, "relations": object_type.render_relations()}
    additions: Mapping[str, Any] = {
        "source": object_type.source,
        "allowedTypes": {relation: [*texts] for relation, texts in object_type.allowed_types.items()},
        "actions": {**object_type.actions},
        "description": object_type.description,
        "descriptions": {**object_type.descriptions},
    }
    rendered |= {name: value for name, value in additions.items() if value}
    built: RenderedJson = msgspec.to_builtins(rendered)
    return built


def _render_warrant(warrant: Warrant) -> RenderedJson:
    subject = {"objectType": warrant.subject_type, "objectId": warrant.subject_id}
    if warrant.subject_relation:
        subject["relation"] = warrant.subject_relation
    rendered: RenderedJson = {
        "objectType": warrant.object_type,
        "objectId": warrant.object_id,
        "relation": warrant.relation,
    }
    limits = {"startsAt": warrant.starts_at, "expiresAt": warrant.expires_at}
    policy = {"policy": warrant.policy} if warrant.policy else {}
    return rendered | {"subject": subject} | policy | _render_limits(limits)


def _write_warrant(warrant: Warrant) -> RenderedJson:
    limits = {"starts_at": warrant.starts_at, "expires_at": warrant.expires_at}
    policy = f"[{warrant.policy}]" if warrant.policy else ""
    return {"warrant": warrant.names.render() + policy, **_render_limits(limits)}


def _render_limits(limits: Mapping[str, int | None]) -> RenderedJson:
    return {
        name: (EPOCH + timedelta(microseconds=limit)).isoformat().replace("+00:00", "Z")
        for name, limit in limits.items()
        if limit is not None
    }


def _write_test(assertion: Assertion) -> str:
    """Returns the line of a test, or that of a comment for a query that our language does not have."""
    query = None if isinstance(assertion, CheckAssertion) else assertion.query
    if isinstance(query, ObjectsQuery) and query.subject_relation:
        return f"  # the objects of a group cannot be queried: {_render_json(assertion.name)}"
    return f"  - {_render_json(_write_assertion(assertion))}"


def _write_assertion(assertion: Assertion) -> RenderedJson:
    added = _write_added(assertion.added)
    if not isinstance(assertion, CheckAssertion):
        context = {"context": {**assertion.context}} if assertion.context else {}
        query = render_query(assertion.query)
        return {"name": assertion.name, "query": query, **context, **added, "expect": [*assertion.expected]}
    check = assertion.check
    context = {"context": {**check.context}} if check.context else {}
    because = [reason.render() for reason in assertion.because]
    reasons = {"denied_because": because} if because else {}
    written = {"name": assertion.name, "check": replace(check, context={}).render(), **context, **added}
    return {**written, "expect": assertion.is_allowed, **reasons}


def _write_added(warrants: Sequence[Warrant]) -> RenderedJson:
    return {"warrants": [_write_warrant(warrant) for warrant in warrants]} if warrants else {}
