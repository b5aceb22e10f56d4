"""What is known of a value before a policy is run: the kinds it may be of.

A kind is the Python type that stands for it. Every part of a policy has a set of kinds that holds the kind of whatever
it will turn out to be. An operand whose kinds cannot work is refused when the policy is written; so is a policy that
cannot be a bool.
"""

from types import NoneType

from magistrate.engine.policy.values import Duration, Time

Kinds = frozenset[type]

_GO_NAMES: dict[type, str] = {
    NoneType: "<nil>",
    bool: "bool",
    int: "int",
    float: "float64",
    str: "string",
    list: "[]interface {}",
    range: "[]int",
    dict: "map[string]interface {}",
    Time: "time.Time",
    Duration: "time.Duration",
}
"""Callers know these names from the Go server."""

ANY: Kinds = frozenset(_GO_NAMES)
NIL: Kinds = frozenset({NoneType})
BOOL: Kinds = frozenset({bool})
INT: Kinds = frozenset({int})
FLOAT: Kinds = frozenset({float})
NUMBER: Kinds = INT | FLOAT
STRING: Kinds = frozenset({str})
RANGE: Kinds = frozenset({range})
ARRAY: Kinds = frozenset({list})
LIST: Kinds = ARRAY | RANGE
MAP: Kinds = frozenset({dict})
TIME: Kinds = frozenset({Time})
DURATION: Kinds = frozenset({Duration})
NOTHING: Kinds = frozenset()


def go_type(kinds: Kinds) -> str:
    """What the Go server calls the type of such a value: by its name only if there is one kind."""
    return _GO_NAMES[next(iter(kinds))] if len(kinds) == 1 else "interface {}"


def render_kinds(kinds: Kinds) -> str:
    """`int or float64`; a value of any kind is `interface {}`."""
    return "interface {}" if kinds == ANY else " or ".join(name for kind, name in _GO_NAMES.items() if kind in kinds)
