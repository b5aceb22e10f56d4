"""`magistrate watch`: which events it prints, where it goes on, and how it ends."""

import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from magistrate.cli.checks import event_following
from tests.cli.cases import Magistrate
from tests.mirror.feeds import HOLD, Event, Sent, at, checkpoint, refusal, scripted_feed
from tests.processes.starting import start_process
from tests.running import KEY, Client
from tests.waiting import wait_until

WITHIN_SECONDS = 30


def revision(number: int) -> Event:
    return {"event": "revision", **at(number)}


def start_watch(
    server: str, *flags: str, key: str = KEY, stdout: IO[str] | int = subprocess.PIPE
) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "magistrate", "watch", "--server", server, *flags]
    environment = os.environ | {"MAGISTRATE_API_KEY": key}
    return start_process(command, environment=environment, output=stdout, errors=subprocess.PIPE)


def find_key(client: Client) -> str:
    return client.headers["Authorization"].removeprefix("ApiKey ")


def read_lines(text: str) -> list[Event]:
    return [json.loads(line) for line in text.splitlines()]


def list_objects(events: list[Event]) -> list[str]:
    """The documents that were created, in their order."""
    created = [row for event in events for row in event.get("objects", {}).get("created", ())]
    return [row["objectId"] for row in created if row["objectType"] == "document"]


def read_token(client: Client) -> str:
    return str(client.get("/v2/objects", headers={"Service-Token": "latest"}).headers["Service-Token"])


@pytest.fixture
def service(client: Client) -> Client:
    client.define({"document": {"viewer": {}, "editor": {}}, "folder": {"viewer": {}}})
    return client


@pytest.fixture
def own(service: Client) -> Magistrate:
    return Magistrate(str(service.base_url), find_key(service))


def test_it_prints_every_event_up_to_now(service: Client, own: Magistrate) -> None:
    since = read_token(service)
    service.grant("document:a#viewer@user:ann")
    service.grant("document:b#viewer@user:ann", "document:c#viewer@user:ann")

    events = read_lines(own.done("watch", "--since", since, "--once"))

    assert [event["event"] for event in events] == ["checkpoint", "revision", "revision"]
    assert list_objects(events) == ["a", "b", "c"]
    assert read_lines(own.done("watch", "--once"))[0]["token"] == events[-1]["token"]


def test_filters_select_changes(service: Client, own: Magistrate) -> None:
    since = read_token(service)
    service.grant("document:a#viewer@user:ann")
    service.grant("document:b#editor@user:ann")
    service.grant("folder:c#viewer@user:ann")

    def read(*filters: str) -> list[str]:
        events = read_lines(own.done("watch", "--since", since, "--once", *filters))
        rows = [row for event in events for row in event.get("warrants", {}).get("created", ())]
        return [row["objectId"] for row in rows]

    assert read() == ["a", "b", "c"]
    assert read("--object-type", "document") == ["a", "b"]
    assert read("--relation", "viewer", "--relation", "owner") == ["a", "c"]
    assert read("--object-type", "folder", "--object-type", "document", "--relation", "editor") == ["b"]
    assert read("--subject-type", "group") == []


def test_access_is_selected_with_of(service: Client, own: Magistrate) -> None:
    service.grant("document:a#viewer@user:ann", "document:b#viewer@user:kim")
    access = ("watch", "--of", "document#viewer@user", "--snapshot", "--once")

    def read(*narrowing: str) -> list[tuple[str, str]]:
        events = read_lines(own.done(*access, *narrowing))
        rows = [row for event in events for row in event.get("access", ())]
        return [(row["objectId"], row["subject"]["objectId"]) for row in rows]

    assert read() == [("a", "ann"), ("b", "kim")]
    assert read("--subject", "user:kim") == [("b", "kim")]
    assert read("--object", "document:a") == [("a", "ann")]


def test_it_goes_on_from_the_position_in_the_file(service: Client, own: Magistrate, tmp_path: Path) -> None:
    kept = tmp_path / "kept/position"
    kept.parent.mkdir()
    command = ("watch", "--snapshot", "--once", "--position", str(kept))
    service.grant("document:a#viewer@user:ann")
    first = read_lines(own.done(*command))
    service.grant("document:b#viewer@user:ann")

    second = read_lines(own.done(*command))

    assert [event["event"] for event in first][-2:] == ["snapshot", "checkpoint"]
    assert [event["event"] for event in second] == ["checkpoint", "revision"]
    assert list_objects(second) == ["b"]
    assert kept.read_text() == second[-1]["token"] + "\n"
    assert [*kept.parent.iterdir()] == [kept]


def test_the_position_of_access_is_the_id_of_the_event(tmp_path: Path) -> None:
    kept = tmp_path / "position"
    events: list[Sent] = [checkpoint(1), {"event": "access", **at(1, later=7), "gained": [], "lost": []}]
    with scripted_feed(
        lambda asked: (200, [checkpoint(1, later=7), HOLD] if not asked.get("since") else events)
    ) as feed:
        kept.write_text("t1\n")
        Magistrate(feed.url).done("watch", "--of", "document#viewer@user", "--once", "--position", str(kept))

    assert kept.read_text() == "t1.7\n"
    assert feed.requests[-1]["since"] == "t1"


@pytest.mark.parametrize("content", ["", "\n", "a b\u00a0\n", "x" * 300, "one\ntwo\n"])
def test_a_file_without_a_position_is_refused(tmp_path: Path, content: str) -> None:
    kept = tmp_path / "position"
    kept.write_text(content)

    failed = Magistrate("http://127.0.0.1:1").failed("watch", "--position", str(kept))

    assert failed == f"--position: {kept} has no position; name another file, or delete this one"
    assert kept.read_text() == content


def test_it_goes_on_after_a_cut_and_an_end_with_longer_and_longer_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_following, "FIRST_PAUSE_SECONDS", 0.001)
    streams: Iterator[tuple[int, list[Sent]]] = iter(
        [
            (200, [checkpoint(1), revision(2)]),
            (200, [checkpoint(2), {"event": "end", "token": "t2", "reason": "shutting_down"}]),
            (503, [refusal("unavailable")]),
            (429, [refusal("rate_limited")]),
            (200, [checkpoint(2), revision(3), "half a line {"]),
            (200, [checkpoint(3), revision(4)]),
            (401, [refusal("unauthorized")]),
        ]
    )
    with scripted_feed(lambda _: next(streams)) as feed:
        result = Magistrate(feed.url)("watch")

    events = read_lines("\n".join(line for line in result.stdout.splitlines() if not line.startswith("half")))
    assert [event["token"] for event in events if event["event"] == "revision"] == ["t2", "t3", "t4"]
    assert [request.get("since") for request in feed.requests] == [None, "t2", "t2", "t2", "t2", "t3", "t4"]
    assert result.stderr.count("; trying again in 0.0 s") == 6
    assert "the service has ended the stream (shutting_down)" in result.stderr
    assert "does not know this API key" in result.stderr.splitlines()[-1]
    assert result.exit_code == 2


def test_pauses_grow_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_following, "FIRST_PAUSE_SECONDS", 0.2)
    monkeypatch.setattr(event_following, "LAST_PAUSE_SECONDS", 0.4)
    monkeypatch.setattr("random.uniform", lambda least, most: most)
    refused: list[Sent] = [refusal("unavailable")]
    statuses = iter([200, 503, 503, 503, 403])
    with scripted_feed(lambda asked: (next(statuses), refused if "since" in asked else [checkpoint(1)])) as feed:
        failed = Magistrate(feed.url)("watch").stderr

    assert re.findall(r"trying again in (\S+) s", failed) == ["0.2", "0.4", "0.4", "0.4"]


@pytest.mark.parametrize("code", ["gone", "revision_lost"])
def test_a_position_that_is_lost_ends_it(tmp_path: Path, code: str) -> None:
    kept = tmp_path / "position"
    kept.write_text("t1\n")
    with scripted_feed(lambda _: (410 if code == "gone" else 409, [refusal(code)])) as feed:
        failed = Magistrate(feed.url).failed("watch", "--position", str(kept))
        without = Magistrate(feed.url).failed("watch", "--since", "t1")

    assert failed == f"refused with {code}; begin anew with --snapshot and without {kept}"
    assert without == f"refused with {code}; begin anew with --snapshot"
    assert kept.read_text() == "t1\n"


def test_an_end_that_would_come_again_ends_it() -> None:
    with scripted_feed(lambda _: (200, [{"event": "end", "reason": "budget_exceeded"}])) as feed:
        result = Magistrate(feed.url)("watch", "--of", "document#viewer@user", "--snapshot")

    assert (result.exit_code, len(feed.requests)) == (2, 1)
    assert "(budget_exceeded); select less with --of, --subject or --object" in result.stderr


def test_the_first_failure_is_not_waited_out() -> None:
    assert "no service at" in Magistrate("http://127.0.0.1:1").failed("watch")
    with scripted_feed(lambda _: (503, [refusal("unavailable")])) as feed:
        assert "answered 503" in Magistrate(feed.url).failed("watch")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--subject", "user:ann"], "--subject: needs --of"),
        (["--object", "document:a"], "--object: needs --of"),
        (["--of", "document#viewer@user", "--subject-type", "user"], "--subject-type: cannot be given with --of"),
        (["--since", "t1", "--snapshot"], "--since: cannot be given with --snapshot, which begins anew"),
    ],
)
def test_options_that_contradict_each_other_are_refused(flags: list[str], message: str) -> None:
    assert Magistrate("http://127.0.0.1:1").failed("watch", *flags) == message


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signals_end_it(sent: signal.Signals, code: int, tmp_path: Path) -> None:
    kept = tmp_path / "position"
    with scripted_feed(lambda _: (200, [checkpoint(1), revision(2), HOLD])) as feed:
        process = start_watch(feed.url, "--position", str(kept))
        assert process.stdout is not None
        lines = [process.stdout.readline(), process.stdout.readline()]
        wait_until(lambda: kept.exists() and kept.read_text() == "t2\n", WITHIN_SECONDS)
        process.send_signal(sent)
        output, errors = process.communicate(timeout=WITHIN_SECONDS)

    assert read_lines("".join(lines)) == [checkpoint(1), revision(2)]
    assert (process.returncode, output, errors.strip()) == (code, "", "")


def test_it_ends_when_nobody_reads_what_it_prints() -> None:
    """Also while nothing is written: `magistrate watch | head -1` must end."""
    with scripted_feed(lambda _: (200, [checkpoint(1), HOLD])) as feed:
        process = start_watch(feed.url)
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(WITHIN_SECONDS) == 0
        assert process.stderr is not None
        with process.stderr:
            assert process.stderr.read() == ""


def test_no_event_is_missed_however_it_is_killed(service: Client, tmp_path: Path) -> None:
    """Between printing an event and keeping its position, it may be killed: then that event is printed once more."""
    rng = random.Random(11)
    printed, kept = tmp_path / "printed", tmp_path / "position"
    kept.write_text(f"{read_token(service)}\n")
    command = ("watch", "--position", str(kept))
    granted = 0
    with printed.open("w") as file:
        for _ in range(4):
            process = start_watch(str(service.base_url), *command[1:], key=find_key(service), stdout=file)
            size = printed.stat().st_size
            for _ in range(rng.randrange(5, 15)):
                service.grant(f"document:{granted:03}#viewer@user:ann")
                granted += 1
            wait_until(lambda size=size: printed.stat().st_size > size, WITHIN_SECONDS)  # type: ignore[misc]
            process.kill()
            process.communicate()
    rest = Magistrate(str(service.base_url), find_key(service)).done(*command, "--once")

    events = read_lines("".join(line for line in (printed.read_text() + rest).splitlines(True) if line.endswith("}\n")))
    granted_to = list_objects(events)
    assert sorted({*granted_to}) == [f"{number:03}" for number in range(granted)]
    once = [*dict.fromkeys(granted_to)]
    assert once == sorted(once)
