"""Models with named policies."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from magistrate.engine.policy.policy import read_policy
from magistrate.engine.warrants.warrant import Warrant
from tests.properties.models import Types, model
from tests.properties.queries import CONTEXT

NAMED: dict[str, tuple[dict[str, str], str]] = {
    "yes": ({"x": "integer"}, "x == 1"),
    "no": ({"x": "float"}, "x == 2"),
    "lacking": ({"y": "string"}, "y == y"),
    "mistyped": ({"x": "string"}, "x == x"),
    "breaking": ({"x": "integer"}, "[1, 2][int(x) + 5] == 1"),
}
"""With `x` 1: holds, does not hold, and three that are unknown."""

VALUES: Mapping[str, bool] = {"yes": True, "no": False}


@st.composite
def named_model(draw: st.DrawFn) -> Types:
    """A model in which some empty rules are named policies instead."""
    names = st.sampled_from(("", "yes", "yes", "no", *NAMED, "gone"))

    def replaced(rule: dict[str, Any]) -> dict[str, Any]:
        if "rules" in rule:
            return rule | {"rules": [replaced(one) for one in rule["rules"]]}
        name = "" if rule else draw(names)
        return {"policy": name} if name else rule

    return {
        of_type: {relation: replaced(rule) for relation, rule in relations.items()}
        for of_type, relations in draw(model()).items()
    }


def holds(warrant: Warrant) -> bool | None:
    if warrant.policy.startswith("@"):
        return VALUES.get(warrant.policy[1:])
    return read_policy(warrant.policy).outcome(CONTEXT, warrant, 0).value
