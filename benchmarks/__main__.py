"""`./run bench`: Markdown tables for each topic, on standard output."""

import argparse
import platform
import signal
import sys

import apsw

from benchmarks.access_feed import measure_access_feed
from benchmarks.authzen import measure_authzen
from benchmarks.backups import measure_backups
from benchmarks.batches import measure_batches
from benchmarks.callers import measure_callers
from benchmarks.checks import measure_checks
from benchmarks.client import measure_client
from benchmarks.console import measure_console
from benchmarks.contextual_warrants import measure_contextual_warrants
from benchmarks.cores import LOAD_CORE, SERVER_CORE
from benchmarks.differences import measure_differences
from benchmarks.document import write_document
from benchmarks.explanations import measure_explanations
from benchmarks.fairness import command as fairness
from benchmarks.gateways import measure_gateways
from benchmarks.imports import measure_imports
from benchmarks.lists import measure_lists
from benchmarks.load import GENERATOR
from benchmarks.mirror import measure_mirror
from benchmarks.mixed import command as mixed
from benchmarks.models import measure_models
from benchmarks.observing import measure_observing
from benchmarks.openfga import measure_openfga
from benchmarks.orm_lists import measure_orm_lists
from benchmarks.overload import measure_overload
from benchmarks.request_rates import measure_request_rates
from benchmarks.startup import measure_startup
from benchmarks.store_removal import measure_store_removal
from benchmarks.store_writes import measure_store_writes
from benchmarks.stores import measure_stores
from benchmarks.watching import measure_watch
from benchmarks.webhooks import measure_webhooks
from benchmarks.writes import measure_writes

TOPICS = {
    "access-feed": measure_access_feed,
    "authzen": measure_authzen,
    "backup": measure_backups,
    "requests": measure_request_rates,
    "batch": measure_batches,
    "import": measure_imports,
    "callers": measure_callers,
    "checks": measure_checks,
    "client": measure_client,
    "console": measure_console,
    "contextual": measure_contextual_warrants,
    "explain": measure_explanations,
    "difference": measure_differences,
    "gateways": measure_gateways,
    "lists": measure_lists,
    "mirror": measure_mirror,
    "models": measure_models,
    "observing": measure_observing,
    "openfga": measure_openfga,
    "orm-lists": measure_orm_lists,
    "overload": measure_overload,
    "startup": measure_startup,
    "stores": measure_stores,
    "store-removal": measure_store_removal,
    "store-writes": measure_store_writes,
    "watch": measure_watch,
    "webhooks": measure_webhooks,
    "writes": measure_writes,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="./run bench", description="See docs/performance.md.")
    parser.add_argument("--only", choices=TOPICS, help="one topic instead of all")
    parser.add_argument("--seconds", type=int, default=4, metavar="N", help="how long each measurement takes at most")
    parser.add_argument(
        "--write-docs", action="store_true", help="write tables into a file of each topic in docs/performance as well"
    )
    commands = parser.add_subparsers(dest="command")
    mixed.add_options(commands.add_parser("mixed", help="whole servers under mixed load", description=mixed.__doc__))
    fairness.add_options(
        commands.add_parser("fairness", help="hostile requests beside a pulse", description=fairness.__doc__)
    )
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # an ordinary exit stops every server that runs
    print(
        f"CPython {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}; "
        f"servers on core {SERVER_CORE}, load from core {LOAD_CORE} by {GENERATOR}\n",
        flush=True,
    )
    if chosen.command == "mixed":
        mixed.run(chosen)
        return
    if chosen.command == "fairness":
        fairness.run(chosen)
        return
    for topic in [chosen.only] if chosen.only else TOPICS:
        text = TOPICS[topic](chosen.seconds)
        print(text, flush=True)
        if chosen.write_docs:
            write_document(topic, f"./run bench --only {topic} --write-docs", text)


if __name__ == "__main__":
    main()
