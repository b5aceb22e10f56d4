"""Threads of a service give the interpreter up soon when the event loop waits for it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from magistrate.wiring.server import SWITCH_SECONDS, create_application
from tests.running import settings_for


@pytest.fixture
def interval() -> Iterator[float]:
    before = sys.getswitchinterval()
    yield before
    sys.setswitchinterval(before)


def test_the_event_loop_gets_the_interpreter_sooner_than_by_default(tmp_path: Path, interval: float) -> None:
    sys.setswitchinterval(0.005)

    create_application(settings_for(f"sqlite:///{tmp_path}/m.db"))

    assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)
    assert 5 * SWITCH_SECONDS < 0.005
