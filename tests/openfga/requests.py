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


def v2(openfga: OpenFga, method: str, path: str, **others: Any) -> Any:
    """Sends a request of /v2 about the store, which must succeed."""
    answer = openfga.client.request(method, f"/stores/{openfga.store_id}/v2/{path}", **others)
    assert answer.status_code == 200, answer.text
    return answer
