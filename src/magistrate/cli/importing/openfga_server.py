"""Reads the newest model and all tuples of a store from the API of OpenFGA.

The server may be busy, or away for a moment, so requests are tried again a few times. Its answers are bounded, because
they may be anything."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import httpx
import msgspec

from magistrate.cli.importing.foreign_files import ForeignFiles
from magistrate.engine.importers.names import Faults, ForeignName
from magistrate.engine.importers.openfga_models import read_openfga_json
from magistrate.engine.importers.openfga_relationships import read_body
from magistrate.engine.importers.relationships import Placed
from magistrate.errors import InvalidRequest
from magistrate.outgoing_requests import choose_http_options, demand_service_url

BREAKS_SECONDS = (0.2, 1.0, 5.0)
"""Sets the pause before each further try."""
TIMEOUT_SECONDS = 30.0
PAGE_SIZE = 100
"""Sets the tuples of a page: as many as the API allows."""
MAX_ANSWER_BYTES = 16_777_216
"""Limits an answer (16 MiB); models and pages have at most 1 MiB by default."""

_UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)
_PASSING = (429, 500, 502, 503, 504)


class _RelationshipsPage(msgspec.Struct, rename={"relationships": "tuples"}):
    relationships: list[msgspec.Raw] | None = None
    continuation_token: str = ""


@contextmanager
def connect_openfga(url: str, token: str | None) -> Iterator[Callable[[Faults], ForeignFiles]]:
    """Yields a function that reads the store at a URL such as `http://127.0.0.1:8080/stores/01J…`. Raises
    InvalidSetting for another URL."""
    server = OpenFgaServer(url, token, BREAKS_SECONDS)
    try:
        yield partial(_read_store, server)
    finally:
        server.close()


def _read_store(server: "OpenFgaServer", faults: Faults) -> ForeignFiles:
    """Returns the model and the tuples. Raises InvalidRequest if the server does not answer as OpenFGA does."""
    answer = server.send("GET", "/authorization-models", {"page_size": "1"}, None)
    try:
        model = msgspec.json.decode(answer)["authorization_models"][0]
        is_model = isinstance(model, dict) and "type_definitions" in model
    except (*_UNREADABLE, KeyError, IndexError, TypeError):
        is_model = False
    if not is_model:
        raise InvalidRequest(f"{server.url}: the store has no model")
    return ForeignFiles(read_openfga_json(model, "{}", server.url, faults), [server.list_relationships])


class OpenFgaServer:
    """Reads from one store."""

    def __init__(self, url: str, token: str | None, breaks_seconds: Sequence[float]) -> None:
        demand_service_url(url)
        self.url = url.rstrip("/")
        self._breaks_seconds = breaks_seconds
        # A compressed answer may expand to any size.
        headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._http = httpx.Client(headers=headers, timeout=TIMEOUT_SECONDS, **choose_http_options(self.url))

    def close(self) -> None:
        self._http.close()

    def list_relationships(self) -> Iterator[Placed]:
        """Yields all tuples, page by page; what is wrong with one is reported with the tuple. Raises InvalidRequest."""
        known: set[str] = set()
        continuation = ""
        while True:
            body = {"page_size": PAGE_SIZE, "continuation_token": continuation}
            try:
                page = msgspec.json.decode(self.send("POST", "/read", {}, body), type=_RelationshipsPage)
            except _UNREADABLE:
                raise InvalidRequest(f"{self.url}/read: the answer is no page of tuples") from None
            for raw in page.relationships or ():
                yield partial(self._locate, raw), read_body(raw)
            continuation = page.continuation_token
            if not continuation:
                return
            if continuation in known:
                raise InvalidRequest(f"{self.url}/read: pages go on for ever: it answered the same token before")
            known.add(continuation)

    def _locate(self, raw: msgspec.Raw) -> ForeignName:
        """Returns the tuple itself in place of a file and a line."""
        return ForeignName("", f"{self.url} {bytes(raw)[:500].decode(errors='replace')}")

    def send(self, method: str, path: str, parameters: dict[str, str], body: Any) -> bytes:
        """Returns the answer. Raises InvalidRequest if there is none, or another status than 200."""
        for pause in (*self._breaks_seconds, None):
            try:
                status, answer = self._send_once(method, path, parameters, body)
                reason = f"answered {status}: {answer[:200].decode(errors='replace')}"
                if status == 200:
                    return answer
                if status not in _PASSING:
                    break
            except httpx.HTTPError as error:
                reason = str(error) or type(error).__name__
            if pause is not None:
                time.sleep(pause)
        raise InvalidRequest(f"{self.url}{path}: {reason}")

    def _send_once(self, method: str, path: str, parameters: dict[str, str], body: Any) -> tuple[int, bytes]:
        with self._http.stream(method, self.url + path, params=parameters, json=body) as response:
            answer = bytearray()
            for piece in response.iter_bytes():
                answer += piece
                if len(answer) > MAX_ANSWER_BYTES:
                    raise InvalidRequest(f"{self.url}{path}: the answer is larger than {MAX_ANSWER_BYTES} bytes")
            return response.status_code, bytes(answer)
