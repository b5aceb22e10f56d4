"""Folders that take long to build, such as those with packages of npm: one process of a run builds each, for all."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def build_once(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], object]) -> Path:
    """Returns a folder of this process with what `build` makes in a folder. The files are the same in all processes, so
    a test may add some, but change none."""
    own = factory.mktemp(name)
    if not factory.getbasetemp().name.startswith("popen-"):  # as the folder of one of several processes is called
        build(own)
        return own
    built = factory.getbasetemp().parent / f"built-{name}"
    with built.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            unfinished = built.with_suffix(".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            build(unfinished)
            unfinished.rename(built)
    shutil.copytree(built, own, symlinks=True, copy_function=os.link, dirs_exist_ok=True)
    return own
