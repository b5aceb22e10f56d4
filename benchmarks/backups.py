"""A backup beside requests, and a restore beside an import of the same warrants."""

import io
import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.cores import SERVER_CORE, on_core
from benchmarks.databases import STORES, NewDatabase
from benchmarks.datasets import DATASETS
from benchmarks.datasets.lines import lines
from benchmarks.keep_alive import drive, request_bytes
from benchmarks.server import serving
from benchmarks.table import markdown_table
from magistrate.cli.importing.command import CHUNK_LINES
from magistrate.config.settings import ImportTarget, read_settings
from magistrate.temporary_files import create_file
from magistrate.wiring.backups import Backup, RestoreRequest, back_up, compress, restore_backup
from magistrate.wiring.maintenance import import_file

DATASET, SEED = "drive", 1
WARRANTS = 1_000_000
PAUSE_SECONDS = 0.002
"""Is what the requests leave of the core of the service, and of that of the load, to a backup."""
TARGET_LINES = 100_000
TARGET_P99 = 2.0
CHECK = (
    b'{"warrants":[{"objectType":"document","objectId":"d1","relation":"viewer",'
    b'"subject":{"objectType":"user","objectId":"u1"}}]}'
)


def measure_backups(seconds: int, warrants: int = WARRANTS) -> str:
    """A table. `seconds` limits the requests before the backup; those beside it go on until it has ended."""
    content = b"".join(lines(DATASETS[DATASET](warrants, SEED)))
    rows: list[tuple[str, ...]] = []
    for store, databases in STORES.items():
        with databases() as new_database, tempfile.TemporaryDirectory() as folder:
            rows += _measure(store, new_database, content, Path(folder), seconds=seconds, warrants=warrants)
    title = f"Backup and restore of {warrants:,} warrants ({DATASET})"
    return markdown_table(title, ("", "", "target"), rows)


def _measure(
    store: str, new_database: NewDatabase, content: bytes, folder: Path, seconds: int, warrants: int
) -> Iterator[tuple[str, ...]]:
    source, target, file = new_database("source"), new_database("target"), folder / "all.zst"
    imported = warrants / _time_import(source, content)
    backed_up = _time_backup(source, file)
    alone, beside = _measure_requests(source, folder, seconds)
    restored = warrants / _time_restore(target, file)
    yield f"backup, {store}, lines/s", f"{backed_up:,.0f}", f">= {TARGET_LINES:,}"
    yield f"p99 of requests, {store}, ms", f"{alone:.1f}", ""
    yield "the same beside a backup", f"{beside:.1f} ({beside / alone:.1f} times)", f"<= {TARGET_P99:.1f} times"
    yield f"import, {store}, warrants/s", f"{imported:,.0f}", ""
    yield f"restore, {store}, warrants/s", f"{restored:,.0f} ({restored / imported:.2f} times)", ">= 1.00 times"


def _time_import(url: str, content: bytes) -> float:
    target = ImportTarget(read_settings({"database_url": url}, {}), CHUNK_LINES)
    with on_core(SERVER_CORE):
        began_at = time.perf_counter()
        import_file(target, io.BufferedReader(io.BytesIO(content)), None, lambda _: None)
        return time.perf_counter() - began_at


def _time_backup(url: str, path: Path) -> float:
    """Returns how many lines were written a second."""
    with on_core(SERVER_CORE):
        began_at = time.perf_counter()
        with create_file(path) as file, compress(file, path.suffix) as compressed:
            [header] = back_up(Backup(read_settings({"database_url": url}, {})), compressed)
        return header.counts.lines / (time.perf_counter() - began_at)


def _time_restore(url: str, path: Path) -> float:
    with on_core(SERVER_CORE), path.open("rb") as file:
        began_at = time.perf_counter()
        [restored] = restore_backup(read_settings({"database_url": url}, {}), RestoreRequest(), file)
        seconds = time.perf_counter() - began_at
    if restored.differences:
        raise RuntimeError(f"the restored store differs: {restored.differences}")
    return seconds


def _measure_requests(url: str, folder: Path, seconds: int) -> tuple[float, float]:
    """Returns the p99 of requests in milliseconds, alone and while backups run with `nice`."""
    with serving(url) as server:
        drive(server.url, _requests("first"), 1, 1)
        alone = drive(server.url, _requests("alone"), 1, seconds).latencies
        beside: list[float] = []
        command = [
            "nice",
            sys.executable,
            "-m",
            "magistrate",
            "backup",
            str(folder / "beside.zst"),
            "--database-url",
            url,
        ]
        while len(beside) < len(alone) // 2:
            backup = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            beside += drive(server.url, _until_ended(_requests(f"beside-{len(beside)}"), backup), 1, 600).latencies
            if backup.wait():
                raise RuntimeError("the backup has failed")
    return _find_p99_ms(alone), _find_p99_ms(beside)


def _requests(name: str) -> Iterator[bytes]:
    """Checks, lists and writes in turn."""
    for number in itertools.count():
        time.sleep(PAUSE_SECONDS)
        yield request_bytes("POST", "/v2/check", CHECK)
        time.sleep(PAUSE_SECONDS)
        yield request_bytes("GET", "/v2/warrants?limit=10")
        time.sleep(PAUSE_SECONDS)
        body = f'{{"objectType":"document","objectId":"{name}-{number}"}}'
        yield request_bytes("POST", "/v2/objects", body.encode())


def _until_ended(requests: Iterator[bytes], process: "subprocess.Popen[bytes]") -> Iterator[bytes]:
    return itertools.takewhile(lambda _: process.poll() is None, requests)


def _find_p99_ms(seconds: Sequence[float]) -> float:
    return 1_000 * statistics.quantiles(seconds, n=100)[98]
