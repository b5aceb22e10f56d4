"""The tables of what client libraries can do: which scenario calls a method, and which request the method sends."""

import re
from pathlib import Path

import yaml

from tests.running import KEY, Client

FOLDER = Path(__file__).parent
DOCUMENT = FOLDER.parents[1] / "docs" / "warrant-sdks.md"

MethodTable = dict[str, dict[str, str | None]]
"""By scenario and method: `DELETE /v2/objects/{objectType}/{objectId}`, with ` (array)` if the body is one; None if
the method sends nothing."""


def read_methods(library: str) -> MethodTable:
    table: MethodTable = yaml.safe_load((FOLDER / f"{library}.yaml").read_text())
    return table


WARRANT_PYTHON = read_methods("warrant-python")
WARRANT_NODE = read_methods("warrant-node")
WARRANT_JS = read_methods("warrant-js")
WORKOS_PYTHON = read_methods("workos-python")
WORKOS_NODE = read_methods("workos-node")


def method_names(table: MethodTable) -> list[str]:
    return [method for methods in table.values() for method in methods]


def is_request(told: str | None, sent: str) -> bool:
    """Whether a request as it was sent, `DELETE /v2/objects/user/ann`, is the one in the table."""
    return told is not None and re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(told)), sent) is not None


def methods_table(table: MethodTable) -> str:
    """The table for docs/warrant-sdks.md."""
    rows = [
        f"| `{method}` | {f'`{request}`' if request else 'nothing'} | {scenario} |"
        for scenario, methods in table.items()
        for method, request in methods.items()
    ]
    return "\n".join(["| method | sends | works: shown by scenario |", "|---|---|---|", *rows])


def example_of(language: str, service: Client) -> str:
    """The first example in this language of docs/warrant-sdks.md, pointed at the service."""
    _, _, rest = DOCUMENT.read_text().partition(f"```{language}\n")
    code, _, _ = rest.partition("```")
    assert "http://127.0.0.1:8000" in code
    return code.replace("http://127.0.0.1:8000", str(service.base_url).rstrip("/")).replace("the-key", KEY)
