"""`python -m benchmarks.datasets NAME SIZE`: a data set as lines for `magistrate import`, on standard output.

Its object types come first, then its warrants, in the same order each time."""

import argparse
import sys
from collections.abc import Iterable, Iterator

import msgspec

from benchmarks.datasets import DATASETS
from benchmarks.datasets.dataset import SMALLEST_SIZE, Dataset, WarrantRow

SEED = 1


def lines(dataset: Dataset) -> Iterator[bytes]:
    for name, relations in dataset.types.items():
        yield msgspec.json.encode({"type": name, "relations": relations}) + b"\n"
    yield from warrant_lines(dataset.warrants())


def warrant_lines(rows: Iterable[WarrantRow]) -> Iterator[bytes]:
    for object_type, object_id, relation, subject_type, subject_id, subject_relation, policy in rows:
        subject = {"objectType": subject_type, "objectId": subject_id}
        if subject_relation:
            subject["relation"] = subject_relation
        warrant = {"objectType": object_type, "objectId": object_id, "relation": relation, "subject": subject}
        yield msgspec.json.encode(warrant | {"policy": policy} if policy else warrant) + b"\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.datasets", description=__doc__)
    parser.add_argument("name", choices=DATASETS)
    parser.add_argument("size", type=int, help=f"in warrants; at least {SMALLEST_SIZE}")
    parser.add_argument("--seed", type=int, default=SEED)
    chosen = parser.parse_args()
    try:
        dataset = DATASETS[chosen.name](chosen.size, chosen.seed)
    except ValueError as error:
        parser.error(str(error))
    sys.stdout.buffer.writelines(lines(dataset))


if __name__ == "__main__":
    main()
