"""Reads policies of warrants that name a policy of the model, and give values for some of its parameters:
`policy("below", {"limit": 5})` (docs/policies.md#warrants-that-name-a-policy).

Such a policy is the whole text: it is no function, and nothing can be combined with it. What it is worth depends on the
model that decides.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from magistrate.engine.names import PolicyName
from magistrate.engine.policy.node import Refusal
from magistrate.engine.terms import policy_name
from magistrate.errors import InvalidParameter

MAX_REFERENCE_LENGTH = 33_024
"""Limits such a policy in bytes of UTF-8: 32 KiB of values, and a name."""
MAX_VALUE_DEPTH = 128
"""Limits how deep lists and maps nest in the values."""

_BEGINNING = "policy("
_REFERENCE = re.compile(r'policy\(\s*+("(?:[^"\\]|\\.)*+")\s*+(?:,\s*+(\{.*\})\s*+)?\)', re.DOTALL)
_NESTING = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_VALUES = msgspec.json.Decoder(dict[str, Any])
_NAME = msgspec.json.Decoder(str)


class PolicyReference(msgspec.Struct, frozen=True):
    """Holds the name of a policy of the model, and the values that a warrant gives for its parameters."""

    name: PolicyName
    values: Mapping[str, Any]


def render_reference(name: PolicyName, values: Mapping[str, Any]) -> str:
    """Returns the policy of a warrant that names one of the model; equal values in any order give the same text."""
    rendered = msgspec.json.encode(values, order="sorted").decode()
    return f"{_BEGINNING}{msgspec.json.encode(name).decode()}, {rendered})"


def is_reference(text: str) -> bool:
    """Returns whether a policy of a warrant that was written names a policy of the model."""
    return text.startswith(_BEGINNING)


def read_reference(text: str) -> PolicyReference | None:
    """Returns what a policy refers to, None if it is an expression. Raises Refusal if it is neither."""
    if not is_reference(text):
        return None
    if len(text.encode(errors="surrogatepass")) > MAX_REFERENCE_LENGTH:
        raise Refusal(f"a policy with values must be at most {MAX_REFERENCE_LENGTH} bytes long", None)
    matched = _REFERENCE.fullmatch(text)
    if matched is None:
        raise Refusal('a warrant names a policy as policy("name", {"parameter": value}), and nothing else', 0)
    values = matched[2] or "{}"
    if _measure_depth(values) > MAX_VALUE_DEPTH:
        raise Refusal(f"values nested more than {MAX_VALUE_DEPTH} deep", matched.start(2))
    try:
        return PolicyReference(policy_name(_NAME.decode(matched[1]), "policy"), _VALUES.decode(values))
    except (msgspec.MsgspecError, UnicodeError):
        raise Refusal("the name and the values of a policy are written as in JSON", 0) from None
    except InvalidParameter as fault:
        raise Refusal(f"the name of a policy {fault.message}", 0) from None


def _measure_depth(text: str) -> int:
    depth = deepest = 0
    for sign in _NESTING.findall(text):
        if sign in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif sign in "]}":
            depth -= 1
    return deepest
