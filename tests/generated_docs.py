"""The parts of docs/ and of the console that are read off the code: `./run docs` writes them, test_docs.py demands
them."""

import importlib
import inspect
import json
import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from magistrate.api.authzen.routes import AUTHZEN_ROUTES
from magistrate.api.endpoints.public import PAGES
from magistrate.api.fga.routes import FGA_ROUTES
from magistrate.api.http.error_bodies import ERROR_TABLE
from magistrate.api.http.metric_table import DASHBOARDS, METRIC_TABLE
from magistrate.api.http.pages import list_console_pages
from magistrate.api.openfga.routes import OPENFGA_ROUTES
from magistrate.api.route import Route
from magistrate.api.route_table import V2_ROUTES
from magistrate.api.v1.routes import v1_routes
from magistrate.config.settings_table import SETTINGS
from magistrate.engine.rules import RULE_OPERATORS
from magistrate.errors import MagistrateError
from tests.clients.methods import (
    WARRANT_JS,
    WARRANT_NODE,
    WARRANT_PYTHON,
    WORKOS_NODE,
    WORKOS_PYTHON,
    methods_table,
)
from tests.kubernetes.values_schema import values_schema
from tests.monitoring.alerts import alerts_table, render_rules
from tests.monitoring.dashboards import find_panel, render_dashboard

ROOT = Path(__file__).parents[1]


def settings_table() -> str:
    rows = []
    for setting in SETTINGS:
        default = f"`{setting.default_text}`" if setting.default != "" else ""
        rows.append(f"| `{setting.flag}` | `{setting.variable}` | {default} | {setting.meaning} |")
    return "\n".join(["| flag | variable | default | meaning |", "|---|---|---|---|", *rows])


def routes_table() -> str:
    pages = [
        f"| `GET {page.path}` | {f'`{page.scope}`' if page.scope else ''} | "
        f"{page.meaning}{'' if page.scope else ' (no key needed)'} |"
        for page in (*PAGES, list_console_pages()[0])
    ]
    return "\n".join([*_REQUESTS, *_requests((*V2_ROUTES, *AUTHZEN_ROUTES)), *pages])


def v1_routes_table() -> str:
    return "\n".join([*_REQUESTS, *_requests(v1_routes(V2_ROUTES))])


def fga_routes_table() -> str:
    return "\n".join([*_REQUESTS, *_requests(FGA_ROUTES)])


def openfga_routes_table() -> str:
    return "\n".join([*_REQUESTS, *_requests(OPENFGA_ROUTES)])


_REQUESTS = ("| request | scope | what it does |", "|---|---|---|")


def _requests(routes: Iterable[Route]) -> list[str]:
    return [f"| `{route.method} {route.path}` | `{route.scope}` | {route.summary} |" for route in routes]


def errors_table() -> str:
    rows = {
        (row.status, row.code, ", ".join(f"`{member}`" for member in row.members)): None
        for error, row in ERROR_TABLE.items()
        if error is not MagistrateError
    }
    lines = [f"| {status} | `{code}` | {members} |" for status, code, members in sorted(rows)]
    return "\n".join(["| status | `code` | further members |", "|---|---|---|", *lines])


def metrics_table() -> str:
    """Returns a table with one row a metric."""
    rows = ["| metric | kind | labels | unit | meaning | panel |", "|---|---|---|---|---|---|"]
    for row in METRIC_TABLE:
        labels = ", ".join(f"`{label}`" for label in row.all_labels)
        rows.append(f"| `{row.name}` | {row.kind} | {labels} | {row.unit} | {row.meaning} | {find_panel(row)} |")
    return "\n".join(rows)


LAYERS = ("wiring", "cli", "mirror", "config", "api", "operations", "store", "engine")
"""The packages directly below `magistrate`, in the order of docs/architecture.md."""


def list_packages() -> list[str]:
    """Returns the dotted names of all packages, each before those that it contains."""
    source = ROOT / "src" / "magistrate"
    folders = (
        path.parent.relative_to(source).parts for layer in LAYERS for path in source.glob(f"{layer}/**/__init__.py")
    )
    return [".".join(parts) for parts in sorted(folders, key=lambda parts: (LAYERS.index(parts[0]), parts))]


def packages() -> str:
    """Returns a table with one row a package: its name, and its docstring."""
    rows = ["| package | what it does |", "|---|---|"]
    for name in list_packages():
        text = inspect.getdoc(importlib.import_module(f"magistrate.{name}")) or ""
        rows.append(f"| `{name.replace('.', '/')}` | {' '.join(text.split())} |")
    return "\n".join(rows)


BLOCKS: dict[str, dict[str, Callable[[], str]]] = {
    "docs/architecture.md": {"packages": packages},
    "docs/configuration.md": {"settings": settings_table},
    "docs/api.md": {"routes": routes_table, "errors": errors_table},
    "docs/monitoring.md": {"metrics": metrics_table, "alerts": alerts_table},
    "docs/v1.md": {"routes": v1_routes_table},
    "docs/fga-v1.md": {"routes": fga_routes_table},
    "docs/openfga.md": {"routes": openfga_routes_table},
    "docs/warrant-sdks.md": {
        "warrant-python": lambda: methods_table(WARRANT_PYTHON),
        "warrant-node": lambda: methods_table(WARRANT_NODE),
        "warrant-js": lambda: methods_table(WARRANT_JS),
        "workos-python": lambda: methods_table(WORKOS_PYTHON),
        "workos-node": lambda: methods_table(WORKOS_NODE),
    },
}


def console_operators() -> str:
    """Returns the module of the console that has the operators of rules."""
    lines = [
        "/** Has the operators of rules by their keyword. `./run docs` writes this file from those of the service. */",
        "",
        "export interface Operator {",
        "  /** Begins a group of rules in the text of a model. */",
        "  text: string;",
        "  /** Stands above the rules. */",
        "  phrase: string;",
        "  /** Whether every rule has to hold, or none of them. */",
        '  requires: "all" | "none" | "other";',
        "}",
        "",
        "export const OPERATORS: Record<string, Operator> = {",
    ]
    for keyword, operator in RULE_OPERATORS.items():
        needed = operator.require(True, 2)
        requires = "all" if needed == [(2, 0)] else "none" if needed == [(0, 2)] else "other"
        words = {"text": operator.words.text, "phrase": operator.words.phrase, "requires": requires}
        members = ", ".join(f"{name}: {json.dumps(value)}" for name, value in words.items())
        lines.append(f"  {keyword}: {{ {members} }},")
    return "\n".join([*lines, "};", ""])


CHART = "deploy/helm/magistrate"
FILES: dict[str, Callable[[], str]] = {
    "console/src/operators.ts": console_operators,
    f"{CHART}/values.schema.json": values_schema,
    "deploy/prometheus/alerts.yml": render_rules,
    f"{CHART}/files/alerts.yml": render_rules,
    **{f"deploy/grafana/{name}.json": partial(render_dashboard, name) for name in DASHBOARDS},
    **{f"{CHART}/files/dashboards/{name}.json": partial(render_dashboard, name) for name in DASHBOARDS},
}
"""Files that are written as a whole. A chart has no access to files outside, so some are there, too."""


def filled(text: str, blocks: dict[str, Callable[[], str]]) -> str:
    """The text with every block between its marks made anew."""
    for name, block in blocks.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
        assert len(pattern.findall(text)) == 1, f"one block {name} is needed"
        text = pattern.sub(rf"\g<1>{_escaped(block())}\n\g<2>", text)
    return text


def _escaped(replacement: str) -> str:
    return replacement.replace("\\", r"\\")


def main() -> None:
    for name, blocks in BLOCKS.items():
        path = ROOT / name
        path.write_text(filled(path.read_text(), blocks))
    for name, content in FILES.items():
        (ROOT / name).write_text(content())


if __name__ == "__main__":
    main()
