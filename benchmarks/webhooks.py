"""Webhooks of a service that nobody else uses: deliveries to a receiver that answers at once, and what they cost those
who write."""

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from statistics import median
from typing import NamedTuple

from benchmarks.cores import LOAD_CORE, on_core
from benchmarks.databases import STORES, NewDatabase
from benchmarks.server import API_KEY, Server, serving
from benchmarks.table import markdown_table
from magistrate.client import Client

WRITES = 300
"""Counts the writes of a run, each of which is a message."""
ROUNDS = 3
WITHIN_SECONDS = 300
FLAGS = ("--webhook-allow-networks", "127.0.0.1/32")


class WritingRun(NamedTuple):
    """Holds how fast one client writes, and the processor time of the service for a write, deliveries included."""

    writes_per_second: float
    cpu_us: float


class Receiver(NamedTuple):
    """Represents a process that answers 204, and counts the messages it gets."""

    url: str
    received: "Synchronized[int]"

    def wait_for(self, number: int) -> None:
        deadline = time.monotonic() + WITHIN_SECONDS
        while self.received.value < number:
            if time.monotonic() > deadline:
                raise RuntimeError(f"only {self.received.value} of {number} messages have come")
            time.sleep(0.001)


def measure_webhooks(seconds: int) -> str:
    """A table. `seconds` has no effect; each database takes about half a minute."""
    rows = []
    for store, databases in STORES.items():
        with databases() as new_database:
            rows.append((store, *_measure(new_database)))
    header = ("", "deliveries/s", "writes/s without a webhook", "with one", "ratio", "CPU of the service, µs")
    title = f"Webhook: {WRITES:,} messages to one receiver; writes by one client without and with a webhook for each"
    return markdown_table(title, header, rows)


def _measure(new_database: NewDatabase) -> tuple[str, ...]:
    numbers = count()
    alone, beside = [], []
    with (
        serving(new_database("webhooks"), flags=FLAGS) as server,
        _receiving() as receiver,
        Client(server.url, API_KEY) as client,
        on_core(LOAD_CORE),
    ):
        client.create_object_type({"type": "user", "relations": {}})
        _write(client, numbers)
        deliveries = _deliver_all(client, receiver, numbers)
        for _ in range(ROUNDS):
            alone.append(_write_measured(server, client, numbers, None))
            beside.append(_write_measured(server, client, numbers, receiver))
    without, rate = (median(run.writes_per_second for run in runs) for runs in (alone, beside))
    cpu = [f"{median(run.cpu_us for run in runs):,.0f}" for runs in (alone, beside)]
    return f"{deliveries:,.0f}", f"{without:,.0f}", f"{rate:,.0f}", f"{rate / without:.2f}", " and ".join(cpu)


def _deliver_all(client: Client, receiver: Receiver, numbers: Iterator[int]) -> float:
    """Returns the deliveries a second of what was written while the webhook was disabled."""
    made = client.create_webhook({"url": receiver.url, "enabled": False})
    _write(client, numbers)
    before = receiver.received.value
    client.update_webhook(made["id"], {"enabled": True})
    receiver.wait_for(before + 1)
    began_at = time.perf_counter()
    receiver.wait_for(before + WRITES)
    seconds = time.perf_counter() - began_at
    client.delete_webhook(made["id"])
    return (WRITES - 1) / seconds


def _write_measured(server: Server, client: Client, numbers: Iterator[int], receiver: Receiver | None) -> WritingRun:
    made = None if receiver is None else client.create_webhook({"url": receiver.url})
    before = 0 if receiver is None else receiver.received.value
    cpu_before, began_at = server.cpu_seconds(), time.perf_counter()
    _write(client, numbers)
    seconds = time.perf_counter() - began_at
    if receiver is not None and made is not None:
        receiver.wait_for(before + WRITES)
        client.delete_webhook(made["id"])
    return WritingRun(WRITES / seconds, (server.cpu_seconds() - cpu_before) / WRITES * 1_000_000)


def _write(client: Client, numbers: Iterator[int]) -> None:
    for _ in range(WRITES):
        client.create_object("user", f"u{next(numbers)}", None)


@contextmanager
def _receiving() -> Iterator[Receiver]:
    context = multiprocessing.get_context("spawn")
    received = context.Value("q", 0)
    ours, theirs = context.Pipe()
    with on_core(LOAD_CORE):
        process = context.Process(target=_receive, args=(theirs, received), daemon=True)
        process.start()
    try:
        yield Receiver(f"http://127.0.0.1:{ours.recv()}/", received)
    finally:
        process.terminate()
        process.join()


def _receive(port: Connection, received: "Synchronized[int]") -> None:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            with received.get_lock():
                received.value += 1
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Prints nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port.send(server.server_port)
    server.serve_forever()
