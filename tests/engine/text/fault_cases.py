"""The cases of errors.yaml and lint.yaml."""

from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
Case = dict[str, Any]


def read_cases(name: str) -> list[Case]:
    cases: list[Case] = yaml.safe_load((HERE / name).read_text())
    assert len({case["name"] for case in cases}) == len(cases)
    return cases


ERRORS = read_cases("errors.yaml")
LINT = read_cases("lint.yaml")


def name_of(case: Case) -> str:
    return str(case["name"])
