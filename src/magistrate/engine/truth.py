"""The values of a decision, in their order: FALSE < UNKNOWN < MISSING < TRUE.

UNKNOWN is what a policy with a run-time error is worth, and what rests on its own negation: a grant that does not
count, and no proof of absence either (docs/compatibility.md#object-types and docs/compatibility.md#policies). MISSING
is likewise no answer, because an object type that matters is not defined. With this order *or* is the greatest and
*and* the least of the values (Kleene's strong logic, with two ways of not knowing)."""

from typing import NewType

Truth = NewType("Truth", int)

FALSE = Truth(0)
UNKNOWN = Truth(1)
MISSING = Truth(2)
TRUE = Truth(3)

NEGATED = (TRUE, UNKNOWN, MISSING, FALSE)
"""By value: whoever does not know whether a thing holds does not know whether it does not."""
