"""Renders what a suite was read from: its model and warrants as lines of an import, and its tests as the text of a test
file in our own format (docs/model-testing.md#format), whatever the format of the file was."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from msgspec.structs import replace

from magistrate.engine.model import ObjectType
from magistrate.engine.model_tests.suite import Assertion, CheckAssertion, ModelSuite
from magistrate.engine.named_policy import NamedPolicy
from magistrate.engine.query.language import ObjectsQuery, render_query
from magistrate.engine.warrants import Warrant

Json = dict[str, Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def list_setup_lines(suite: ModelSuite) -> Iterator[Json]:
    """Yields the policies, the object types and the warrants of a suite in the JSON of the HTTP API."""
    yield from map(_render_policy, suite.policies)
    yield from map(_render_type, suite.types)
    yield from map(_render_warrant, suite.warrants)


def render_tests(suite: ModelSuite) -> str:
    """Returns the text of a test file with the warrants and the tests of a suite, but without its model. Every value is
    JSON, which YAML reads alike."""
    lines = ["setup:", "  warrants:", *(f"    - {_render_json(_write_warrant(one))}" for one in suite.warrants)]
    lines += ["tests:", *map(_write_test, suite.assertions)]
    return "\n".join(lines) + "\n"


def _render_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _render_policy(policy: NamedPolicy) -> Json:
    parameters = {name: str(of_type) for name, of_type in policy.parameters.items()}
    described = {"description": policy.description} if policy.description else {}
    return {"name": policy.name, "parameters": parameters, "expression": policy.expression, **described}


def _render_type(object_type: ObjectType) -> Json:
    rendered: Json = {"type": object_type.name, "relations": object_type.render_relations()}
    additions: Mapping[str, Any] = {
        "source": object_type.source,
        "allowedTypes": {relation: [*texts] for relation, texts in object_type.allowed_types.items()},
        "description": object_type.description,
        "descriptions": {**object_type.descriptions},
    }
    rendered |= {name: value for name, value in additions.items() if value}
    built: Json = msgspec.to_builtins(rendered)
    return built


def _render_warrant(warrant: Warrant) -> Json:
    subject = {"objectType": warrant.subject_type, "objectId": warrant.subject_id}
    if warrant.subject_relation:
        subject["relation"] = warrant.subject_relation
    rendered: Json = {"objectType": warrant.object_type, "objectId": warrant.object_id, "relation": warrant.relation}
    limits = {"startsAt": warrant.starts_at, "expiresAt": warrant.expires_at}
    policy = {"policy": warrant.policy} if warrant.policy else {}
    return rendered | {"subject": subject} | policy | _render_limits(limits)


def _write_warrant(warrant: Warrant) -> Json:
    limits = {"starts_at": warrant.starts_at, "expires_at": warrant.expires_at}
    policy = f"[{warrant.policy}]" if warrant.policy else ""
    return {"warrant": warrant.names.render() + policy, **_render_limits(limits)}


def _render_limits(limits: Mapping[str, int | None]) -> Json:
    return {
        name: (_EPOCH + timedelta(microseconds=limit)).isoformat().replace("+00:00", "Z")
        for name, limit in limits.items()
        if limit is not None
    }


def _write_test(assertion: Assertion) -> str:
    """Returns the line of a test, or that of a comment for a query that our language does not have."""
    query = None if isinstance(assertion, CheckAssertion) else assertion.query
    if isinstance(query, ObjectsQuery) and query.subject_relation:
        return f"  # the objects of a group cannot be queried: {_render_json(assertion.name)}"
    return f"  - {_render_json(_write_assertion(assertion))}"


def _write_assertion(assertion: Assertion) -> Json:
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


def _write_added(warrants: Sequence[Warrant]) -> Json:
    return {"warrants": [_write_warrant(one) for one in warrants]} if warrants else {}
