"""Says in words why a check was denied and what would allow it, from the answer of /v2/explain (docs/explain.md)."""

import json
import re
from collections.abc import Iterator, Sequence, Set
from typing import Any

from magistrate.cli.checks.foreign_names import Names, describe_in_openfga, show_names, show_text, split_check
from magistrate.cli.input import find_operator
from magistrate.cli.output import align_columns, render_object, render_subject, render_warrant
from magistrate.engine.nesting import fold
from magistrate.terminal import printable

Node = dict[str, Any]
Suggestion = dict[str, Any]
Steps = list[list[str]]
"""Holds the cells of lines: who, is what of, whom, and a condition."""

_WORD = re.compile(r"[^\W\d]\w*")
_STRING = re.compile(r"\"[^\"]*\"|'[^']*'")
_ADJECTIVE = re.compile(r"(?:ed|able|ible|idden|open|public|private)$|^(?:can|may|is)[-_]")
"""Matches a relation that is said of somebody like an adjective or a verb; the console has the same pattern."""


MAX_SUGGESTIONS = 5
"""Limits the suggestions that are printed with a denial; `magistrate explain` prints all of them."""


def describe_denial(answer: dict[str, Any]) -> Iterator[str]:
    """Yields lines: the names that are not defined, the closest that the check comes to being allowed, and what would
    allow it."""
    shown = show_names(answer)
    yield from map(printable, answer["unknown"])
    yield from _describe_failure(shown["because"], shown["wouldAllow"])
    yield from describe_suggestions(answer, MAX_SUGGESTIONS)
    if len(answer["wouldAllow"]) > MAX_SUGGESTIONS:
        yield f"`magistrate explain` shows {len(answer['wouldAllow']) - MAX_SUGGESTIONS} more"


def describe_suggestions(answer: dict[str, Any], most: int | None = None) -> Iterator[str]:
    """Yields lines on the changes, with the names that requests have, and those of OpenFGA beside them."""
    suggestions, names = answer.get("wouldAllow", []), answer.get("names", {})
    if suggestions:
        yield "any one of these would allow it:" if len(suggestions) > 1 else "this would allow it:"
    for suggestion in suggestions[:most]:
        changes = list(_list_changes(suggestion, names))
        for place, (verb, what, foreign) in enumerate(changes):
            joined = f"  and {verb}" if place else verb.ljust(6)
            is_last = place == len(changes) - 1
            notes = [foreign]
            if is_last:
                notes += [show_text(suggestion["note"], names), _describe_effects(suggestion)]
            note = f"  ({'; '.join(filter(None, notes))})" if any(notes) else ""
            yield f"  {joined}  {printable(what + note)}"
    if answer.get("complete") is False:
        yield "the search was ended by its limit; there may be others"


def _describe_effects(suggestion: Suggestion) -> str:
    """Returns how many rows of access others gain and lose; nothing of a suggestion that writes nothing."""
    if not suggestion["create"] and not suggestion["delete"]:
        return ""
    effects = suggestion["effects"]
    least = "" if effects["complete"] else "at least "
    counts = ((verb, effects[name]) for verb, name in (("lose", "lost"), ("gain", "gained")))
    changes = [f"others {verb} {least}{count:,}" for verb, count in counts if count]
    if changes:
        return ", ".join(changes)
    return "no effect on others" if effects["complete"] else "effect on others not counted"


def step(warrant: dict[str, Any]) -> list[str]:
    """Returns a warrant as the cells of a line."""
    condition = f"if {warrant['policy']}" if "policy" in warrant else ""
    relation = say_relation(warrant["relation"])
    return [render_subject(warrant["subject"]), f"is {relation}", render_object(warrant), condition]


def say_relation(relation: str) -> str:
    """Returns a relation with its preposition: `viewer of`, but `blocked on` and `can-read on`."""
    return f"{relation} {'on' if _ADJECTIVE.search(relation) else 'of'}"


def describe_policy(policy: dict[str, Any]) -> str:
    """Returns the condition, and why it does not hold if it does not."""
    if policy["holds"] is True:
        return f"if {policy['text']}"
    reasons = [f"{name} was not sent" for name in policy.get("missing", [])]
    reasons += [f"{name} is {json.dumps(value)}" for name, value in policy.get("values", {}).items()]
    reasons += [f"{name} is what was sent" for name in policy.get("long", [])]
    if not reasons:
        reasons = ["it does not hold" if policy["holds"] is False else "it cannot be evaluated"]
    return f"if {policy['text']}, but {' and '.join(reasons)}"


def describe_limit(node: Node) -> str:
    """Returns which time limit keeps the warrant of a node from counting."""
    warrant = node["via"]
    is_expired = node["outOfForce"] == "expired"
    return f"(expired at {warrant['expiresAt']})" if is_expired else f"(starts at {warrant['startsAt']})"


def _list_changes(suggestion: Suggestion, names: Names) -> Iterator[tuple[str, str, str]]:
    """Yields each change: what is done, to what, and what OpenFGA calls that if it has another name for it."""
    for verb in ("delete", "create"):
        for warrant in suggestion[verb]:
            yield verb, render_warrant(warrant), describe_in_openfga(warrant, names)
    for name, value in suggestion["context"].get("example", {}).items():
        yield "send", f"{name}:={json.dumps(value)}" if not isinstance(value, str) else f"{name}={value}", ""


def _list_wanted(suggestions: Sequence[Suggestion]) -> list[str]:
    """Returns the warrants that alone would allow the check, in written form."""
    single = (
        suggestion
        for suggestion in suggestions
        if not suggestion["delete"] and not suggestion["context"].get("example")
    )
    return [render_warrant(suggestion["create"][0]) for suggestion in single if len(suggestion["create"]) == 1]


def _describe_failure(root: Node, suggestions: Sequence[Suggestion]) -> Iterator[str]:
    """Yields lines on the rules that are not met, from the checked relation inwards."""
    node, relation = root, ""
    while True:
        relation = _relation(node) or relation
        child = _closest(node)
        if child is None or "rule" not in child:
            break
        node = child
        if _excludes(node):
            yield from _describe_exclusion(node, relation)
            return
        children, operator = node.get("children", []), find_operator(node["rule"])
        requires = "" if operator is not None and not operator.is_monotone else f", as {relation} requires"
        for child in children:
            if child["holds"] is True and _reasons(child):
                yield f"{_sentence(child)}{requires}:"
                yield from _indent(_reasons(child))
        node = next((child for child in children if child["holds"] is not True), node)
        if "rule" in node and _excludes(node):
            yield from _describe_exclusion(node, relation)
            return
    yield from _describe_shortfall(node, suggestions)


def _excludes(node: Node) -> bool:
    """Returns whether the node is a rule that does not hold because others do."""
    operator = find_operator(node["rule"])
    return operator is not None and operator.is_antitone


def _describe_exclusion(node: Node, relation: str) -> Iterator[str]:
    for child in node.get("children", []):
        if child["holds"] is True:
            reasons = _reasons(child)
            yield f"{_sentence(child)}, which rules out {relation}{':' if reasons else ''}"
            yield from _indent(reasons)
        else:
            yield f"it is unknown whether {_sentence(child)}, which would rule out {relation}"


def _describe_shortfall(node: Node, suggestions: Sequence[Suggestion]) -> Iterator[str]:
    """Yields lines on a relation that the subject does not have: what is nearest to it."""
    chain = _find_chain(node, suggestions)
    last = chain[-1]
    if "rule" in last:
        yield _sentence(node, "is not")
        return
    steps: Steps = _reasons(last) if last["holds"] is True else []
    if "via" in last and last["holds"] is True:
        steps = steps[:-1]
    elif not _has_condition(last) or last.get("children"):
        steps = [_describe_lack(last)]
    steps += [_step_of(link) for link in reversed(chain) if "via" in link]
    if len(steps) < 2 and not steps[0][3]:
        yield f"{_sentence(node, 'is not')}, and nothing that is written leads there"
        return
    yield f"{_sentence(node, 'is not')}; the closest it comes:"
    yield from _indent(steps)


def _find_chain(node: Node, suggestions: Sequence[Suggestion]) -> list[Node]:
    """Returns the nodes from this one to the one that is nearest to holding: what a policy or a time limit prevents,
    those first that a suggestion satisfies; else what the first suggestion is about, else the first at all."""
    suggested = _list_wanted(suggestions)
    examples = [suggestion["context"].get("example", {}).keys() for suggestion in suggestions]
    chains: list[list[Node]] = [[node]]
    best, best_rank = [node], (3, 0)
    for chain in chains:  # grows during the loop
        for child in chain[-1].get("children", []):
            if "rule" not in child:
                chains.append([*chain, child])
                rank = _rank(child, suggested, examples)
                if rank < best_rank:
                    best, best_rank = chains[-1], rank
    return best


def _rank(node: Node, suggested: Sequence[str], examples: Sequence[Set[str]]) -> tuple[int, int]:
    if "outOfForce" in node:
        return (0, 0) if render_warrant(node["via"]) in suggested else (1, 0)
    policy = node.get("policy")
    if policy is not None and policy["holds"] is not True:
        return min(
            (0, _count_others(policy, example)) if _is_about(policy, example) else (1, 0)
            for example in (*examples, frozenset[str]())
        )
    return (2, suggested.index(node["check"])) if node["check"] in suggested else (2, len(suggested))


def _is_about(policy: Node, example: Set[str]) -> bool:
    """Returns whether these variables may be all that a policy needs."""
    variables = {*policy.get("values", {}), *policy.get("missing", []), *policy.get("long", [])}
    return variables <= example and any(name in policy["text"] for name in example)


def _count_others(policy: Node, names: Set[str]) -> int:
    """Returns how many other words the text of a policy has: the fewer, the likelier these variables are all of it."""
    return len({*_WORD.findall(_STRING.sub("", policy["text"]))} - names)


def _has_condition(node: Node) -> bool:
    return "policy" in node or "outOfForce" in node


def _closest(node: Node) -> Node | None:
    children = [child for child in node.get("children", []) if child["holds"] is not True or _has_condition(child)]
    return children[0] if children else None


def _reasons(node: Node) -> Steps:
    """Returns the warrants that a node which holds depends on, from the subject on."""
    return fold(node, _list_holding, _join_reasons)


def _list_holding(node: Node) -> list[Node]:
    return [child for child in node.get("children", []) if child["holds"] is True]


def _join_reasons(node: Node, inner: Sequence[Steps]) -> Steps:
    own = [_step_of(node)] if "via" in node else []
    return [*(line for lines in inner for line in lines), *own]


def _step_of(node: Node) -> list[str]:
    conditions = [describe_policy(node["policy"])] if "policy" in node else []
    conditions += [describe_limit(node)] if "outOfForce" in node else []
    return [*step(node["via"])[:3], "  ".join(conditions)]


def _describe_lack(node: Node) -> list[str]:
    check = split_check(node["check"])
    return [check.subject, f"is not {say_relation(check.relation)}", check.object, ""]


def _sentence(node: Node, verb: str = "is") -> str:
    if "rule" in node:
        condition = f" ({describe_policy(node['policy'])})" if "policy" in node else ""
        return printable(f"the rule {node['rule']!r} {'holds' if verb == 'is' else 'does not hold'}{condition}")
    subject, _, on_object, _ = _describe_lack(node)
    return printable(f"{subject} {verb} {say_relation(_relation(node))} {on_object}")


def _relation(node: Node) -> str:
    return "" if "rule" in node else split_check(node["check"]).relation


def _indent(steps: Steps) -> Iterator[str]:
    return ("  " + line for line in align_columns(steps))
