"""A service with a replica: every answer is that of the revision that its token names, and no client that sends its
token is shown an older one, whatever the replica lags."""

import base64
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from tests.databases import PostgresServer
from tests.metrics import sum_metric
from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body
from tests.standby import Standby
from tests.waiting import wait_until

TYPES = [{"type": "user", "relations": {}}, {"type": "document", "relations": {"viewer": {}}}]
WARRANT = warrant_body("document:plan#viewer@user:ann")
ROUNDS, READERS = 12, 3
PAUSED_SECONDS, RESUMED_SECONDS = 0.3, 0.3


def number_of(token: str) -> bytes:
    """What tokens of one store are compared by (docs/consistency.md#order-of-tokens)."""
    return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))[9:17]


class Flips:
    """One warrant is granted and revoked; `states` has whether it is there at the revision of each token."""

    def __init__(self) -> None:
        self.states: dict[bytes, bool] = {}
        self.newest = ""
        self.is_over = threading.Event()

    def write(self, client: Client, random_: random.Random) -> None:
        exists = False
        while not self.is_over.is_set():
            exists = not exists
            answer = client.request("POST" if exists else "DELETE", "/v2/warrants", json=WARRANT)
            answer.raise_for_status()
            token = answer.headers["Warrant-Token"]
            self.states[number_of(token)] = exists
            self.newest = token
            time.sleep(random_.uniform(0, 0.02))

    def read(self, client: Client, random_: random.Random) -> list[tuple[bytes, bool, str]]:
        """Reads with the token of the last answer, and sometimes with that of the last write. Returns the revisions and
        what they have shown."""
        seen, token = [], ""
        while not self.is_over.is_set():
            if random_.random() < 0.2:
                token = max(token, self.newest, key=lambda text: number_of(text) if text else b"")
            path = random_.choice(("/v2/check", "/v2/warrants", "/v2/query"))
            headers = {"Warrant-Token": token} if token else {}
            if path == "/v2/check":
                answer = client.post(path, json={"warrants": [WARRANT]}, headers=headers)
                exists = answer.json()["result"] == "Authorized"
            else:
                query = {"q": "select document where user:ann is viewer"} if path == "/v2/query" else {}
                answer = client.get(path, params=query, headers=headers)
                exists = bool(answer.json()["results"])
            assert answer.status_code == 200, answer.text
            answered = answer.headers["Warrant-Token"]
            assert not token or number_of(answered) >= number_of(token)
            seen.append((number_of(answered), exists, path))
            token = answered
        return seen


def test_every_answer_is_that_of_its_token_and_none_goes_back(primary: PostgresServer, standby: Standby) -> None:
    url = primary.new_url()
    with running_service(settings_for(url)) as service, Client(service) as client:
        client.put("/v2/object-types", json=TYPES).raise_for_status()
    standby.catch_up(url)
    flips, seed = Flips(), random.Random(5)
    settings = settings_for(url, read_database_url=standby.url(url))
    with ExitStack() as stack:
        service = stack.enter_context(running_service(settings))
        clients = [stack.enter_context(Client(service)) for _ in range(READERS + 2)]
        clients[0].post("/v2/warrants", json=WARRANT).raise_for_status()
        first = clients[0].request("DELETE", "/v2/warrants", json=WARRANT).headers["Warrant-Token"]
        flips.states[number_of(first)] = False
        flips.newest = first
        with ThreadPoolExecutor(READERS + 1) as threads:
            writing = threads.submit(flips.write, clients[0], random.Random(1))
            reading = [threads.submit(flips.read, clients[1 + n], random.Random(n)) for n in range(READERS)]
            try:
                for _ in range(ROUNDS):
                    with standby.paused(url):
                        time.sleep(seed.uniform(0, PAUSED_SECONDS))
                    time.sleep(seed.uniform(0, RESUMED_SECONDS))
            finally:
                flips.is_over.set()
            writing.result()
            seen = [each for read in reading for each in read.result()]
        outcomes = ("served", "behind")
        reads = {name: sum_metric(clients[-1], "magistrate_replica_reads_total", outcome=name) for name in outcomes}

    wrong = [each for each in seen if each[0] >= number_of(first) and flips.states[each[0]] != each[1]]
    assert not wrong
    assert len(seen) > 100
    assert reads["served"] > 0, reads
    assert reads["behind"] > 0, reads


def test_the_lag_of_a_replica_is_measured(primary: PostgresServer, standby: Standby) -> None:
    url = primary.new_url()
    with running_service(settings_for(url)):
        pass
    standby.catch_up(url)
    settings = settings_for(url, read_database_url=standby.url(url))
    with running_service(settings) as service, Client(service) as client:
        with standby.paused(url):
            for number in range(3):
                body = warrant_body(f"document:{number}#viewer@user:ann")
                client.put("/v2/object-types", json=TYPES).raise_for_status()
                client.post("/v2/warrants", json=body).raise_for_status()
            wait_until(lambda: sum_metric(client, "magistrate_replica_lag_revisions") >= 3)
        wait_until(lambda: sum_metric(client, "magistrate_replica_lag_revisions") == 0)
