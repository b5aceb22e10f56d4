"""`python -m tests.processes.supervised FOLDER HUNG_SECONDS STEADY_SECONDS` is `magistrate serve` with two workers, and
a supervisor that waits for less long than is right for a service."""

import asyncio
import sys
from functools import partial
from pathlib import Path

from magistrate.api.processes.acceptors import Acceptor
from magistrate.api.processes.server import run_worker
from magistrate.api.processes.supervisor import Bounds, Supervisor
from magistrate.log import log_to_stderr
from magistrate.wiring.maintenance import prepare_store
from magistrate.wiring.server import listen, server_config
from magistrate.wiring.stores import migrate_store
from tests.running import settings_for


def main(folder: Path, hung_seconds: float, steady_seconds: float) -> int:
    settings = settings_for(f"sqlite:///{folder}/magistrate.db", workers=2)
    migrate_store(settings)
    asyncio.run(prepare_store(settings))
    log_to_stderr()
    [listening] = listen(settings)
    print(f"Magistrate listens on http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    worker = partial(run_worker, server_config(settings))
    bounds = Bounds(stop=5, hung=hung_seconds, steady=steady_seconds)
    return Supervisor(worker, Acceptor([listening]), 2, bounds).run()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])))
