"""Reads the origins whose pages may call the service (CORS)."""

import re

from magistrate.errors import InvalidSetting

ANY_ORIGIN = "*"
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?")
_DEFAULT_PORTS = {"http": 80, "https": 443}


def read_cors_origins(text: str) -> tuple[str, ...]:
    """Returns the origins in a text, in which they are separated by commas, as browsers write them: in lower case and
    without the default port. Raises InvalidSetting."""
    if not text:
        return ()
    origins = tuple(_read_origin(part.strip()) for part in text.split(","))
    if ANY_ORIGIN in origins and len(origins) > 1:
        raise InvalidSetting("cors_origin: * stands for all origins, so it must be the only one")
    return origins


def _read_origin(text: str) -> str:
    if text == ANY_ORIGIN:
        return text
    match = _ORIGIN.fullmatch(text.lower()) if text.isascii() else None
    port = int(match[3]) if match is not None and match[3] is not None else None
    if match is None or port == 0 or (port is not None and port > 65_535):
        raise InvalidSetting(
            f"cors_origin: {text!r} is no origin; write scheme://host or scheme://host:port, without a path, or *"
        )
    is_default = port is None or port == _DEFAULT_PORTS.get(match[1])
    return f"{match[1]}://{match[2]}" + ("" if is_default else f":{port}")
