"""The blocks of code that the documentation shows, and for each what runs it, or why nothing does.

A new block is counted by `test_shown_blocks.py`, which fails until its document has a row here.
"""

import re
from typing import NamedTuple

from tests.generated_docs import ROOT

FENCE = re.compile(r"^( *)(`{3,})(\w*)[^\n]*\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    document: str
    language: str
    text: str


class Shown(NamedTuple):
    """Says that `number` blocks in a language are run by `by`, a file of tests that reads the document, or the reason
    for which nothing runs them. A `number` of 0 stands for all that there are, whatever their number."""

    language: str
    number: int
    by: str


def read_blocks() -> list[Block]:
    documents = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
    return [
        Block(str(path.relative_to(ROOT)), matched[3], matched[4])
        for path in documents
        for matched in FENCE.finditer(path.read_text())
    ]


HERE = "tests/test_shown_blocks.py"
TRIED = "tests/test_docs.py"
DRAWING = "it is a drawing"
FORM = "it shows the form of a request or an answer, with parts left out"
OTHERS = "it is for a server of another product, which tests do not start"
BENCHMARK = "it takes from minutes to hours; other tests run the same program for seconds"
OUTPUT = "it is what a program prints in a case that the text describes"
MACHINE = "it installs or serves something for the whole machine; test_shown_blocks.py reads what it says to magistrate"
PART = "it is a part of a program; test_shown_blocks.py compiles it, and imports what it names of ours"
MODEL = "it needs no service; test_shown_blocks.py reads it as a model"
COMMANDS = "it begins something that does not end; test_shown_blocks.py reads what it says to magistrate"

_TRIED = (
    *("agents", "asked-for-elsewhere", "authzen", "difference", "explain", "fga-v1", "history", "http", "mirror"),
    *("model-testing", "query-language", "sessions", "stores", "tutorial", "v1"),
)
_COMING_FROM = ("warrant", "workos", "openfga", "spicedb", "keto")

SHOWN: dict[str, list[Shown]] = {
    "README.md": [Shown("console", 0, TRIED)],
    **{f"docs/{name}.md": [Shown("console", 0, TRIED)] for name in _TRIED},
    **{f"docs/coming-from-{name}.md": [Shown("console", 0, TRIED)] for name in _COMING_FROM},
}


def _add(document: str, *shown: Shown) -> None:
    SHOWN.setdefault(f"docs/{document}.md", []).extend(shown)


_add("api", Shown("json", 7, HERE), Shown("", 1, FORM))
_add("architecture", Shown("", 4, DRAWING))
_add("authzen", Shown("fga", 1, MODEL), Shown("", 1, OUTPUT), Shown("yaml", 2, OTHERS), Shown("python", 1, PART))
_add("backup", Shown("console", 0, "tests/cli/test_backup_document.py"))
_add("cli", Shown("console", 0, "tests/cli/test_documents.py"), Shown("json", 1, HERE))
_add(
    "clients",
    Shown("python", 1, "tests/clients/test_clients_page.py"),
    Shown("ts", 1, "tests/clients/test_clients_page.py"),
    Shown("tsx", 1, "tests/clients/test_clients_page.py"),
    Shown("js", 1, "tests/clients/test_clients_page.py"),
    Shown("go", 1, "tests/clients/test_go_client.py"),
    Shown("py", 2, "they are parts of what docs/frameworks.md and docs/orm.md show, whose tests run them"),
)
_add(
    "coming-from",
    Shown(
        "console", 1, "tests/importers/test_page.py and the pages for those who come from a product run these commands"
    ),
    Shown("openfga", 1, "tests/importers/test_page.py"),
    Shown("spicedb", 1, "tests/importers/test_page.py"),
    Shown("fga", 2, "tests/importers/test_page.py"),
    Shown("json", 1, "tests/importers/test_page.py"),
    Shown("expr", 1, "tests/importers/test_page.py"),
    Shown("", 1, OUTPUT),
)
_add("coming-from-openfga", Shown("yaml", 0, TRIED))
_add("coming-from-spicedb", Shown("spicedb", 0, TRIED), Shown("text", 0, TRIED), Shown("yaml", 0, TRIED))
_add("coming-from-workos", Shown("text", 0, TRIED), Shown("json", 0, TRIED))
_add(
    "coming-from-keto",
    Shown("typescript", 1, "it is read by Keto alone, and stands beside the model that it becomes"),
    Shown("text", 0, TRIED),
    Shown("json", 0, TRIED),
    Shown("python", 0, TRIED),
)
_add("console", Shown("console", 3, COMMANDS))
_add("frameworks", Shown("python", 0, "tests/clients/python/test_examples.py"))
_add("frameworks", Shown("html", 0, "tests/clients/python/test_examples.py"))
_add(
    "gateways",
    Shown(
        "yaml",
        3,
        "the first is run by test_shown_blocks.py; the others are for Traefik and Envoy, which tests do not start",
    ),
    Shown("console", 2, HERE),
    Shown("nginx", 1, "tests/processes/test_gateways.py"),
    Shown("lua", 1, "tests/processes/test_gateways.py"),
    Shown("haproxy", 1, "tests/processes/test_gateways.py"),
    Shown("caddy", 1, OTHERS),
)
_add("history-check", Shown("console", 1, BENCHMARK))
_add("installing", Shown("console", 5, MACHINE), Shown("yaml", 1, "tests/kubernetes/test_values.py"))
_add(
    "installing",
    Shown("sh", 2, "it needs a release that was published; tests/test_release.py makes its files from a clone"),
)
_add("migrating", Shown("text", 0, "tests/migration_examples.py"), Shown("sh", 2, COMMANDS), Shown("", 3, OUTPUT))
_add("mirror", Shown("sql", 1, HERE), Shown("python", 1, PART))
_add("model-testing", Shown("yaml", 1, HERE))
_add("modelling", Shown("yaml", 0, "tests/cli/test_modelling.py"))
_add(
    "models",
    Shown("fga", 0, "tests/engine/text/test_grammar.py"),
    Shown("json", 1, "tests/engine/text/test_grammar.py"),
    Shown("lark", 1, "tests/engine/text/test_grammar.py"),
    Shown(
        "console", 3, "tests/cli/test_model_plans.py and tests/cli/test_text_files.py run these commands on other files"
    ),
    Shown("text", 1, OUTPUT),
)
_add("monitoring", Shown("console", 1, COMMANDS), Shown("yaml", 1, OTHERS))
_add("openfga", Shown("sh", 2, "docs/coming-from-openfga.md runs both, as does tests/cli/test_openfga_moves.py"))
_add("openfga", Shown("python", 1, "tests/clients/test_openfga_python.py"))
_add("openfga", Shown("typescript", 1, "tests/clients/test_openfga_node.py"))
_add("openfga", Shown("json", 1, "tests/openfga/test_names.py"))
_add(
    "operating",
    Shown("console", 3, "tests/processes/test_upgrading.py runs the last; the others are for a service with TLS"),
    Shown("json", 1, FORM),
)
_add("orm", *(Shown(language, 0, "tests/clients/python/test_orm_page.py") for language in ("python", "py", "")))
_add("performance", Shown("console", 1, BENCHMARK))
_add("performance/methods", Shown("console", 4, BENCHMARK))
_add("policies", Shown("", 2, "tests/engine/policy/test_documented.py"), Shown("json", 1, HERE))
_add("query-language", Shown("", 0, "tests/engine/lists/test_language.py"), Shown("json", 2, FORM))
_add("runbook", *(Shown(language, 0, "tests/processes/test_runbook.py") for language in ("console", "yaml")))
_add("scaling", Shown("json", 1, OUTPUT), Shown("yaml", 1, OTHERS), Shown("", 1, OTHERS), Shown("console", 2, COMMANDS))
_add("sessions", Shown("sh", 2, COMMANDS))
_add("stores", Shown("sh", 1, "its answer has a key, which is never the same; tests/api/test_keys.py makes such keys"))
_add("tracing", Shown("console", 2, "tests/processes/test_tracing.py"))
_add("tutorial", Shown("text", 0, TRIED), Shown("yaml", 0, TRIED))
_add("warrant-sdks", *(Shown(language, 0, "tests/clients/methods.py") for language in ("python", "js", "py", "ts")))
_add(
    "watch",
    Shown("console", 4, COMMANDS),
    Shown("js", 1, "it is one line for a browser; tests/api/test_watch_tickets.py opens such URLs"),
    Shown("python", 1, "tests/processes/test_watch_readers.py"),
    Shown("ts", 1, "tests/processes/test_watch_readers.py"),
    Shown("sh", 1, "tests/processes/test_watch_readers.py"),
    Shown("nginx", 1, "tests/processes/test_stream_proxies.py"),
    Shown("haproxy", 1, "tests/processes/test_stream_proxies.py"),
)
_add("webhooks", Shown("console", 1, COMMANDS), Shown("json", 1, FORM), Shown("python", 1, PART))
