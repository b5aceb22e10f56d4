"""The bodies of requests of /fga/v1, from the written form of warrants."""

from typing import Any

from magistrate.engine.warrants.notation import read_written
from tests.running import Client


def fga_warrant(written: str) -> dict[str, Any]:
    """`document:plan#viewer@team:eng#member[policy]`, as a warrant to write or a check."""
    names, policy = read_written(written)
    subject = {"resource_type": names.subject_type, "resource_id": names.subject_id}
    return {
        "resource_type": names.object_type,
        "resource_id": names.object_id,
        "relation": names.relation,
        "subject": subject | ({"relation": names.subject_relation} if names.subject_relation else {}),
        **({"policy": policy} if policy else {}),
    }


def write(client: Client, *written: str, op: str = "create") -> str:
    """The token of a batch."""
    answer = client.post("/fga/v1/warrants", json=[fga_warrant(one) | {"op": op} for one in written])
    assert answer.status_code == 200, answer.text
    token: str = answer.json()["warrant_token"]
    return token


def check(client: Client, *written: str, context: dict[str, Any] | None = None, **members: Any) -> Any:
    """The answer to a check of these."""
    checks = [fga_warrant(one) | ({"context": context} if context is not None else {}) for one in written]
    answer = client.post("/fga/v1/check", json={"checks": checks, **members})
    assert answer.status_code == 200, answer.text
    return answer.json()
