"""Writes that are large, repeated, or go on for long."""

import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial

from benchmarks.datasets.lines import warrant_lines
from benchmarks.fairness.asking import Answer, fresh
from benchmarks.fairness.stage import Act, Attack, Stage, ask_check, claim

IMPORTED = 50_000
MAX_IMPORT_SECONDS = 60.0


def idempotent(stage: Stage) -> Iterator[tuple[str, Act]]:
    """An answer of 5 MB is kept with its key, and given again each time."""
    body = [{"objectType": fresh("kept"), "objectId": f"{n}", "meta": {"x": "y" * 50_000}} for n in range(100)]
    header = f"Idempotency-Key: {fresh('key')}"
    yield "5 MB of objects with an idempotency key", partial(stage.ask, "POST", "/v2/objects", body, header)
    yield "the same 10 times more", partial(stage.ask, "POST", "/v2/objects", body, header, times=10)


def warrants(stage: Stage) -> Iterator[tuple[str, Act]]:
    def batches() -> list[Answer]:
        prefix = fresh("written")
        rows = [[claim("paper", f"{prefix}-{one}", "viewer", f"u{two}") for one in range(100)] for two in range(20)]
        return [stage.caller.ask("POST", "/v2/warrants", row) for row in rows]

    def memberships() -> list[Answer]:
        """What the graph knows of the deepest users changes with each."""
        answers = []
        for number in range(20):
            body = claim("group", "chain10000-9999", "member", fresh(f"new{number}"))
            answers += stage.ask("POST", "/v2/warrants", body)
            answers += stage.check([claim("paper", "chain10000-0", "viewer", "in-chain10000")])
        return answers

    yield "100 warrants in one request, 20 times", batches
    yield "20 memberships, a check 10,000 deep after each", memberships


def imports(stage: Stage) -> Iterator[tuple[str, Act]]:
    def run() -> list[Answer]:
        prefix = fresh("imported")
        rows = (("paper", f"{prefix}-{n}", "viewer", "user", f"u{n % 100}", "", "") for n in range(IMPORTED))
        command = [sys.executable, "-m", "magistrate", "import", "-", "--database-url", stage.database_url]
        started = time.perf_counter()
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as importing:
            try:
                importing.communicate(b"".join(warrant_lines(rows)), timeout=MAX_IMPORT_SECONDS)
            except subprocess.TimeoutExpired:
                importing.kill()
        status = {0: "done", -9: "stopped"}.get(importing.returncode, f"exit {importing.returncode}")
        return [Answer(status, time.perf_counter() - started)]

    yield f"an import of {IMPORTED:,} warrants", run
    yield "a check after that", partial(stage.check, [claim("paper", "chain5-0", "editor", "in-chain5")])


def sessions(stage: Stage) -> Iterator[tuple[str, Act]]:
    body = {"type": "sess", "userId": "ann", "context": {"a": "b" * 4_000}}
    asked = [claim("paper", "chain5-0", "viewer", "ann")]
    forged = "eyJhbGciOiJIUzI1NiIsImtpZCI6IjAwMDAwMDAwMDAwMDAwMDAifQ." + "e" * 16_000 + ".x"

    def guess() -> list[Answer]:
        return [ask_check(stage.caller.holding(f"Bearer {forged}"), asked) for _ in range(100)]

    yield "100 sessions", partial(stage.ask, "POST", "/v2/sessions", body, times=100)
    yield "100 forged tokens of 16 KB", guess


WRITES: dict[str, Attack] = {
    "idempotency": idempotent,
    "warrants": warrants,
    "imports": imports,
    "sessions": sessions,
}
