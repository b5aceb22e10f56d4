"""The cases of conditions.yaml."""

from pathlib import Path
from typing import Any

import yaml

CASES: list[Any] = yaml.safe_load((Path(__file__).parent / "conditions.yaml").read_text(encoding="utf-8"))
