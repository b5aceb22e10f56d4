"""What a mirror makes of the events of a feed, whatever ends it, on both databases."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from magistrate.client import Client
from magistrate.errors import InvalidSetting, RequestRefused, ServiceUnreachable, TargetRefused, TargetUnavailable
from magistrate.mirror import mirroring
from magistrate.mirror.mirroring import Mirror, MirrorOptions, read_access
from magistrate.mirror.open_target import choose_target
from tests.databases import PostgresServer
from tests.mirror.feeds import HOLD, ScriptedFeed, Sent, change, checkpoint, refusal, scripted_feed, snapshot
from tests.mirror.tables import read_position, read_rows, row

OF = "document#viewer@user"
ANN, BOB, EVERYONE = (
    row("document:a#viewer@user:ann"),
    row("document:b#viewer@user:bob"),
    row("document:a#viewer@user:*"),
)
WITHIN_SECONDS = 30

Answer = tuple[int, Sequence[Sent]]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirroring, "FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(mirroring, "LAST_PAUSE_SECONDS", 0.05)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """For what has nothing to do with the kind of database."""
    return f"sqlite:///{tmp_path}/app.db"


@pytest.fixture
def any_url(empty_database_url: str) -> str:
    return empty_database_url


def answers(*given: Answer) -> Callable[[dict[str, str]], Answer]:
    """Answers one request after another; the last one is for all others."""
    waiting = list(given)
    return lambda _: waiting.pop(0) if len(waiting) > 1 else waiting[0]


class Running:
    """A mirror in a thread."""

    def __init__(self, feed: ScriptedFeed, url: str, options: MirrorOptions) -> None:
        self.reported: list[str] = []
        self.error: Exception | None = None
        self.stop = threading.Event()
        self._client = Client(feed.url, "key")
        self._mirror = Mirror(self._client, choose_target(url, "access"), options, self.reported.append, self.stop)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            with self._client:
                self._mirror.run()
        except Exception as error:
            self.error = error

    def wait_until(self, is_so: Callable[[], object]) -> None:
        deadline = time.monotonic() + WITHIN_SECONDS
        while not is_so():
            assert self._thread.is_alive(), self.error
            assert time.monotonic() < deadline, self.reported
            time.sleep(0.01)

    def join(self) -> Exception | None:
        self._thread.join(WITHIN_SECONDS)
        assert not self._thread.is_alive()
        return self.error


@contextmanager
def mirroring_from(
    feed: ScriptedFeed, url: str, *, has_wildcards: bool = True, once: bool = False
) -> Iterator[Running]:
    running = Running(feed, url, MirrorOptions([OF], has_wildcards, once))
    try:
        yield running
    finally:
        running.stop.set()
        running.join()


def mirror_once(feed: ScriptedFeed, url: str, of: str = OF, has_wildcards: bool = True) -> None:
    """Raises what a mirror does that ends when it is up to date."""
    with Client(feed.url, "key") as client:
        Mirror(client, choose_target(url, "access"), MirrorOptions([of], has_wildcards, once=True)).run()


def is_at(url: str, position: str) -> Callable[[], bool]:
    """Returns whether the table exists and has this position."""

    def look() -> bool:
        try:
            found = read_position(url)
        except Exception:
            return False  # it is not there yet
        return found is not None and found[2] == position

    return look


LOADED: Answer = (200, [snapshot(ANN), snapshot(BOB, EVERYONE), checkpoint(1), HOLD])


def test_a_snapshot_is_loaded_and_changes_are_applied_to_it(any_url: str) -> None:
    events: list[Sent] = [
        *LOADED[1][:3],
        change(2, lost=[BOB]),
        change(3, gained=[BOB, row("document:c#viewer@user:é")]),
        HOLD,
    ]
    with scripted_feed(answers((200, events))) as feed, mirroring_from(feed, any_url) as running:
        running.wait_until(is_at(any_url, "t3"))

        assert read_rows(any_url) == {ANN, BOB, EVERYONE, row("document:c#viewer@user:é")}
    assert feed.requests == [{"of": OF, "snapshot": "true"}]
    assert running.error is None


def test_it_goes_on_from_its_position_when_it_is_started_again(any_url: str) -> None:
    second: list[Sent] = [checkpoint(1), change(1, lost=[ANN], later=5), HOLD]
    with scripted_feed(answers(LOADED, (200, second), (200, [checkpoint(1, 5), HOLD]))) as feed:
        for position in ("t1", "t1.5"):
            with mirroring_from(feed, any_url) as running:
                running.wait_until(is_at(any_url, position))
        with mirroring_from(feed, any_url) as running:
            running.wait_until(lambda: len(feed.requests) == 3)

    assert [request.get("since") for request in feed.requests] == [None, "t1", "t1.5"]
    assert read_rows(any_url) == {BOB, EVERYONE}


def test_access_that_becomes_conditional_is_lost_and_gained_in_one_event(url: str) -> None:
    conditional = ANN._replace(is_conditional=True)
    events: list[Sent] = [snapshot(ANN), checkpoint(1), change(2, gained=[conditional], lost=[ANN]), HOLD]
    with scripted_feed(answers((200, events))) as feed, mirroring_from(feed, url) as running:
        running.wait_until(is_at(url, "t2"))

    assert read_rows(url) == {conditional}


def test_events_that_arrive_together_have_the_effect_of_the_last(url: str) -> None:
    events: list[Sent] = [
        change(2, lost=[ANN]),
        change(3, gained=[ANN]),
        change(4, lost=[ANN]),
        change(5, gained=[ANN]),
        HOLD,
    ]
    with (
        scripted_feed(answers((200, [snapshot(ANN), checkpoint(1), *events]))) as feed,
        mirroring_from(feed, url) as running,
    ):
        running.wait_until(is_at(url, "t5"))

    assert read_rows(url) == {ANN}


def test_checkpoints_move_the_position(url: str) -> None:
    with (
        scripted_feed(answers((200, [checkpoint(1), checkpoint(2), checkpoint(2, 15), HOLD]))) as feed,
        mirroring_from(feed, url) as running,
    ):
        running.wait_until(is_at(url, "t2.15"))


@pytest.mark.parametrize(
    "end",
    [[], [{"event": "end", "token": "t0", "reason": "too_slow"}], ["{"], ['{"token": 1}'], ["\\"]],
    ids=["closed", "end", "cut", "no event", "no json"],
)
def test_a_load_that_is_broken_off_shows_nothing_and_begins_anew(url: str, end: list[Sent]) -> None:
    seen: list[object] = []

    def script(parameters: dict[str, str]) -> Answer:
        seen.append((read_rows(url), read_position(url)))
        return (200, [snapshot(row("document:old#viewer@user:ann")), *end]) if len(seen) == 1 else LOADED

    with scripted_feed(script) as feed, mirroring_from(feed, url) as running:
        running.wait_until(is_at(url, "t1"))

    assert seen == [(set(), None)] * 2
    assert read_rows(url) == {ANN, BOB, EVERYONE}
    assert any("trying again in" in text for text in running.reported)


@pytest.mark.parametrize(
    ("ending", "reported"),
    [
        ([{"event": "end", "token": "t9", "reason": "shutting_down"}], "shutting_down"),
        ([], "peer closed connection"),
        (["{"], "an event cannot be read"),
    ],
    ids=["end", "closed", "damaged"],
)
def test_a_stream_that_ends_is_opened_again_at_the_position(url: str, ending: list[Sent], reported: str) -> None:
    first: list[Sent] = [*LOADED[1][:3], change(2, lost=[ANN]), *ending]
    with (
        scripted_feed(answers((200, first), (200, [change(3, lost=[BOB]), HOLD]))) as feed,
        mirroring_from(feed, url) as running,
    ):
        running.wait_until(is_at(url, "t3"))

    assert feed.requests[0] == {"of": OF, "snapshot": "true"}
    assert read_rows(url) == {EVERYONE}
    assert any(reported in text for text in running.reported)


@pytest.mark.parametrize(
    "ending",
    [
        (
            200,
            [checkpoint(1), change(2, gained=[row("document:z#viewer@user:ann")]), {"event": "access", "resync": "t3"}],
        ),
        (409, [refusal("revision_lost")]),
        (410, [refusal("not_retained")]),
    ],
    ids=["resync", "409", "410"],
)
def test_where_changes_do_not_continue_the_table_it_is_replaced_at_once(any_url: str, ending: Answer) -> None:
    seen: list[object] = []
    replaced: Answer = (200, [snapshot(BOB), checkpoint(4), HOLD])

    def script(parameters: dict[str, str]) -> Answer:
        if "snapshot" not in parameters:
            return ending
        seen.append(ANN in read_rows(any_url))
        return LOADED if len(seen) == 1 else replaced

    with scripted_feed(script) as feed:
        with mirroring_from(feed, any_url) as running:
            running.wait_until(is_at(any_url, "t1"))
        with mirroring_from(feed, any_url) as running:
            running.wait_until(is_at(any_url, "t4"))

    assert seen == [False, True]
    assert read_rows(any_url) == {BOB}


def test_rows_with_wildcards_can_be_left_out(url: str) -> None:
    all_docs = row("document:*#viewer@user:bob")
    events: list[Sent] = [
        snapshot(ANN, EVERYONE, all_docs),
        checkpoint(1),
        change(2, gained=[BOB, EVERYONE], lost=[all_docs]),
        HOLD,
    ]
    with scripted_feed(answers((200, events))) as feed:
        with mirroring_from(feed, url, has_wildcards=False) as running:
            running.wait_until(is_at(url, "t2"))
        assert read_rows(url) == {ANN, BOB}

        with pytest.raises(TargetRefused, match="leaves out rows with wildcards"):
            mirror_once(feed, url)


def test_a_table_has_one_access_only(url: str) -> None:
    with scripted_feed(answers(LOADED)) as feed:
        with mirroring_from(feed, url) as running:
            running.wait_until(is_at(url, "t1"))

        with pytest.raises(TargetRefused, match=f"has the access {OF}; choose another one for folder#viewer@user"):
            mirror_once(feed, url, of="folder#viewer@user")


def test_the_order_of_the_access_does_not_matter() -> None:
    assert MirrorOptions(read_access(["b#r@u, a#r@u", "b#r@u"])).of_text == "a#r@u,b#r@u"
    for empty in ([], [""], ["a,,b"]):
        with pytest.raises(InvalidSetting):
            read_access(empty)


def test_once_ends_where_the_service_was_when_it_began(url: str) -> None:
    def script(parameters: dict[str, str]) -> Answer:
        if "snapshot" in parameters:
            return (200, [snapshot(ANN), checkpoint(2), HOLD])
        if "since" in parameters:
            return (200, [checkpoint(2), change(3, gained=[BOB]), change(4, gained=[EVERYONE]), HOLD])
        return (200, [checkpoint(2 if len(feed.requests) < 3 else 4), HOLD])

    with scripted_feed(script) as feed:
        mirror_once(feed, url)
        assert read_rows(url) == {ANN}

        mirror_once(feed, url)
        assert read_rows(url) == {ANN, BOB, EVERYONE}


def test_once_raises_what_is_waited_out_otherwise(url: str) -> None:
    with scripted_feed(answers((503, [refusal("unavailable")]))) as feed, pytest.raises(RequestRefused):
        mirror_once(feed, url)
    with pytest.raises(ServiceUnreachable):
        mirror_once(feed, url)


def test_a_key_that_is_revoked_ends_it_at_its_position(url: str) -> None:
    first: list[Sent] = [*LOADED[1][:3], change(2, lost=[ANN]), {"event": "end", "token": "t2", "reason": "key_ended"}]
    with (
        scripted_feed(answers((200, first), (401, [refusal("unauthorized")]))) as feed,
        mirroring_from(feed, url) as running,
    ):
        error = running.join()

    assert isinstance(error, RequestRefused)
    assert error.status == 401
    assert read_rows(url) == {BOB, EVERYONE}


def test_the_position_of_another_store_is_refused(url: str) -> None:
    with scripted_feed(answers(LOADED, (400, [refusal("invalid_parameter", "since")]))) as feed:
        for expected in (None, TargetRefused):
            with mirroring_from(feed, url) as running:
                if expected is None:
                    running.wait_until(is_at(url, "t1"))
                else:
                    assert "none of this store" in str(running.join())


def test_a_service_that_is_away_or_busy_is_waited_for(url: str) -> None:
    given: list[Answer] = [(503, [refusal("unavailable")]), (429, [refusal("too_many_requests")]), (500, ["?"]), LOADED]
    with scripted_feed(answers(*given)) as feed, mirroring_from(feed, url) as running:
        running.wait_until(is_at(url, "t1"))

    assert len([text for text in running.reported if "trying again" in text]) == 3


def test_a_database_that_is_away_is_waited_for(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    released = threading.Event()

    def script(parameters: dict[str, str]) -> Answer:
        if "since" not in parameters:
            return LOADED
        released.wait(WITHIN_SECONDS)
        return (200, [change(2, lost=[ANN]), HOLD])

    with scripted_feed(script) as feed:
        with mirroring_from(feed, url) as running:
            running.wait_until(is_at(url, "t1"))
        with mirroring_from(feed, url) as running:
            running.wait_until(lambda: len(feed.requests) == 2)
            with postgres.stopped():
                released.set()
                running.wait_until(lambda: any("database of the mirror" in text for text in running.reported))
            running.wait_until(is_at(url, "t2"))

    assert read_rows(url) == {BOB, EVERYONE}
    postgres.give_back(url)


def test_a_second_mirror_waits_for_the_first(any_url: str) -> None:
    with scripted_feed(answers(LOADED, (200, [change(2, lost=[ANN]), HOLD]))) as feed:
        with mirroring_from(feed, any_url) as first:
            first.wait_until(is_at(any_url, "t1"))
            with pytest.raises(TargetUnavailable, match="another mirror"):
                mirror_once(feed, any_url)
            second = Running(feed, any_url, MirrorOptions([OF]))
            second.wait_until(lambda: any("another mirror" in text for text in second.reported))
        second.wait_until(is_at(any_url, "t2"))
        second.stop.set()
        second.join()

    assert read_rows(any_url) == {BOB, EVERYONE}
