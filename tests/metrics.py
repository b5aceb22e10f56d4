"""What a service answers to GET /metrics, read as Prometheus does."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from tests.running import Client


class Reading(NamedTuple):
    name: str
    labels: dict[str, str]
    value: float


def read_metrics(client: Client) -> list[Reading]:
    """Every sample, without buckets."""
    return [reading for reading in _read_all(client) if "le" not in reading.labels]


def _read_all(client: Client, name: str = "") -> Iterator[Reading]:
    """Reads only samples whose names begin so, as reading all takes 50 ms."""
    answer = client.get("/metrics")
    answer.raise_for_status()
    lines = [line for line in answer.text.splitlines(keepends=True) if line.startswith(name)]
    for family in text_string_to_metric_families("".join(lines)):
        for sample in family.samples:
            yield Reading(sample.name, sample.labels, sample.value)


def sum_metric(client: Client, name: str, **labels: str) -> float:
    """The sum of the samples with this name and these labels, of which there must be any."""
    found = [
        reading.value
        for reading in _read_all(client, name)
        if reading.name == name and "le" not in reading.labels and labels.items() <= reading.labels.items()
    ]
    return sum(found) if found else math.nan
