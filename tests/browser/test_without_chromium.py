"""Where no Chromium is installed, tests in a browser are skipped, and the run says so: nobody takes them for passed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.browser.chromium import MISSING
from tests.generated_docs import ROOT


def test_a_run_without_chromium_says_what_it_skipped(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/browser/test_console_why.py"]
    assert shutil.which("chromium", path=str(tmp_path)) is None

    ran = subprocess.run(command, cwd=ROOT, env={**os.environ, "PATH": str(tmp_path)}, capture_output=True, text=True)

    skipped = [line for line in ran.stdout.splitlines() if line.startswith("SKIPPED")]
    assert ran.returncode == 0
    assert skipped
    assert all(MISSING in line for line in skipped)
