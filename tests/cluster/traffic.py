"""Clients that write and read through the nodes of a cluster while something fails, and note every answer."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, pairwise

from magistrate.errors import UNKNOWN_WRITE
from tests.running import Client
from tests.scenario_files import warrant_body

PAUSE_SECONDS = 0.05
"""Is that of each client between two requests."""
ANSWERED = {200, 503}


@dataclass(frozen=True, slots=True)
class Answer:
    """Represents what a node answered: from when to when it took, in monotonic seconds, and for a write the user that
    it granted something, and its token."""

    began_at: float
    ended_at: float
    status: int
    user: str
    token: str
    is_unknown: bool


class Traffic:
    """Has one client for each node that writes, and one that reads, until it ends."""

    def __init__(self, clients: Sequence[Client], prefix: str) -> None:
        self.writes: list[Answer] = []
        self.reads: list[Answer] = []
        self.prefix = prefix
        self._numbers = count()
        self._ends = threading.Event()
        self._failed: list[Exception] = []
        calls = [(self.write, self.writes), (self._read, self.reads)]
        self._threads = [
            threading.Thread(target=self._go_on, args=(client, call, answers))
            for client in clients
            for call, answers in calls
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()
        assert not self._failed, self._failed

    @property
    def acknowledged(self) -> set[str]:
        return {write.user for write in self.writes if write.status == 200}

    @property
    def possible(self) -> set[str]:
        """The users to whom something is granted, or who may have been: their writes were made or are unknown."""
        return self.acknowledged | {write.user for write in self.writes if write.is_unknown}

    def write(self, client: Client) -> Answer:
        user = f"{self.prefix}-{next(self._numbers)}"
        began_at = time.monotonic()
        answer = client.post("/v2/warrants", json=warrant_body(f"document:plan#viewer@user:{user}"))
        token = answer.headers.get("Warrant-Token", "")
        is_unknown = answer.status_code != 200 and UNKNOWN_WRITE in answer.text
        return Answer(began_at, time.monotonic(), answer.status_code, user, token, is_unknown)

    def _read(self, client: Client) -> Answer:
        began_at = time.monotonic()
        # What was never checked before is in no cache.
        user = f"nobody-{next(self._numbers)}"
        answer = client.ask(f"document:plan#viewer@user:{user}")
        return Answer(began_at, time.monotonic(), answer.status_code, user, "", is_unknown=False)

    def _go_on(self, client: Client, call: Callable[[Client], Answer], answers: list[Answer]) -> None:
        try:
            while not self._ends.wait(PAUSE_SECONDS):
                answer = call(client)
                assert answer.status in ANSWERED, answer
                answers.append(answer)
        except Exception as error:
            self._failed.append(error)


@contextmanager
def going_on(clients: Sequence[Client], prefix: str) -> Iterator[Traffic]:
    """Has clients write and read meanwhile, whose writes carry this prefix."""
    traffic = Traffic(clients, prefix)
    traffic.start()
    try:
        yield traffic
    finally:
        traffic.end()


def measure_outage(answers: Sequence[Answer], fault_at: float) -> float:
    """Returns the longest time without a success, in seconds, that ended after the fault."""
    ended = sorted(answer.ended_at for answer in answers if answer.status == 200)
    return max(later - earlier for earlier, later in pairwise(ended) if later > fault_at)


def list_granted(client: Client) -> set[str]:
    """Returns the users with a warrant."""
    pages = client.pages("/v2/warrants", objectType="document", limit=1_000)
    return {row["subject"]["objectId"] for page in pages for row in page}
