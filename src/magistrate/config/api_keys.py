"""Reads API keys, from a text with commas or from a file with lines.

Messages name the place of a key, never the key."""

import os
import stat
from codecs import BOM_UTF8
from dataclasses import dataclass, field

from magistrate.errors import InvalidSetting

MIN_KEY_LENGTH = 16
"""Sets the minimum number of characters of a key that callers may use. Shorter keys can be guessed."""
MAX_FILE_BYTES = 65_536
"""Limits the size of a key file (64 KiB): every request is compared with every key."""

DOCUMENTED_KEYS = frozenset({"magistrate_Vd3..."})
"""Lists the keys that README and documents show, and everybody knows; a test collects them."""
PLACEHOLDER = "..."
"""Is in texts that stand for a key in documents, and in no key that is generated."""

_HOW_TO_MAKE_ONE = "`openssl rand -hex 32` makes one"
_NO_WORD = "must be one word of printable ASCII characters"


@dataclass(frozen=True, slots=True)
class FileState:
    """Identifies the content of a file without reading it: (2, 11, 1763683200000000000, 1763683200000000000, 33).
    Another state may hold the same content."""

    device: int
    inode: int
    modified_ns: int
    changed_ns: int
    size: int


@dataclass(frozen=True, slots=True)
class FileKeys:
    """Holds the keys of a file, and its state before they were read. `exposed_mode` is the mode of a file that other
    users can read or write, otherwise None."""

    keys: tuple[str, ...] = field(repr=False)
    state: FileState
    exposed_mode: int | None


def split_api_keys(text: str) -> tuple[str, ...]:
    """Returns the keys in a text, in which they are separated by commas. Raises InvalidSetting."""
    if not text:
        return ()
    keys = tuple(key.strip() for key in text.split(","))
    if not all(map(_is_word, keys)):
        raise InvalidSetting(f"an API key {_NO_WORD}")
    return keys


def read_long_api_keys(text: str) -> tuple[str, ...]:
    """Returns the keys in a text, like `split_api_keys`. Raises InvalidSetting for a key that can be guessed, too."""
    keys = split_api_keys(text)
    for place, key in enumerate(keys, 1):
        if fault := _find_fault(f"API key {place} of {len(keys)}" if len(keys) > 1 else "the API key", key):
            raise InvalidSetting(fault)
    return keys


def read_api_key_file(path: str) -> FileKeys:
    """Returns the keys of a file, one per line; blank lines and lines that begin with `#` are ignored. Raises
    InvalidSetting, also if there is no key in it."""
    try:
        # A pipe, which only one process could read, must not be waited for.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InvalidSetting(f"api_key_file: {path} must be a regular file, because each worker reads it")
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InvalidSetting(f"api_key_file: {path} cannot be read: {error.strerror}") from error
    if len(content) > MAX_FILE_BYTES:
        raise InvalidSetting(f"api_key_file: {path} is larger than {MAX_FILE_BYTES} bytes")
    return FileKeys(_read_lines(path, content), _state_of(status), find_exposed_mode(status))


def find_file_state(path: str) -> FileState | None:
    """Returns the state of a file, or None if there is none."""
    try:
        return _state_of(os.stat(path))
    except OSError:
        return None


def _read_lines(path: str, content: bytes) -> tuple[str, ...]:
    keys = []
    for number, line in enumerate(content.removeprefix(BOM_UTF8).decode("latin-1").split("\n"), 1):
        key = line.strip(" \t\r")
        if not key or key.startswith("#"):
            continue
        if not _is_word(key):
            raise InvalidSetting(f"api_key_file: line {number} of {path} {_NO_WORD}")
        if fault := _find_fault(f"the key in line {number} of {path}", key):
            raise InvalidSetting(f"api_key_file: {fault}")
        keys.append(key)
    if not keys:
        raise InvalidSetting(f"api_key_file: {path} must hold a key or some; {_HOW_TO_MAKE_ONE}")
    return tuple(keys)


def _is_word(key: str) -> bool:
    return bool(key) and key.isascii() and key.isprintable() and " " not in key


def _find_fault(name: str, key: str) -> str | None:
    """Returns why others may know a key, or None. The message does not contain the key."""
    if len(key) < MIN_KEY_LENGTH:
        return f"{name} has {len(key)} characters; it must have {MIN_KEY_LENGTH} or more; {_HOW_TO_MAKE_ONE}"
    if key in DOCUMENTED_KEYS or PLACEHOLDER in key:
        return f"{name} is an example of the documentation, which everybody knows; {_HOW_TO_MAKE_ONE}"
    return None


def _state_of(status: os.stat_result) -> FileState:
    return FileState(status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, size=status.st_size)


def find_exposed_mode(status: os.stat_result) -> int | None:
    """Returns the mode if other users can use the file. A group may read a file of root, because containers are given
    secrets in this way."""
    allowed = 0o640 if status.st_uid == 0 else 0o600
    mode = stat.S_IMODE(status.st_mode)
    return mode if mode & 0o077 & ~allowed else None
