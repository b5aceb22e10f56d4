"""Defines what an explanation of a check says (docs/explain.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from magistrate_client.refs import Warrant, read_warrant_row


class Suggestion(NamedTuple):
    """Is a change that would allow a denied check. `context` has the variables that it needs, and `effects` how many
    rows of access others gain and lose by it."""

    create: list[Warrant]
    delete: list[Warrant]
    context: Mapping[str, Any]
    effects: Mapping[str, Any]
    note: str

    def __str__(self) -> str:
        changes = [f"delete {warrant}" for warrant in self.delete] + [f"create {warrant}" for warrant in self.create]
        return " and ".join(changes)


class Explanation(NamedTuple):
    """Says why a check is allowed or denied.

    `path` has the warrants from the subject to the object if it is allowed, `would_allow` the changes that would allow
    it otherwise, and `because` the tree of steps as the service has it."""

    allowed: bool
    check: str
    summary: str
    path: list[Warrant]
    would_allow: list[Suggestion]
    unknown: list[str]
    is_complete: bool
    because: Mapping[str, Any]


def read_explanation(check: Mapping[str, Any], body: Mapping[str, Any]) -> Explanation:
    """Returns the explanation in an answer, given the check as it was sent."""
    suggestions = [
        Suggestion(
            [read_warrant_row(row) for row in suggested["create"]],
            [read_warrant_row(row) for row in suggested["delete"]],
            suggested.get("context", {}),
            suggested.get("effects", {}),
            suggested.get("note", ""),
        )
        for suggested in body.get("wouldAllow", ())
    ]
    allowed = body["decision"] == "allowed"
    return Explanation(
        allowed,
        body["check"],
        _summarize(check, allowed, suggestions),
        [read_warrant_row(row) for row in body.get("path", ())],
        suggestions,
        [str(sentence) for sentence in body.get("unknown", ())],
        body.get("complete", True),
        body["because"],
    )


def _summarize(check: Mapping[str, Any], allowed: bool, suggestions: list[Suggestion]) -> str:
    """Returns the decision as a sentence, with the first warrants whose writing or deletion would change a denial."""
    if allowed:
        return render_decision(check, allowed)
    changes = [str(suggestion) for suggestion in suggestions if str(suggestion)]
    return render_decision(check, allowed) + (f"; {changes[0]} would allow it" if changes else "")


def render_decision(check: Mapping[str, Any], allowed: bool) -> str:
    """Returns the decision of a check as a sentence."""
    subject = check["subject"]
    group = f"#{subject['relation']}" if "relation" in subject else ""
    return (
        f"{subject['objectType']}:{subject['objectId']}{group} is {'' if allowed else 'not '}{check['relation']} of "
        f"{check['objectType']}:{check['objectId']}"
    )
