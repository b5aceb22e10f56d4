"""Reads the URL by which clients reach the service."""

import re

from magistrate.errors import InvalidSetting

_URL = re.compile(r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:(?:/[A-Za-z0-9._~-]+)*)/?")


def read_public_url(text: str) -> str:
    """Returns the URL without a slash at its end; the empty text stands for none. Raises InvalidSetting."""
    if text and not _URL.fullmatch(text):
        raise InvalidSetting(f"public_url: {text!r} is no URL; write https://host or https://host/path")
    return text.rstrip("/")
