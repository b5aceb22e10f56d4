"""Random histories of three stores of one database at once, used by two services, against an oracle for each store.

The same ids, idempotency keys and names of keys are in all stores. Whatever one service writes the other answers, no
store answers what another has, and after a restore of the database, which comes at random, no token of a lost write,
no lost key and no lost store is answered as if it were there."""

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import httpx
import pytest

from magistrate.store.contract.new_rows import ImportBatch, Stamp
from magistrate.store.contract.revisions import STALE_MS
from magistrate.store.contract.stores import Stores
from magistrate.wiring.stores import open_stores
from tests import oracle
from tests.conftest import STORES, list_seeds, new_database_url
from tests.databases import Dump, dump, restore
from tests.running import Client, running_service, settings_for
from tests.scenario_files import claim, stored_warrant, warrant_body
from tests.scenario_runs import new as new_warrant
from tests.scenario_runs import written

STEPS = 90
NAMES = ("default", "one", "two")
NOTICED_SECONDS = 3.0
"""Within a second, changes of keys and stores are in force (docs/stores.md); the machine may be busy."""
USERS = [f"user:u{number}" for number in range(3)]
DOCUMENTS = ["document:a", "document:b"]
GRANTS = [
    *(f"{document}#{relation}@{user}" for document in DOCUMENTS for relation in ("viewer", "editor") for user in USERS),
    *(f"{document}#viewer@team:t#member" for document in DOCUMENTS),
    *(f"team:t#member@{user}" for user in USERS),
]
RELATIONS: dict[str, Any] = {"viewer": {}, "editor": {}}
MODELS: list[dict[str, Any]] = [
    {**RELATIONS, "reader": {"inheritIf": "viewer"}},
    {**RELATIONS, "reader": {"inheritIf": "anyOf", "rules": [{"inheritIf": "viewer"}, {"inheritIf": "editor"}]}},
    {**RELATIONS, "reader": {"inheritIf": "allOf", "rules": [{"inheritIf": "viewer"}, {"inheritIf": "editor"}]}},
]
KEYS = ("k1", "k2")


class State(NamedTuple):
    """What a store holds: its warrants, and the place of its model in MODELS."""

    warrants: frozenset[str] = frozenset()
    model: int = 0

    def allows(self, document: str, user: str) -> bool:
        """Whether a user is reader of a document."""
        types = {"user": {}, "team": {"member": {}}, "document": MODELS[self.model]}
        stored = [stored_warrant(text, number, 1) for number, text in enumerate(sorted(self.warrants), 1)]
        value = oracle.check(types, stored, *claim(f"{document}#reader@{user}"), lambda warrant: True)
        return value is oracle.Truth.TRUE

    def list_readers(self) -> set[str]:
        every = product(DOCUMENTS, USERS)
        return {f"{document}#reader@{user}" for document, user in every if self.allows(document, user)}


class StoreHistory:
    """What a store was written: the state at each token, results by idempotency key, and its keys."""

    def __init__(self) -> None:
        self.written: dict[str, State] = {}
        self.once: dict[str, tuple[str, str]] = {}
        self.keys: dict[str, str] = {}
        self.lost_tokens: set[str] = set()
        self.lost_keys: set[str] = set()

    @property
    def newest(self) -> State:
        return self.written[self.token]

    @property
    def token(self) -> str:
        return next(reversed(self.written))

    def copy(self) -> "StoreHistory":
        copied = StoreHistory()
        copied.written, copied.once, copied.keys = dict(self.written), dict(self.once), dict(self.keys)
        return copied

    def restore(self, former: "StoreHistory") -> None:
        tokens, secrets = self.lost_tokens | self.written.keys(), self.lost_keys | {*self.keys.values()}
        restored = former.copy()
        self.written, self.once, self.keys = restored.written, restored.once, restored.keys
        self.lost_tokens, self.lost_keys = tokens - self.written.keys(), secrets - {*self.keys.values()}


class Backup(NamedTuple):
    rows: Dump
    histories: dict[str, StoreHistory]
    others: frozenset[str]


class Machine:
    """Takes random steps on a database with two services, whose clients name a store, and a third process that
    imports."""

    def __init__(self, url: str, services: list[str], stores: Stores, runner: asyncio.Runner, seed: int) -> None:
        self.url, self.services, self.stores, self.runner = url, services, stores, runner
        self.chance = Random(seed)
        self.histories = {name: StoreHistory() for name in NAMES}
        self.others: set[str] = set()
        self.lost_stores: set[str] = set()
        self.deletions: set[str] = set()
        """The tokens of deletions of objects: warrants that end with their object have no event of their own."""
        self.backups: list[Backup] = []
        self.made = 0
        self.clients = {
            (service, name): Client(f"{service}/stores/{name}" if name != "default" else service)
            for service in services
            for name in NAMES
        }
        first = self.clients[services[0], "default"]
        for name in NAMES[1:]:
            first.post("/v2/stores", json={"name": name}).raise_for_status()
        for client in self.clients.values():
            wait_for(client, "/v2/objects", 200)
        for name in NAMES:
            self.pick(name).define({"user": {}, "team": {"member": {}}, "document": MODELS[0]})
            self.note(name, self.clients[services[0], name].get("/v2/objects"), State())
        self.back_up("default")

    def pick(self, name: str) -> Client:
        """A client of the store, of either service."""
        return self.clients[self.chance.choice(self.services), name]

    def note(self, name: str, answer: httpx.Response, state: State) -> None:
        assert answer.status_code == 200, answer.text
        self.histories[name].written[answer.headers["Warrant-Token"]] = state

    def take_step(self) -> None:
        steps: list[Callable[[str], None]] = [
            *[self.change] * 4,
            *[self.write_once] * 3,
            self.write_all,
            self.delete_object,
            self.change_model,
            self.import_warrants,
            self.grant_for_a_moment,
            *[self.check] * 3,
            self.check_as_of,
            self.list_warrants,
            self.query,
            self.compare,
            self.follow_events,
            self.confuse,
            self.change_keys,
            self.use_keys,
            self.make_store,
            self.delete_store,
            self.demand_lost,
            self.back_up,
            self.restore,
        ]
        self.chance.choice(steps)(self.chance.choice(NAMES))

    # writes

    def change(self, name: str) -> None:
        history, text = self.histories[name], self.chance.choice(GRANTS)
        state = history.newest
        if text in state.warrants:
            answer = self.pick(name).delete_json("/v2/warrants", warrant_body(text))
            state = state._replace(warrants=state.warrants - {text})
        else:
            answer = self.pick(name).post("/v2/warrants", json=warrant_body(text))
            state = state._replace(warrants=state.warrants | {text})
        self.note(name, answer, state)

    def write_once(self, name: str) -> None:
        """With an idempotency key, which other stores use as well."""
        history, key, text = self.histories[name], self.chance.choice(["i", "j"]), self.chance.choice(GRANTS[:3])
        answer = self.pick(name).post("/v2/warrants", json=warrant_body(text), headers={"Idempotency-Key": key})
        if key not in history.once:
            self.note(name, answer, history.newest._replace(warrants=history.newest.warrants | {text}))
            history.once[key] = (text, answer.headers["Warrant-Token"])
        elif history.once[key][0] == text:
            assert (answer.status_code, answer.headers["Warrant-Token"]) == (200, history.once[key][1])
        else:
            assert answer.status_code in (409, 422), answer.text

    def write_all(self, name: str) -> None:
        history = self.histories[name]
        warrants = history.newest.warrants
        deleted = self.chance.sample(sorted(warrants), min(2, len(warrants)))
        created = self.chance.sample(sorted(set(GRANTS) - warrants), 2)
        body = {
            "preconditions": [{"revision": history.token}],
            "delete": {"warrants": [*map(warrant_body, deleted)]},
            "create": {"warrants": [*map(warrant_body, created)]},
        }
        answer = self.pick(name).post("/v2/writes", json=body)
        self.note(name, answer, history.newest._replace(warrants=warrants - {*deleted} | {*created}))

    def delete_object(self, name: str) -> None:
        history, text = self.histories[name], self.chance.choice([*DOCUMENTS, *USERS])
        answer = self.pick(name).delete(f"/v2/objects/{text.replace(':', '/')}")
        if answer.status_code != 404:
            left = frozenset(one for one in history.newest.warrants if text not in ends_of(one))
            self.note(name, answer, history.newest._replace(warrants=left))
            self.deletions.add(history.token)
        else:
            assert not [one for one in history.newest.warrants if text in ends_of(one)]

    def change_model(self, name: str) -> None:
        place = self.chance.randrange(len(MODELS))
        body = {"type": "document", "relations": MODELS[place]}
        answer = self.pick(name).post("/v2/object-types", json=body)
        self.note(name, answer, self.histories[name].newest._replace(model=place))

    def import_warrants(self, name: str) -> None:
        history, texts = self.histories[name], self.chance.sample(GRANTS, 3)
        batch = ImportBatch(warrants=[new_warrant(text) for text in texts])

        async def run() -> None:
            stored = await self.stores.find_store(name)
            assert stored is not None
            store = self.stores.default if name == "default" else self.stores.open_store(stored)
            await store.import_batch(batch, lambda model: None, Stamp("ann", time.time_ns() // 1_000))

        self.runner.run(run())
        time.sleep(2 * STALE_MS / 1_000)
        answer = self.pick(name).get("/v2/objects")
        self.note(name, answer, history.newest._replace(warrants=history.newest.warrants | {*texts}))

    def grant_for_a_moment(self, name: str) -> None:
        """To a user of whom nothing else is said, until half a second has passed."""
        body = warrant_body("document:a#viewer@user:guest")
        until = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + 1)) + "Z"
        answer = self.pick(name).post("/v2/warrants", json={**body, "expiresAt": until})
        if answer.status_code == 400:  # the second had passed
            return
        self.note(name, answer, self.histories[name].newest)
        time.sleep(1.1)
        for other in NAMES:
            for service in self.services:
                answer = self.clients[service, other].post("/v2/check", json={"warrants": [body]})
                assert answer.json()["result"] == "Not Authorized"

    # reads

    def check(self, name: str) -> None:
        """All checks at the newest token, with both services."""
        history = self.histories[name]
        for service in self.services:
            for document, user in product(DOCUMENTS, USERS):
                body = {"warrants": [warrant_body(f"{document}#reader@{user}")]}
                answer = self.clients[service, name].post(
                    "/v2/check", json=body, headers={"Warrant-Token": history.token}
                )
                assert answer.status_code == 200, answer.text
                assert (answer.json()["result"] == "Authorized") == history.newest.allows(document, user)

    def check_as_of(self, name: str) -> None:
        token, state = self.chance.choice([*self.histories[name].written.items()])
        for document, user in product(DOCUMENTS, USERS):
            body = {"warrants": [warrant_body(f"{document}#reader@{user}")], "asOf": token}
            answer = self.pick(name).post("/v2/check", json=body)
            assert answer.status_code == 200, answer.text
            assert (answer.json()["result"] == "Authorized") == state.allows(document, user)

    def list_warrants(self, name: str) -> None:
        history, client = self.histories[name], self.pick(name)
        headers, listed = {"Warrant-Token": history.token}, []
        parameters = {"limit": "2", "snapshot": "true"}
        while True:
            answer = client.get("/v2/warrants", params=parameters, headers=headers)
            assert answer.status_code == 200, answer.text
            listed += [written(row) for row in answer.json()["results"]]
            if "nextCursor" not in answer.json():
                break
            parameters["nextCursor"] = answer.json()["nextCursor"]
            other = self.chance.choice([one for one in NAMES if one != name])
            refused = self.pick(other).get("/v2/warrants", params=parameters)
            assert (refused.status_code, refused.json()["code"]) == (400, "invalid_parameter"), refused.text
        assert len(listed) == len({*listed})
        assert {text for text in listed if "guest" not in text} == history.newest.warrants

    def query(self, name: str) -> None:
        history, user = self.histories[name], self.chance.choice(USERS)
        parameters = {"q": f"select document where {user} is reader", "limit": "100"}
        answer = self.pick(name).get("/v2/query", params=parameters, headers={"Warrant-Token": history.token})
        assert answer.status_code == 200, answer.text
        found = {f"document:{row['objectId']}" for row in answer.json()["results"]}
        assert found == {document for document in DOCUMENTS if history.newest.allows(document, user)}

    def compare(self, name: str) -> None:
        tokens = [*self.histories[name].written]
        first, last = sorted(self.chance.choices(range(len(tokens)), k=2))
        parameters = {"from": tokens[first], "to": tokens[last], "limit": "1000"}
        answer = self.pick(name).get("/v2/difference", params=parameters)
        assert answer.status_code == 200, answer.text
        rows = {(row["change"], written(row)) for row in answer.json()["results"] if row["relation"] == "reader"}
        before, after = (self.histories[name].written[tokens[place]].list_readers() for place in (first, last))
        gained, lost = {("gained", text) for text in after - before}, {("lost", text) for text in before - after}
        assert {row for row in rows if row[1].partition("@")[2] in USERS} == gained | lost

    def follow_events(self, name: str) -> None:
        tokens = [*self.histories[name].written]
        token = self.chance.choice(tokens)
        granted: list[str] = []
        revoked: list[str] = []
        before = self.histories[name].written[token]
        for later in tokens[tokens.index(token) + 1 :]:
            after = self.histories[name].written[later]
            granted += after.warrants - before.warrants
            revoked += [] if later in self.deletions else before.warrants - after.warrants
            before = after
        cursor: dict[str, str] = {"after": token}
        events: list[dict[str, Any]] = []
        while True:
            answer = self.pick(name).get("/v2/access-events", params={**cursor, "limit": "100"})
            assert answer.status_code == 200, answer.text
            events += answer.json()["results"]
            cursor = {"nextCursor": answer.json()["nextCursor"]}
            if len(answer.json()["results"]) < 100:
                break
        texts = [(event["type"], name_event(event)) for event in events if event["subjectId"] != "guest"]
        assert sorted(text for kind, text in texts if kind == "access_granted") == sorted(granted)
        assert sorted(text for kind, text in texts if kind == "access_revoked") == sorted(revoked)

    def confuse(self, name: str) -> None:
        """A token of another store is refused as unknown."""
        other = self.chance.choice([one for one in NAMES if one != name])
        token = self.chance.choice([*self.histories[other].written])
        body = {"warrants": [warrant_body(GRANTS[0])]}
        for answer in (
            self.pick(name).post("/v2/check", json=body, headers={"Warrant-Token": token}),
            self.pick(name).post("/v2/check", json=body | {"asOf": token}),
            self.pick(name).get("/v2/access-events", params={"after": token}),
            self.pick(name).post("/v2/writes", json={"preconditions": [{"revision": token}], "create": body}),
        ):
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_parameter"), answer.text

    # keys and stores

    def change_keys(self, name: str) -> None:
        history, key = self.histories[name], self.chance.choice(KEYS)
        client = self.pick(name)
        if key in history.keys:
            [found] = [row for row in client.get("/v2/keys").json()["results"] if row["name"] == key]
            client.delete(f"/v2/keys/{found['id']}").raise_for_status()
            history.lost_keys.add(history.keys.pop(key))
        else:
            created = client.post("/v2/keys", json={"name": key, "scopes": ["read"]})
            assert created.status_code == 200, created.text
            history.keys[key] = created.json()["key"]

    def use_keys(self, name: str) -> None:
        """A key is about its own store, whatever else it names."""
        history, service = self.histories[name], self.chance.choice(self.services)
        for secret in history.keys.values():
            with Client(service, secret) as client:
                wait_for(client, "/v2/warrants", 200)
                rows = client.get("/v2/warrants", params={"limit": "100"}, headers={"Warrant-Token": history.token})
                listed = {written(row) for row in rows.json()["results"]}
                assert {text for text in listed if "guest" not in text} == history.newest.warrants
                for other in NAMES:
                    answer = client.get(f"/stores/{other}/v2/warrants")
                    assert answer.status_code == (200 if other == name else 404), answer.text
        for secret in sorted(history.lost_keys):
            with Client(service, secret) as client:
                wait_for(client, "/v2/warrants", 401, 429)

    def make_store(self, name: str) -> None:
        self.made += 1
        created = self.pick("default").post("/v2/stores", json={"name": f"other-{self.made}", "from": name})
        assert created.status_code == 200, created.text
        self.others.add(f"other-{self.made}")
        self.find_stores()

    def delete_store(self, name: str) -> None:
        if self.others:
            deleted = self.chance.choice(sorted(self.others))
            self.pick("default").delete(f"/v2/stores/{deleted}").raise_for_status()
            self.others.remove(deleted)
            self.lost_stores.add(deleted)
            self.find_stores()

    def find_stores(self) -> None:
        """Those that there are answer, and the others are not found, within a second."""
        for service, (there, names) in product(self.services, ((True, self.others), (False, self.lost_stores))):
            for name in sorted(names):
                path = f"/stores/{name}/v2/warrants"
                wait_for(self.clients[service, "default"], path, 200 if there else 404)

    # restores

    def demand_lost(self, name: str) -> None:
        body = {"warrants": [warrant_body(GRANTS[0])]}
        lost = sorted(self.histories[name].lost_tokens)
        for token in self.chance.sample(lost, min(2, len(lost))):
            for answer in (
                self.pick(name).post("/v2/check", json=body, headers={"Warrant-Token": token}),
                self.pick(name).post("/v2/check", json=body | {"asOf": token}),
                self.pick(name).get("/v2/warrants", headers={"Warrant-Token": token}),
                self.pick(name).get("/v2/access-events", params={"after": token}),
            ):
                assert (answer.status_code, answer.json()["code"]) == (409, "revision_lost"), answer.text

    def back_up(self, name: str) -> None:
        histories = {one: history.copy() for one, history in self.histories.items()}
        self.backups.append(Backup(dump(self.url), histories, frozenset(self.others)))

    def restore(self, name: str) -> None:
        backup = self.chance.choice(self.backups)
        restore(self.url, backup.rows)
        for one, former in backup.histories.items():
            self.histories[one].restore(former)
        self.lost_stores = (self.lost_stores | self.others) - backup.others
        self.others = {*backup.others}
        time.sleep(2 * STALE_MS / 1_000)  # what another process did less than that ago may be missed on PostgreSQL
        if self.chance.random() < 0.5:
            self.find_stores()


def ends_of(text: str) -> tuple[str, str]:
    obj, _, subject = text.partition("@")
    return obj.partition("#")[0], subject.partition("#")[0]


def name_event(event: dict[str, Any]) -> str:
    """The warrant of an event in its written form."""
    relation = f"#{event['subjectRelation']}" if event.get("subjectRelation") else ""
    obj = f"{event['objectType']}:{event['objectId']}#{event['relation']}"
    return f"{obj}@{event['subjectType']}:{event['subjectId']}{relation}"


def wait_for(client: Client, path: str, *codes: int) -> None:
    """Until a request is answered with one of these codes."""
    deadline = time.monotonic() + NOTICED_SECONDS
    while (answer := client.get(path)).status_code not in codes:
        assert time.monotonic() < deadline, answer.text
        time.sleep(0.02)


@pytest.mark.parametrize("seed", list_seeds(1, 3))
@pytest.mark.parametrize("kind", STORES)
def test_three_stores_agree_with_three_oracles(
    kind: str, seed: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = new_database_url(kind, tmp_path, request)
    with ExitStack() as stack:
        settings = settings_for(url)
        services = [stack.enter_context(running_service(settings)) for _ in range(2)]
        runner = stack.enter_context(asyncio.Runner())
        stores = runner.run(open_stores(settings))
        stack.callback(lambda: runner.run(stores.close()))
        machine = Machine(url, services, stores, runner, seed)
        for client in machine.clients.values():
            stack.callback(client.close)

        for _ in range(STEPS):
            machine.take_step()

        for name in NAMES:
            machine.check(name)
            machine.list_warrants(name)
            machine.use_keys(name)
        machine.find_stores()
