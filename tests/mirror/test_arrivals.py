"""How lines of a stream are taken together."""

import time
from collections.abc import Iterator

import pytest

from magistrate.client import Client
from magistrate.errors import ServiceUnreachable
from magistrate.mirror.arrivals import ENOUGH_BYTES, ArrivingLines
from magistrate.mirror.feed_events import ACCESS_PATH
from tests.mirror.feeds import HOLD, Sent, checkpoint, scripted_feed

LONG_SECONDS = 60


class SlowEvents(list[Sent]):
    """Events between which the service pauses."""

    def __iter__(self) -> Iterator[Sent]:
        for event in super().__iter__():
            yield event
            time.sleep(0.005)


def test_lines_are_gathered_until_a_time_or_the_end_of_the_stream() -> None:
    sent = SlowEvents(checkpoint(number) for number in range(50))
    with (
        scripted_feed(lambda _: (200, sent)) as feed,
        Client(feed.url, "key") as client,
        ArrivingLines(client, ACCESS_PATH, {}) as lines,
    ):
        assert len(lines.take(LONG_SECONDS, time.monotonic() + LONG_SECONDS)) == len(sent)
        with pytest.raises(ServiceUnreachable):
            lines.take(LONG_SECONDS, time.monotonic() + LONG_SECONDS)


def test_many_lines_are_not_gathered_any_longer() -> None:
    """It would not end in time otherwise."""
    line = "x" * (ENOUGH_BYTES // 4)
    with (
        scripted_feed(lambda _: (200, [line, line, line, line, HOLD])) as feed,
        Client(feed.url, "key") as client,
        ArrivingLines(client, ACCESS_PATH, {}) as lines,
    ):
        assert len(lines.take(LONG_SECONDS, time.monotonic() + 100 * LONG_SECONDS)) == 4
