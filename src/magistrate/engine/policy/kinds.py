"""Defines the kinds that a value may be of, as known before a policy is run.

A kind is the Python type that stands for it. Every part of a policy has a set of kinds that includes the kind of every
value it can have. An operand whose kinds cannot work is refused when the policy is written; so is a policy that cannot
be a bool.
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
"""Maps kinds to the names that callers know from the Go server."""

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
    """Returns the Go server's name for the type of such a value; a specific name only if there is one kind."""
    return _GO_NAMES[next(iter(kinds))] if len(kinds) == 1 else "interface {}"


def render_kinds(kinds: Kinds) -> str:
    """Returns the kinds in text form: `int or float64`; a value of any kind is `interface {}`."""
    return "interface {}" if kinds == ANY else " or ".join(name for kind, name in _GO_NAMES.items() if kind in kinds)
