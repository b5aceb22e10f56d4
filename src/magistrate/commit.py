"""Says which commit the package was built from."""

import re
from pathlib import Path

UNKNOWN = "unknown"
_FILE = Path(__file__).with_name("commit.txt")
_HASH = re.compile(r"[0-9a-f]{7,64}")


def read_commit(file: Path = _FILE) -> str:
    """Returns the hash of the commit, which the build writes into a file of the package, and UNKNOWN if there is no
    such file, as in a checkout, or no hash in it."""
    try:
        text = file.read_text("utf-8").strip()
    except (OSError, UnicodeError):
        return UNKNOWN
    return text if _HASH.fullmatch(text) else UNKNOWN


COMMIT = read_commit()
