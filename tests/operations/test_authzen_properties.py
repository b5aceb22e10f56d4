"""Contexts that observe whether policies read the properties of a subject or resource."""

import pytest

from magistrate.engine.policy.policy import read_policy
from magistrate.engine.warrants.warrant import NO_WARRANT
from magistrate.operations.authzen.properties import ObservedContext


@pytest.mark.parametrize(
    ("policy", "variables", "value", "reads"),
    [
        ("x == 1", {"x": 1, "subject": {}}, True, set()),
        ("action.soft == true", {"action": {"soft": True}}, True, set()),
        ("action.soft == nil", {}, True, set()),
        ('subject.role == "admin"', {"subject": {"role": "admin"}}, True, {"subject"}),
        ("resource.level > 1 || subject.level > 1", {"resource": {"level": 2}}, True, {"resource", "subject"}),
        ('$env.subject.role == "admin"', {"subject": {"role": "guest"}}, False, {"subject"}),
        ('"x" in $env', {"x": 1}, True, {"resource", "subject"}),
    ],
)
def test_what_a_policy_reads_is_noted_unless_it_is_no_stored_property(
    policy: str, variables: dict[str, object], value: bool, reads: set[str]
) -> None:
    noted: set[str] = set()

    found = read_policy(policy).outcome(ObservedContext(variables, noted), NO_WARRANT, 0).value

    assert (found, noted) == (value, reads)
