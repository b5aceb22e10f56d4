"""Explains checks: why one is allowed or denied, and what would allow it (docs/explain.md).

`explaining.py` drives it: it evaluates the check, finds the path, builds the tree (`tree.py`, which chooses what a node
that holds rests on by `supports.py`), and searches for changes (`suggesting.py`). That search collects from the graph
of the decision which changes could matter (`repairs.py`, for policies `policy_values.py`), and tries each with an
evaluation of its own over the same warrants (`known_warrants.py`), through an overlay (engine/overlay.py). Which
warrants link objects, `links.py` knows; `new_links.py` searches for links to create.

Operators answer for themselves: what matters for a value, and what is enough for another (rules/rule_operator.py).
"""

from magistrate.engine.explanation.changes import Effects, Suggestion, order_by_harm
from magistrate.engine.explanation.explaining import WORK_FOR_SUGGESTIONS, Explanation, ExplanationSearch
from magistrate.engine.explanation.new_links import LinkSearch
from magistrate.engine.explanation.tree import ExplanationNode, OutOfForce, PolicyTrace

__all__ = [
    "WORK_FOR_SUGGESTIONS",
    "Effects",
    "Explanation",
    "ExplanationNode",
    "ExplanationSearch",
    "LinkSearch",
    "OutOfForce",
    "PolicyTrace",
    "Suggestion",
    "order_by_harm",
]
