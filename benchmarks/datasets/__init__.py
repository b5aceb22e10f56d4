"""Data sets to measure checks on: the same rows on every machine for the same size and seed.

A new one is a file beside these that offers a Structure, and a row in DATASETS.
"""

from collections.abc import Callable

from benchmarks.datasets.code_hosting import code_hosting
from benchmarks.datasets.dataset import Dataset
from benchmarks.datasets.drive import drive
from benchmarks.datasets.tenants import tenants

DATASETS: dict[str, Callable[[int, int], Dataset]] = {
    "tenants": tenants,
    "drive": drive,
    "code-hosting": code_hosting,
}
"""Given a size in warrants and a seed, the data set; ValueError if the size is below SMALLEST_SIZE."""
