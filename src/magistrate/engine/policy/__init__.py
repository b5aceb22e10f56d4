"""Reads, compiles and evaluates policies, the conditions that warrants carry (see docs/policies.md).

`tokenizer.py` and `parser.py` read the text, `compiler.py` and the operator modules turn it into functions with static
types, `run.py` spends the budget of an evaluation, and `cache.py` keeps compiled policies. A new operator is a row in
`operators.py`, one in `tokenizer.py` and one in `parser.py`; a new function is a row in `functions.py`.
"""

from magistrate.engine.policy.cache import is_kept, read_policy
from magistrate.engine.policy.policy import MAX_POLICY_LENGTH, Policy, policy_of_context

__all__ = ["MAX_POLICY_LENGTH", "Policy", "is_kept", "policy_of_context", "read_policy"]
