"""What the database holds before anything hostile is done."""

from collections.abc import Iterator

import msgspec

from benchmarks.datasets.dataset import WarrantRow
from benchmarks.datasets.lines import warrant_lines
from benchmarks.fairness.shapes import SHAPES, SIZES, TYPES, Groups
from benchmarks.mixed.systems import import_lines

DEEP = (Groups("chain", 300, documents=1_000), Groups("chain", 3_000, documents=1_000))
EVERYWHERE = "everywhere"
"""A user with a warrant on each of MANY papers."""
WIDE_PAPER = "wide"
"""A paper with a warrant to each of MANY users."""
MANY = 10_000
CROWDED_PAPER, CROWD = "crowded", 60_000
"""A paper with a warrant to each of so many groups."""
BIG_OBJECTS, BIG_META_BYTES = 400, 40_000

CALM_CHECK = msgspec.json.encode(
    {
        "warrants": [
            {
                "objectType": "paper",
                "objectId": "calm",
                "relation": "viewer",
                "subject": {"objectType": "user", "objectId": "calm"},
            }
        ]
    }
)
"""The cheap check of the pulse."""


def populate(database_url: str) -> None:
    """By `magistrate import`. Raises CalledProcessError."""
    import_lines(database_url, _lines())


def shaped_groups() -> list[Groups]:
    return [Groups(shape, size) for shape in SHAPES for size in SIZES]


def _lines() -> Iterator[bytes]:
    for name, relations in TYPES.items():
        yield msgspec.json.encode({"type": name, "relations": relations}) + b"\n"
    yield from warrant_lines(_warrants())
    for number in range(BIG_OBJECTS):
        big = {"objectType": "big", "objectId": str(number), "meta": {"x": "y" * BIG_META_BYTES}}
        yield msgspec.json.encode(big) + b"\n"


def _warrants() -> Iterator[WarrantRow]:
    yield "paper", "calm", "viewer", "user", "calm", "", ""
    for groups in (*shaped_groups(), *DEEP):
        yield from groups.warrants()
    for number in range(MANY):
        yield "paper", f"p{number}", "viewer", "user", EVERYWHERE, "", ""
        yield "paper", WIDE_PAPER, "viewer", "user", f"u{number}", "", ""
    for number in range(CROWD):
        yield "paper", CROWDED_PAPER, "viewer", "group", f"crowd{number}", "member", ""
