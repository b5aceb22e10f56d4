"""`python -m history_check FILE...` checks histories, prints the report of each, and fails if there is a finding."""

import sys
from pathlib import Path

from history_check.checker import check_history


def main(*paths: str) -> int:
    is_right = True
    for path in paths:
        report = check_history(Path(path))
        print(path, report.database, *report.lines(), sep="\n")
        is_right &= not report.findings
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
