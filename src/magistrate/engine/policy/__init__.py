"""Reads, compiles and evaluates policies, the conditions that warrants carry (see docs/policies.md).

`tokenizer.py` and `parser.py` read the text; `compiler.py` and the operator modules check the types and turn it into
functions. A policy is compiled when it is written, with variables of any type, and then once for each combination of
types that its variables have in a context. `run.py` spends the budget of an evaluation. A new operator is a row in
`operators.py`, one in `checking.py`, one in `tokenizer.py` and one in `parser.py`; a new function is a row in
`functions.py`, or in `own_functions.py` if Go `expr` does not have it.
"""

from magistrate.engine.policy.policy import (
    LONG_POLICY,
    MAX_POLICY_LENGTH,
    Policy,
    PolicyOutcome,
    PolicyProgram,
    is_kept,
    keep_policy,
    may_read_clock,
    measure_policies,
    parse_policy,
    policy_of_context,
    read_new_policy,
    read_policy,
)
from magistrate.engine.policy.run import MAX_STEPS, STEPS_AT_ONCE

__all__ = [
    "LONG_POLICY",
    "MAX_POLICY_LENGTH",
    "MAX_STEPS",
    "STEPS_AT_ONCE",
    "Policy",
    "PolicyOutcome",
    "PolicyProgram",
    "is_kept",
    "keep_policy",
    "may_read_clock",
    "measure_policies",
    "parse_policy",
    "policy_of_context",
    "read_new_policy",
    "read_policy",
]
