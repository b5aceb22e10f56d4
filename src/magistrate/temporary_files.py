"""Finds where temporary files can be written, and says what they are for if that is nowhere."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from magistrate.errors import InvalidSetting, StoreUnavailable

MEMORY = "/dev/shm"
"""Names the folder of Linux whose files are in memory, which is there even if no other can be written."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def find_temporary_folder(purpose: str) -> str:
    """Returns a folder in which this process can make files: that of TMPDIR, one that systems have for it, the working
    directory, or one in memory. `purpose` says who needs it. Raises InvalidSetting if there is none."""
    with suppress(OSError):  # all of them were tried
        return tempfile.gettempdir()
    for folder in (MEMORY, os.environ.get("XDG_RUNTIME_DIR", "")):
        if folder and is_writable(folder):
            return folder
    raise InvalidSetting(
        f"{purpose} a folder for temporary files, and none can be written; set TMPDIR to one that can be"
    )


def is_writable(folder: str) -> bool:
    """Returns whether files can be made in a folder, by making one."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            return file.write(b"x") == 1
    except OSError:
        return False


@contextmanager
def make_temporary_folder(name: str, purpose: str, parent: str = "") -> Iterator[Path]:
    """Yields a new private folder, which is removed at the end, in `parent` if that is given. Raises InvalidSetting if
    there is no place for it."""
    folder = parent or find_temporary_folder(purpose)
    try:
        made = tempfile.TemporaryDirectory(prefix=f"magistrate-{name}-", dir=folder, ignore_cleanup_errors=True)
    except OSError as error:
        raise InvalidSetting(
            f"{purpose} a folder for temporary files, and none can be made in {folder}: {error.strerror}"
        ) from error
    with made as path:
        yield Path(path)


@contextmanager
def open_temporary_file(purpose: str) -> Iterator[BinaryIO]:
    """Yields a file without a name, to write and read. Raises InvalidSetting if there is no place for it."""
    folder = find_temporary_folder(purpose)
    try:
        file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - it is used outside of the try block
    except OSError as error:
        raise InvalidSetting(
            f"{purpose} a temporary file, and none can be made in {folder}: {error.strerror}"
        ) from error
    with file:
        yield file


@contextmanager
def writing_to(file: BinaryIO) -> Iterator[None]:
    """Writes what a temporary file was given before it ends. Raises StoreUnavailable if its disk is full."""
    try:
        yield
        file.flush()
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            raise
        with suppress(OSError):
            file.close()  # tries to write the rest again
        raise StoreUnavailable(
            f"the temporary file cannot be written: {error.strerror}; set TMPDIR to a folder with more space"
        ) from error
