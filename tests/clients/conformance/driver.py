"""Runs the scenarios of clients/conformance through the runner of a client, and compares what came of them.

with conformance_service(database_url) as service:
    results = run_conformance(service, ["node", "runner.mjs"], folder)
for result in results:
    assert not result.faults, result.faults
"""

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
import msgspec

from magistrate.operations.consistency import read_revision, write_token
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.stored_rows import Identity
from tests.clients.conformance.corpus import Expected, Scenario, read_corpus
from tests.clients.conformance.fault_proxy import FaultProxy, Request, making_faults
from tests.clients.conformance.tokens import find_identity
from tests.running import KEY, Client, running_server, settings_for
from tests.scenario_files import warrant_body

DEADLINE_SECONDS = 240
"""Limits a runner as a whole."""


class Service:
    """The real service on a database, which can be started again at another port."""

    def __init__(self, database_url: str) -> None:
        self._database_url = database_url
        self._running = ExitStack()
        self.url = ""
        self.start()

    def start(self) -> None:
        self.url, self._server = self._running.enter_context(running_server(settings_for(self._database_url)))

    def stop(self) -> None:
        self._running.close()

    def restart(self) -> None:
        self.stop()
        self.start()

    def find_address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        return parts.hostname or "", parts.port or 0

    def client(self) -> Client:
        return Client(self.url)


@contextmanager
def conformance_service(database_url: str) -> Iterator[Service]:
    service = Service(database_url)
    try:
        yield service
    finally:
        service.stop()


class Prepared(NamedTuple):
    """A scenario with a store of its own."""

    scenario: Scenario
    store: str
    key: str
    tokens: dict[str, str]

    @property
    def identity(self) -> Identity:
        return find_identity(self.tokens["start"])

    def revision_of(self, token: str) -> int:
        return int(read_revision(self.identity, "token", token).revision)

    def for_runner(self) -> dict[str, Any]:
        """The scenario as the runner gets it."""
        options = self.scenario.client
        given = {name: getattr(options, name) for name in ("timeout", "retries", "consistency")}
        client = {name: value for name, value in given.items() if value is not None}
        client["key"] = options.key or (KEY if options.operator else self.key)
        if options.operator:
            client["store"] = self.store
        steps = [step.for_runner() for step in self.scenario.read_steps()]
        return {"name": self.scenario.name, "client": client, "tokens": self.tokens, "steps": steps}


def prepare_scenario(client: httpx.Client, scenario: Scenario, number: int) -> Prepared:
    """Creates the store of a scenario, with what it begins with."""
    name = f"scenario-{number}"
    prefix = f"/stores/{name}"
    store = {"name": name, "limits": scenario.limits}
    client.post("/v2/stores", json=store).raise_for_status()
    text = {"content-type": "text/plain"}
    written = client.put(f"{prefix}/v2/model", content=scenario.model.encode(), headers=text)
    assert written.status_code == 200, (scenario.name, written.text)
    create = {
        "warrants": [warrant_body(warrant) for warrant in scenario.warrants],
        "objects": [dict(zip(("objectType", "objectId"), ref.split(":", 1), strict=True)) for ref in scenario.objects],
    }
    if create["warrants"] or create["objects"]:
        written = client.post(f"{prefix}/v2/writes", json={"create": create})
        assert written.status_code == 200, (scenario.name, written.text)
    key = client.post(f"{prefix}/v2/keys", json={"name": "scenario", "scopes": scenario.client.scopes})
    assert key.status_code == 200, key.text
    start = written.headers["service-token"]
    revision = read_revision(find_identity(start), "token", start)
    lost = write_token(find_identity(start), RevisionId(revision.revision, (revision.bits or 0) ^ 1))
    return Prepared(scenario, name, key.json()["key"], {"start": start, "lost": lost})


class Result(NamedTuple):
    """What came of a step, and how it differs from what is expected."""

    scenario: str
    step: int
    faults: list[str]

    @property
    def place(self) -> str:
        return f"{self.scenario}, step {self.step}"


class Seen(NamedTuple):
    """What the proxy and the store have seen of a step."""

    requests: list[Request]
    writes: int


class Control:
    """Is called by the runner before each step, and notes what the steps before have sent and written."""

    def __init__(self, service: Service, proxy: FaultProxy, prepared: Sequence[Prepared]) -> None:
        self._service = service
        self._proxy = proxy
        self._prepared = {one.scenario.name: one for one in prepared}
        self.seen: dict[tuple[str, int], Seen] = {}
        self._current: tuple[str, int] | None = None
        self._revision = 0

    def begin(self, scenario: str, step: int) -> None:
        self.end()
        prepared = self._prepared[scenario]
        faults = prepared.scenario.read_steps()[step].expected.faults_in_order()
        if any(fault.kind == "restart" for fault in faults):
            self._service.restart()
            self._proxy.cut()
        self._current = (scenario, step)
        self._revision = self._find_revision(prepared)
        self._proxy.begin([fault for fault in faults if fault.kind != "restart"])

    def end(self) -> None:
        """Notes what the current step has done."""
        if self._current is not None:
            written = self._find_revision(self._prepared[self._current[0]]) - self._revision
            self.seen[self._current] = Seen(self._proxy.requests(), written)
            self._current = None

    def _find_revision(self, prepared: Prepared) -> int:
        with self._service.client() as client:
            headers = {"service-token": "latest"}
            answer = client.get(f"/stores/{prepared.store}/v2/object-types", params={"limit": "1"}, headers=headers)
        return prepared.revision_of(answer.headers["service-token"])


@contextmanager
def serving_control(control: Control) -> Iterator[str]:
    """The URL to which the runner posts before each step."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            named = json.loads(self.rfile.read(int(self.headers["content-length"])))
            control.begin(named["scenario"], named["step"])
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *parts: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/step"
        server.shutdown()
        thread.join()


def run_conformance(
    service: Service, command: Sequence[str | Path], folder: Path, environment: Mapping[str, str] | None = None
) -> list[Result]:
    """Runs all scenarios through a runner, in a process of its own. `environment` is that of this process unless it is
    given; `folder` is one for a file of the driver."""

    def run(url: str, control: str, path: Path) -> list[dict[str, Any]]:
        variables = {
            "MAGISTRATE_URL": url,
            "MAGISTRATE_API_KEY": KEY,
            "MAGISTRATE_CONFORMANCE": str(path),
            "MAGISTRATE_CONFORMANCE_CONTROL": control,
        }
        inherited = dict(os.environ if environment is None else environment)
        ran = subprocess.run(
            command, env=inherited | variables, capture_output=True, text=True, timeout=DEADLINE_SECONDS
        )
        assert ran.returncode == 0, (ran.stdout[-2_000:], ran.stderr[-10_000:])
        return [json.loads(line) for line in ran.stdout.splitlines()]

    return drive(service, run, folder)


def drive(service: Service, run: Callable[[str, str, Path], list[dict[str, Any]]], folder: Path) -> list[Result]:
    """Runs all scenarios with a function from the URL of the proxy, that of its control, and the file of the scenarios,
    to the lines of a runner."""
    with service.client() as client:
        prepared = [prepare_scenario(client, scenario, number) for number, scenario in enumerate(read_corpus())]
    path = folder / "conformance.json"
    path.write_text(json.dumps({"scenarios": [one.for_runner() for one in prepared]}))
    with making_faults(service.find_address) as proxy:
        control = Control(service, proxy, prepared)
        with serving_control(control) as url:
            lines = run(proxy.url, url, path)
            control.end()
    by_step = {(line["scenario"], line["step"]): line for line in lines}
    assert len(by_step) == len(lines), "a step has two lines"
    return [result for one in prepared for result in compare_scenario(one, by_step, control.seen)]


def compare_scenario(
    prepared: Prepared, lines: Mapping[tuple[str, int], dict[str, Any]], seen: Mapping[tuple[str, int], Seen]
) -> list[Result]:
    """What came of each step of a scenario."""
    tokens = dict(prepared.tokens)
    results = []
    keys: set[str] = set()
    for number, step in enumerate(prepared.scenario.read_steps()):
        place = (prepared.scenario.name, number)
        if (line := lines.get(place)) is None:
            results.append(Result(*place, ["the runner printed no line"]))
            continue
        faults = [*compare_line(step.expected, line)]
        if place in seen:
            faults += compare_seen(step.expected, seen[place], tokens)
            if step.call == "write":
                faults += compare_keys(seen[place].requests, keys)
        if step.expected.save is not None:
            tokens[step.expected.save] = line["token"]
        results.append(Result(*place, faults))
    return results


def compare_line(expected: Expected, line: Mapping[str, Any]) -> Iterator[str]:
    """How what a runner printed differs from what is expected."""
    error, answer = line.get("error"), line.get("answer")
    if expected.error is None and error is not None:
        yield f"failed with {error}"
    elif expected.error is None:
        if expected.answer is not msgspec.UNSET and not has_members(answer, expected.answer):
            yield f"answered {answer}, not {expected.answer}"
    elif error is None:
        yield f"answered {answer}, and did not fail with {expected.error.kind}"
    else:
        for name in ("kind", "code", "status", "reason"):
            wanted = getattr(expected.error, name)
            if wanted is not msgspec.UNSET and error.get(name) != wanted:
                yield f"failed with the {name} {error.get(name)!r}, not {wanted!r}: {error}"
    if expected.within is not None and line["seconds"] > expected.within:
        yield f"took {line['seconds']} s, above {expected.within} s"


def has_members(value: Any, expected: Any) -> bool:
    """Whether a value is the expected one; objects may have further members."""
    if isinstance(expected, dict):
        return isinstance(value, dict) and all(
            name in value and has_members(value[name], inner) for name, inner in expected.items()
        )
    if isinstance(expected, list):
        pairs = zip(value, expected, strict=True) if isinstance(value, list) and len(value) == len(expected) else None
        return pairs is not None and all(has_members(*pair) for pair in pairs)
    return type(value) is type(expected) and bool(value == expected)


def compare_seen(expected: Expected, seen: Seen, tokens: Mapping[str, str]) -> Iterator[str]:
    """How what was sent and written differs from what is expected."""
    if expected.requests is not None and len(seen.requests) != expected.requests:
        yield f"sent {len(seen.requests)} requests, not {expected.requests}: {[one.line for one in seen.requests]}"
    if expected.writes is not None and seen.writes != expected.writes:
        yield f"wrote {seen.writes} revisions, not {expected.writes}"
    if expected.sends is not None:
        wanted = {"none": None, "latest": "latest"}.get(expected.sends, tokens.get(expected.sends))
        for request in seen.requests:
            sent = request.headers.get("service-token", request.headers.get("warrant-token"))
            if sent != wanted:
                yield f"sent the token {sent}, not {expected.sends}: {wanted}"


def compare_keys(requests: Sequence[Request], earlier: set[str]) -> Iterator[str]:
    """How the idempotency keys of a write differ from one for all of its requests; `earlier` are those before, to which
    it is added."""
    keys = {request.headers.get("idempotency-key", "") for request in requests}
    if len(keys) > 1 or "" in keys:
        yield f"sent the idempotency keys {sorted(keys)}, not one"
    if keys & earlier:
        yield f"sent the idempotency key {sorted(keys & earlier)} of another write"
    earlier |= keys
