"""`python -m benchmarks.datasets NAME SIZE`: a data set as lines for `magistrate import`, on standard output.

Its object types come first, then its warrants, in the same order each time."""

import argparse
import sys

from benchmarks.datasets import DATASETS
from benchmarks.datasets.dataset import SMALLEST_SIZE
from benchmarks.datasets.lines import lines

SEED = 1


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
