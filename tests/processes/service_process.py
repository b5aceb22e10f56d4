"""The `magistrate` command as an operator runs it: a process of its own, stopped by signals."""

import json
import os
import signal
import ssl
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import httpx

from magistrate.config.settings_table import SETTINGS
from magistrate.outgoing_requests import load_trust
from tests.leaks import keep_secret, require_no_leak
from tests.processes.starting import start_process
from tests.running import KEY, Client

STARTED_WITHIN_SECONDS = 30
VARIABLES = {setting.name: setting.variable for setting in SETTINGS}
ROOT = Path(__file__).parents[2]


def read_failed_start(errors: str) -> str:
    """Why a service did not start, which is all that it has written to stderr."""
    [line] = [json.loads(line) for line in errors.splitlines()]
    assert line.keys() == {"time", "level", "event", "error"}
    assert (line["level"], line["event"]) == ("critical", "the service did not start")
    return str(line["error"])


class ServiceProcess:
    """`magistrate serve` on a free port, from start to stop, with one worker unless said otherwise. `folder` is its
    working directory, `settings` its variables; a `sitecustomize.py` in it runs first in each process."""

    trust: ssl.SSLContext | None = None
    """What clients of a service with TLS use; to be set before it is entered."""
    package: Path | None = None
    """The folder of another Magistrate, in a subclass."""

    def __init__(self, folder: Path, *flags: str, program: Sequence[str] = (), **settings: str) -> None:
        """`program` is a module and its arguments to run instead."""
        flags = flags if "--workers" in flags or "workers" in settings else ("--workers", "1", *flags)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MAGISTRATE_")}
        keep_secret(settings.get("api_key", "").split(","))
        given = {VARIABLES.get(name, f"MAGISTRATE_{name.upper()}"): value for name, value in settings.items()}
        path = os.pathsep.join(str(part) for part in (folder, self.package, ROOT) if part is not None)
        self.process = start_process(
            [sys.executable, "-m", *(program or ("magistrate", "serve", "--port", "0", *flags))],
            folder=folder,
            # One that is killed cannot clear away the files that its workers share.
            environment=inherited | given | {"TMPDIR": str(folder), "PYTHONPATH": path},
        )

    def __enter__(self) -> "ServiceProcess":
        """Waits until the service is ready; `url` and `printed` are there from then on."""
        assert self.process.stdout is not None
        self.printed = self.process.stdout.readline()
        assert self.printed.startswith("Magistrate listens on "), self.printed + self.errors()
        self.url = self.printed.split()[3]
        timeout = STARTED_WITHIN_SECONDS
        trust = self.trust or (load_trust() if self.url.startswith("https:") else False)
        with httpx.Client(base_url=self.url, trust_env=False, timeout=timeout, verify=trust) as client:
            # The socket is open already; the answer waits for the service.
            assert client.get("/readyz").status_code == 200
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.errors()

    def client(self, key: str = KEY) -> Client:
        return Client(self.url, key, self.trust)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """Sends SIGTERM; answers the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)

    def errors(self) -> str:
        """What a process that has ended wrote to stderr, which has no secrets."""
        written = self.process.communicate(timeout=60)[1] or ""
        require_no_leak(written, "the log")
        return written

    def resident_bytes(self) -> int:
        fields = Path(f"/proc/{self.process.pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")
