"""Random histories of a store that is restored at random points while two services use it.

No token of a lost write is answered as if it were there, in whatever place it stands, and each token of a write that is
there is answered with it."""

import time
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest

from magistrate.store.contract.revisions import STALE_MS
from tests.api.token_places import FIRST_TOKENS, LOST, PLACES
from tests.conftest import STORES, list_seeds, new_database_url
from tests.databases import Dump, dump, restore
from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body

STEPS = 60
USERS = 4
READING_PLACES = sorted(place for place in PLACES if place.startswith(("GET", "POST")))

Granted = frozenset[str]


class History:
    """What a store holds, as the writes that were made say: the tokens of its writes, and what each of them left."""

    def __init__(self) -> None:
        self.written: dict[str, Granted] = {}
        self.lost: dict[str, None] = {}
        self.backups: list[tuple[Dump, dict[str, Granted]]] = []

    @property
    def newest(self) -> Granted:
        return next(reversed(self.written.values()), frozenset())

    def restore(self, written: dict[str, Granted]) -> None:
        """Takes over what a backup has, which may be writes that an earlier restore had lost."""
        all_writes = {**self.lost, **dict.fromkeys(self.written)}
        self.lost = {token: None for token in all_writes if token not in written}
        self.written = dict(written)


def change(client: Client, chance: Random, history: History) -> None:
    user = f"u{chance.randrange(USERS)}"
    body = warrant_body(f"document:plan#viewer@user:{user}")
    if user in history.newest:
        answer, granted = client.delete_json("/v2/warrants", body), history.newest - {user}
    else:
        answer, granted = client.post("/v2/warrants", json=body), history.newest | {user}
    answer.raise_for_status()
    history.written[answer.headers["Warrant-Token"]] = granted


def check(client: Client, user: str, token: str) -> bool | None:
    """Whether a user is viewer; None if the token is refused."""
    body = {"warrants": [warrant_body(f"document:plan#viewer@user:{user}")]}
    answer = client.post("/v2/check", json=body, headers={"Warrant-Token": token})
    if (answer.status_code, answer.json()) == (409, LOST):
        return None
    answer.raise_for_status()
    return bool(answer.json()["result"] == "Authorized")


def take_step(clients: list[Client], url: str, chance: Random, history: History) -> None:
    client = chance.choice(clients)
    match chance.choice(["change", "change", "check", "check", "place", "lost", "back up", "restore"]):
        case "change":
            change(client, chance, history)
        case "check" if history.written:
            token = next(reversed(history.written))
            for user in (f"u{number}" for number in range(USERS)):
                assert check(client, user, token) == (user in history.newest)
        case "place" if history.written:
            place, token = chance.choice(READING_PLACES), chance.choice([*history.written])
            assert "revision_lost" not in PLACES[place](client, token).text, place
        case "lost" if history.lost:
            token = chance.choice([*history.lost])
            assert check(client, "u0", token) is None
            place = chance.choice([*PLACES])
            answer = PLACES[place](client, token)
            assert (answer.status_code, answer.json()) == (409, LOST), place
        case "back up":
            history.backups.append((dump(url), dict(history.written)))
        case "restore" if history.backups:
            backup, written = chance.choice(history.backups)
            restore(url, backup)
            history.restore(written)
            time.sleep(2 * STALE_MS / 1_000)  # what another process did less than that ago may be missed on PostgreSQL


@pytest.mark.parametrize("seed", list_seeds(2, 4))
@pytest.mark.parametrize("kind", STORES)
def test_no_token_of_a_lost_write_is_answered(
    kind: str, seed: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    chance, history = Random(seed), History()
    url = new_database_url(kind, tmp_path, request)
    with ExitStack() as stack:
        services = [stack.enter_context(running_service(settings_for(url))) for _ in range(2)]
        clients = [stack.enter_context(Client(service)) for service in services]
        clients[0].define({"document": {"viewer": {}}, "user": {}})
        for service in services:
            FIRST_TOKENS[service] = clients[0].get("/v2/objects").headers["Warrant-Token"]
        history.backups.append((dump(url), {}))

        for _ in range(STEPS):
            take_step(clients, url, chance, history)

        assert history.lost
