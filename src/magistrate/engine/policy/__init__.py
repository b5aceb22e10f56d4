"""The policy language: conditions that warrants carry, read, checked and evaluated (docs/compatibility.md#policies).

A new operator is a row in operators.py, one in tokenizer.py and one in parser.py; a new function is a row in
functions.py.
"""

from magistrate.engine.policy.cache import is_kept, read_policy
from magistrate.engine.policy.policy import MAX_POLICY_LENGTH, Policy, policy_of_context

__all__ = ["MAX_POLICY_LENGTH", "Policy", "is_kept", "policy_of_context", "read_policy"]
