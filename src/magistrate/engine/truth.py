"""Defines the values of a decision, in the order FALSE < UNKNOWN < MISSING < TRUE.

UNKNOWN is the value of a policy with a run-time error, and of a relation that rests on its own negation: it neither
grants access nor proves its absence (docs/compatibility.md#object-types and docs/compatibility.md#policies). MISSING is
likewise undecided, because an object type that matters is not defined. With this order *or* is the greatest and *and*
the least of the values (Kleene's strong logic, with two kinds of unknown).
"""

from typing import NewType

Truth = NewType("Truth", int)

FALSE = Truth(0)
UNKNOWN = Truth(1)
MISSING = Truth(2)
TRUE = Truth(3)

NEGATED = (TRUE, UNKNOWN, MISSING, FALSE)
"""Maps each value to its negation; an unknown value stays unknown."""
