"""What a module logs during a test."""

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs


@contextmanager
def captured_log(module: ModuleType) -> Iterator[list[MutableMapping[str, Any]]]:
    """Yields the list to which the lines of this module are added. The module gets a new logger: one that was used
    while a service ran in this process keeps the configuration of that time, and its lines would not be captured."""
    with pytest.MonkeyPatch.context() as patch, capture_logs() as lines:
        patch.setattr(module, "log", structlog.get_logger())
        yield lines
