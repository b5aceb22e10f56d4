"""Finds where temporary files can be written, and says what they are for if that is nowhere. Makes files that appear
under their name when they are complete."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from magistrate.errors import InvalidRequest, InvalidSetting, StoreUnavailable

MEMORY = "/dev/shm"  # noqa: S108  # files in it have a folder of their own, made by tempfile
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
def create_file(path: Path) -> Iterator[BinaryIO]:
    """Yields a file to write, which appears under this name, on disk and readable to its owner only, when the context
    has ended without an error. Raises InvalidRequest if the name is that of something else than a file."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise InvalidRequest(f"{path} is not a file; - writes to standard output")
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent)
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    _synchronize_folder(target.parent)


def _synchronize_folder(folder: Path) -> None:
    """Puts the new name on disk as well."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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


def allocate_file(descriptor: int, size: int) -> None:
    """Makes a file this large, which is to be mapped into memory. With a hole in it, a full disk would end the process
    that writes there."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:
        os.ftruncate(descriptor, size)
