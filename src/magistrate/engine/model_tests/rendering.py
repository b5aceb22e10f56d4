"""Renders explanations as the API does, for those who describe the answers of the API (docs/explain.md)."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from magistrate.engine.explanation import Explanation, ExplanationNode, PolicyTrace, Suggestion
from magistrate.engine.names import WarrantNames
from magistrate.engine.nesting import fold
from magistrate.engine.truth import FALSE, TRUE, Truth
from magistrate.engine.warrants import Warrant

Json = dict[str, Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def render_explanation(explanation: Explanation) -> Json:
    """Returns an explanation as JSON: `path` if the check is allowed, otherwise `because` and `wouldAllow`."""
    if explanation.is_allowed:
        return {"decision": "allowed", "path": [_render_warrant(one) for one in explanation.path]}
    tree: Json = fold(explanation.tree, lambda node: node.children, _render_node)
    suggestions = [_render_suggestion(one) for one in explanation.suggestions]
    unfinished = {} if explanation.is_complete else {"complete": False}
    return {"decision": "denied", "unknown": [], "because": tree, "wouldAllow": suggestions, **unfinished}


def _render_node(node: ExplanationNode, children: Sequence[Json]) -> Json:
    rendered: Json = {"rule": node.rule} if node.rule else {"check": node.check}
    rendered |= {"holds": _render_truth(node.holds), "children": [*children], "cut": node.cut}
    if node.via is not None:
        rendered["via"] = _render_warrant(node.via)
    if node.out_of_force is not None:
        rendered["outOfForce"] = node.out_of_force
    if node.policy is not None:
        rendered["policy"] = _render_policy(node.policy)
    return rendered


def _render_policy(trace: PolicyTrace) -> Json:
    absent = {"missing": [*trace.missing], "long": [*trace.long]}
    return {"text": trace.text, "holds": _render_truth(trace.holds), "values": {**trace.values}, **absent}


def _render_truth(value: Truth) -> bool | str:
    return value is TRUE if value in (TRUE, FALSE) else "unknown"


def _render_suggestion(one: Suggestion) -> Json:
    context = {"missing": [*one.missing], "different": [*one.different], "example": {**one.example}}
    created = [_render_names(names, policy) for names, policy in one.create]
    deleted = [_render_warrant(warrant) for warrant in one.delete]
    effects = {"gained": one.effects.gained, "lost": one.effects.lost, "complete": one.effects.is_complete}
    return {"create": created, "delete": deleted, "context": context, "effects": effects, "note": one.note}


def _render_warrant(warrant: Warrant) -> Json:
    limits = {"startsAt": warrant.starts_at, "expiresAt": warrant.expires_at}
    shown = {name: _render_time(limit) for name, limit in limits.items() if limit is not None}
    return {**_render_names(warrant.names, warrant.policy), **shown}


def _render_names(names: WarrantNames, policy: str) -> Json:
    subject = {"objectType": names.subject_type, "objectId": names.subject_id, "relation": names.subject_relation}
    rendered = {"objectType": names.object_type, "objectId": names.object_id, "relation": names.relation}
    return {**rendered, "subject": subject, **({"policy": policy} if policy else {})}


def _render_time(microseconds: int) -> str:
    return (_EPOCH + timedelta(microseconds=microseconds)).isoformat().replace("+00:00", "Z")
