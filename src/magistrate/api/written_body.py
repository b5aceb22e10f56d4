"""Reads bodies that are text or JSON, as their content tells."""

from typing import NamedTuple

import msgspec

from magistrate.api.json_decoders import build_decoder
from magistrate.api.parse import decode_body
from magistrate.engine.model_text.reports import is_json
from magistrate.errors import InvalidRequest

_ANYTHING: msgspec.json.Decoder[object] = build_decoder(object)


class WrittenBody(NamedTuple):
    """Holds the text of a body, and if it is JSON, its value, or what is wrong with it."""

    text: str
    is_json: bool
    value: object = None
    fault: InvalidRequest | None = None


def read_written_body(raw: bytes, max_depth: int) -> WrittenBody:
    """Returns a body. Raises InvalidRequest only if it is not UTF-8: what else is wrong with JSON is its `fault`, so
    that a handler can report it."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"Request is not valid UTF-8 (at position {error.start + 1})") from None
    if not is_json(text):
        return WrittenBody(text, False)
    try:
        return WrittenBody(text, True, decode_body(raw, _ANYTHING, max_depth))
    except InvalidRequest as fault:
        return WrittenBody(text, True, None, fault)
