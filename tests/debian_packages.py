"""Programs of Debian that tests need: installed ones, or those of packages that are downloaded and not installed."""

import fcntl
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.generated_docs import ROOT

DOWNLOADED_WITHIN_SECONDS = 120


class Program(NamedTuple):
    """Names a program, and the packages that it and its libraries are in, beside those that every Debian has. `place`
    is where it is in them."""

    name: str
    packages: tuple[str, ...]
    place: str = "usr/*bin"

    @property
    def folder(self) -> Path:
        """Keeps what is unpacked of the packages."""
        return ROOT / ".venv" / f"debian-{self.name}"

    @property
    def environment(self) -> dict[str, str]:
        """Finds the libraries that were unpacked."""
        return {"LD_LIBRARY_PATH": ":".join(map(str, self.folder.glob("usr/lib/*-linux-gnu")))}

    def find(self) -> Path | None:
        """Returns the program: the installed one, or that of the packages, which are downloaded the first time; None
        where neither can be had."""
        if installed := shutil.which(self.name, path="/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin"):
            return Path(installed)
        with self.folder.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # one of the processes of the tests downloads it for all
            if not self.folder.exists():
                self._unpack()
        return next(self.folder.glob(f"{self.place}/{self.name}"), None)

    def _unpack(self) -> None:
        if not all(map(shutil.which, ("apt-get", "dpkg"))):
            return
        with suppress(subprocess.SubprocessError, OSError), TemporaryDirectory(dir=self.folder.parent) as folder:
            subprocess.run(
                ["apt-get", "download", *self.packages],
                cwd=folder,
                capture_output=True,
                check=True,
                timeout=DOWNLOADED_WITHIN_SECONDS,
            )
            for package in Path(folder).glob("*.deb"):
                subprocess.run(["dpkg", "-x", package, f"{folder}/unpacked"], capture_output=True, check=True)
            Path(folder, "unpacked").rename(self.folder)


HAPROXY = Program("haproxy", ("haproxy", "liblua5.3-0", "libopentracing-c-wrapper0", "libopentracing1"))
