"""Reads the workflows of .github/workflows."""

from pathlib import Path
from typing import Any

import yaml


def read_workflow(path: Path) -> dict[str, Any]:
    """Returns a workflow; its key `on` is a boolean in YAML 1.1."""
    workflow: dict[str, Any] = {str(key): value for key, value in yaml.safe_load(path.read_text()).items()}
    return workflow
