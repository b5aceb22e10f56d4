"""Writes tuples that are given in one line, `file:a viewer user:ann`."""

from typing import Any

import httpx

from tests.openfga.conversation import OpenFga


def key(text: str) -> dict[str, str]:
    """Returns the tuple key of `file:a viewer user:ann`."""
    of_object, relation, user = text.split(" ")
    return {"user": user, "relation": relation, "object": of_object}


def write(openfga: OpenFga, *texts: str, **others: Any) -> httpx.Response:
    return openfga.post("write", {"writes": {"tuple_keys": [*map(key, texts)], **others}})


def delete(openfga: OpenFga, *texts: str, **others: Any) -> httpx.Response:
    return openfga.post("write", {"deletes": {"tuple_keys": [*map(key, texts)], **others}})
