"""Implements policies: conditions in text form that a warrant may carry (docs/compatibility.md#policies).

A policy is compiled once into functions that call each other, and evaluated as often as needed. See docs/policies.md
for the language.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from magistrate.engine.policy.kinds import BOOL, go_type
from magistrate.engine.policy.literals import is_variable, render_string
from magistrate.engine.policy.node import Evaluate, PolicyNode, Refusal
from magistrate.engine.policy.parser import parse
from magistrate.engine.policy.patterns import MAX_PATTERNS
from magistrate.engine.policy.run import MAX_STEPS, Fault, PolicyRun
from magistrate.engine.positions import position
from magistrate.engine.warrants import Warrant
from magistrate.errors import InvalidParameter

MAX_POLICY_LENGTH = 4_096
"""Limits a policy in bytes of UTF-8 (4 KiB)."""


class PolicyOutcome(NamedTuple):
    """Holds the result of `Policy.holds`, the steps that grew with the context, and whether the result may differ at
    another time."""

    value: bool | None
    steps: int
    read_clock: bool


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """Represents a compiled policy; only `read_policy` makes one. `weight`: how many parts one evaluation runs through
    at most, loops once."""

    text: str
    evaluate: Evaluate
    weight: int

    def holds(self, context: Mapping[str, Any], warrant: Warrant, now: int) -> bool | None:
        """Returns whether the condition is true of this context; None after a run-time error, when the result is
        unknown.

        Context values are what JSON can hold. `now` is in microseconds since 1970 UTC. Never raises; the work is
        bounded by MAX_STEPS whatever the policy and the context."""
        return self.outcome(context, warrant, now).value

    def outcome(self, context: Mapping[str, Any], warrant: Warrant, now: int) -> PolicyOutcome:
        run = PolicyRun(context, warrant, now)
        try:
            value = self.evaluate(run)
        except (Fault, ArithmeticError):  # Python itself raises on division by zero and on float overflow
            value = None
        return PolicyOutcome(value if type(value) is bool else None, MAX_STEPS - run.steps, run.read_clock)


def compile_policy(text: str) -> Policy:
    """Returns the policy of a text. Raises InvalidParameter: see `read_policy` in cache.py."""
    if len(text.encode(errors="surrogatepass")) > MAX_POLICY_LENGTH:
        raise InvalidParameter("policy", f"must be at most {MAX_POLICY_LENGTH} bytes long")
    try:
        root = compile_text(text)
        return Policy(text, root.evaluate, root.weight)
    except Refusal as refusal:
        fault = _describe_refusal(text, refusal)
        raise InvalidParameter("policy", f"error validating policy '{text}': {fault}") from refusal


def policy_of_context(context: Mapping[str, str]) -> str:
    """Returns the policy that requires every member of a context, in the order of their names; "" for the empty one.

    Raises InvalidParameter, parameter `context`, for a name that cannot be a variable."""
    for name in context:
        if not is_variable(name) or name == "warrant":
            raise InvalidParameter("context", f"'{name}' cannot be the name of a variable in a policy")
    return " && ".join(f"{name} == {render_string(context[name])}" for name in sorted(context))


def compile_text(text: str) -> PolicyNode:
    """Returns the root node of a policy, for `read_policy`. Raises Refusal."""
    root = parse(text)
    if "\0" in text:  # it could be in a string or a comment; PostgreSQL could not store it
        raise Refusal("unrecognized character U+0000", text.index("\0"))
    if root.free_item is not None:
        raise Refusal("# and .field stand for an element and need a closure around them", root.free_item)
    if root.patterns > MAX_PATTERNS:
        raise Refusal(f"a policy can have at most {MAX_PATTERNS} regular expressions", None)
    if not root.kinds & BOOL:
        raise Refusal(f"expected bool, but got {go_type(root.kinds)}", None)
    return root


def _describe_refusal(text: str, refusal: Refusal) -> str:
    """Returns the reason, with the position and the line it is on if it is known."""
    if refusal.offset is None:
        return refusal.reason
    at = position(text, refusal.offset)
    shown = at.text.rstrip("\r").replace("\t", " ")
    return f"{refusal.reason} ({at}){at.mark_in(shown)}"
