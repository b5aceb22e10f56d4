"""Shows explanations with the names of OpenFGA, where answers have them (docs/openfga.md#in-answers-of-v2)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from magistrate.cli.output import render_warrant
from magistrate.engine.nesting import fold

Node = dict[str, Any]
Names = Mapping[str, Mapping[str, str]]
"""Maps types, relations, ids and conditions each to their names in OpenFGA."""

_WORD = re.compile(r"[A-Za-z0-9_%-]+")
_KINDS = ("types", "relations", "ids", "conditions")


class SplitCheck(NamedTuple):
    """Holds what the text of a check says: `document:plan`, `viewer`, and `user:ann` or `team:eng#member`."""

    object: str
    relation: str
    subject: str


def split_check(text: str) -> SplitCheck:
    """Splits the text of a check, as answers have it, in names of ours or of OpenFGA."""
    of_object, _, relation_and_subject = text.partition("#")
    relation, _, subject = relation_and_subject.partition("@")
    return SplitCheck(of_object, relation, subject)


def show_names(answer: dict[str, Any]) -> dict[str, Any]:
    """Returns an explanation with the names of OpenFGA, as far as it has them; the changes that it suggests, too, which
    then are no longer those that a request can have."""
    names = answer.get("names")
    if names is None:
        return answer

    def show_node(node: Node, children: Sequence[Node]) -> Node:
        shown = {**node, "children": children} if children else {**node}
        if "check" in node:
            shown["check"] = _show_check(node["check"], names)
        if "rule" in node:
            shown["rule"] = show_text(node["rule"], names)
        if "via" in node:
            shown["via"] = _show_warrant(node["via"], names)
        if "policy" in node:
            shown["policy"] = {**node["policy"], "text": show_text(node["policy"]["text"], names)}
        return shown

    shown = {**answer, "because": fold(answer["because"], lambda node: node.get("children", ()), show_node)}
    if "wouldAllow" in answer:
        shown["wouldAllow"] = [_show_suggestion(suggestion, names) for suggestion in answer["wouldAllow"]]
    return shown


def describe_in_openfga(warrant: dict[str, Any], names: Names) -> str:
    """Returns what OpenFGA calls a warrant that a request has to name as we do; the empty text if it is the same."""
    shown = render_warrant(_show_warrant(warrant, names))
    return "" if shown == render_warrant(warrant) else f"in OpenFGA: {shown}"


def show_text(text: str, names: Names) -> str:
    """Returns a sentence with the names of OpenFGA."""
    everything = {name: shown for kind in _KINDS for name, shown in names.get(kind, {}).items()}
    return _WORD.sub(lambda word: everything.get(word[0], word[0]), text)


def _show_suggestion(suggestion: dict[str, Any], names: Names) -> dict[str, Any]:
    changed = {change: [_show_warrant(each, names) for each in suggestion[change]] for change in ("create", "delete")}
    return {**suggestion, **changed}


def _show_check(text: str, names: Names) -> str:
    # importing msgspec takes a moment, which commands without such checks need not wait for
    from magistrate.engine.warrants.notation import read_rendered_check

    ours = read_rendered_check(text)
    if ours is None:
        return text
    kinds = ("types", "ids", "relations", "types", "ids", "relations")
    shown = [names.get(kind, {}).get(name, name) for kind, name in zip(kinds, ours, strict=True)]
    return type(ours)._make(shown).render()


def _show_warrant(warrant: dict[str, Any], names: Names) -> dict[str, Any]:
    shown = {**_show_ref(warrant, names), "subject": _show_ref(warrant["subject"], names)}
    if "policy" in warrant:
        shown["policy"] = show_text(warrant["policy"], names)
    return shown


def _show_ref(ref: dict[str, Any], names: Names) -> dict[str, Any]:
    members = {"objectType": "types", "objectId": "ids", "relation": "relations"}
    shown = {
        member: names.get(kind, {}).get(ref[member], ref[member]) for member, kind in members.items() if member in ref
    }
    return {**ref, **shown}
