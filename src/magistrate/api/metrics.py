"""Counters for Prometheus. With several workers they are kept in files and added up (see wiring.py)."""

import os
from functools import lru_cache

from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

DIRECTORY_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Where prometheus-client finds the folder that all workers share; unset in a single process."""

REQUESTS = Counter("magistrate_requests", "Requests answered, by route and status.", ["method", "route", "status"])
UNKNOWN_TOKENS = Counter("magistrate_unknown_tokens", "Consistency tokens ignored because they are none of ours.")


_counter = lru_cache(maxsize=4_096)(REQUESTS.labels)


def count_request(method: str, route: str, status: int) -> None:
    """`route` is the path with its variables as in the table of routes; empty if there is none."""
    _counter(method, route, status).inc()


def exposition() -> bytes:
    """All counters in Prometheus' text format, added up over the workers."""
    if DIRECTORY_VARIABLE not in os.environ:
        return generate_latest()
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # the library leaves it untyped
    return generate_latest(registry)
