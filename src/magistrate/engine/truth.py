"""Defines the values of a decision, in the order FALSE < UNKNOWN < UNDEFINED < TRUE.

With this order *or* is the greatest and *and* the least of the values (Kleene's strong logic, with two kinds of
unknown). Members are compared by `is`, which costs least; the order serves `min` and `max`.
"""

from enum import IntEnum
from typing import Final


class Truth(IntEnum):
    """Represents whether a subject has a relation; there are no other values.

    UNKNOWN is the value of a policy with a run-time error, and of a relation that depends on its own negation: it
    neither grants access nor proves its absence (docs/compatibility.md#object-types and
    docs/compatibility.md#policies). UNDEFINED is likewise undecided, because an object type that matters is not
    defined.
    """

    FALSE = 0
    UNKNOWN = 1
    UNDEFINED = 2
    TRUE = 3


FALSE: Final = Truth.FALSE
UNKNOWN: Final = Truth.UNKNOWN
UNDEFINED: Final = Truth.UNDEFINED
TRUE: Final = Truth.TRUE


def negate(value: Truth) -> Truth:
    """Returns the negation; an unknown value stays unknown."""
    if value is FALSE:
        return TRUE
    return FALSE if value is TRUE else value
