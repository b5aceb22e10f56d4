"""Service processes for tests that start very many: each is forked from one that has imported the service.

The imports are most of what a start takes, in processor time. All else is as in a process of its own: it is killed
alone, and shares no memory, file or connection with those before and after it."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import TracebackType

import httpx

from magistrate.cli.commands import main
from tests.leaks import keep_secret, require_no_leak
from tests.processes.service_process import VARIABLES
from tests.running import KEY, Client

STARTED_WITHIN_SECONDS = 60
STOPPED_WITHIN_SECONDS = 60

_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(
    ["magistrate.cli.commands", "magistrate.wiring.server", "magistrate.wiring.trace_export", __name__]
)


class ForkedService:
    """`magistrate serve --workers 1` on a free port, from start to stop. `folder` is its working directory, `settings`
    its variables. Other variables are those that there were when the first of these services was started."""

    def __init__(self, folder: Path, *flags: str, **settings: str) -> None:
        self._printed = folder / "printed"
        self._errors = folder / "errors"
        self._printed.unlink(missing_ok=True)
        os.mkfifo(self._printed)
        keep_secret(settings.get("api_key", "").split(","))
        environment = {VARIABLES[name]: value for name, value in settings.items()}
        self._process: ForkServerProcess = _FORKING.Process(
            target=_serve, args=(folder, (self._printed, self._errors), environment, flags)
        )
        self._process.start()

    def __enter__(self) -> "ForkedService":
        """Waits until the service is ready; `url` is there from then on."""
        self._output = self._printed.open()  # open until it ends, as a terminal is
        line = self._output.readline()
        assert line.startswith("Magistrate listens on "), line + self._errors.read_text()
        self.url = line.split()[3]
        with httpx.Client(base_url=self.url, trust_env=False, timeout=STARTED_WITHIN_SECONDS, verify=False) as client:
            # The socket is open already; the answer waits for the service.
            assert client.get("/readyz").status_code == 200
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.join()
        self._output.close()
        self.errors()

    def client(self) -> Client:
        return Client(self.url, KEY)

    def stop(self) -> int | None:
        """Sends SIGTERM; answers the exit code."""
        self._process.terminate()
        self._process.join(STOPPED_WITHIN_SECONDS)
        return self._process.exitcode

    def errors(self) -> str:
        """What it has written to stderr, which has no secrets."""
        written = self._errors.read_text()
        require_no_leak(written, "the log")
        return written

    def kill(self) -> None:
        """Ends it as `kill -9` does."""
        self._process.kill()
        self._process.join()
        assert self._process.exitcode == -signal.SIGKILL


def _serve(folder: Path, outputs: tuple[Path, Path], environment: dict[str, str], flags: Sequence[str]) -> None:
    """What the new process does: becomes the command as it would be in this folder with these variables."""
    for name in [name for name in os.environ if name.startswith("MAGISTRATE_")]:
        del os.environ[name]
    os.environ.update(environment, TMPDIR=str(folder))
    os.chdir(folder)
    for path, stream in zip(outputs, (sys.stdout, sys.stderr), strict=True):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream.fileno())
    main(["serve", "--port", "0", "--workers", "1", *flags])
