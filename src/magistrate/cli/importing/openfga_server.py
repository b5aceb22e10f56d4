"""Reads the models and all tuples of a store from the API of OpenFGA, and makes checks there.

Requests are retried, and answers bounded, by a RetryingClient."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

import msgspec

from magistrate.cli.importing.foreign_files import ForeignFiles
from magistrate.engine.importers.names import Faults, ForeignName
from magistrate.engine.importers.openfga_models import read_openfga_json
from magistrate.engine.importers.openfga_relationships import read_body
from magistrate.engine.importers.relationships import Placed
from magistrate.errors import InvalidRequest, ServiceUnreachable
from magistrate.retrying_client import PAUSES_SECONDS, UNREADABLE, HttpAnswer, RetryingClient

TIMEOUT_MS = 30_000
PAGE_SIZE = 100
"""Sets the tuples of a page: as many as the API allows."""
MAX_ANSWER_BYTES = 16_777_216
"""Limits an answer (16 MiB); models and pages have at most 1 MiB by default."""


class HasToken(Protocol):
    """Represents a page of a list; the token is empty on the last one."""

    continuation_token: str


T = TypeVar("T")
P = TypeVar("P", bound=HasToken)
BAD_REQUEST = 400


class _SourceDecision(msgspec.Struct):
    allowed: bool = False


class _RelationshipsPage(msgspec.Struct, rename={"relationships": "tuples"}):
    relationships: list[msgspec.Raw] | None = None
    continuation_token: str = ""


@contextmanager
def connect_openfga(url: str, token: str | None) -> Iterator[Callable[[Faults], ForeignFiles]]:
    """Yields a function that reads the store at a URL such as `http://127.0.0.1:8080/stores/01J…`. Raises
    InvalidSetting for another URL."""
    with open_openfga(url, token) as server:
        yield partial(_read_store, server)


@contextmanager
def open_openfga(url: str, token: str | None) -> Iterator["OpenFgaServer"]:
    """Yields what sends requests below a URL. Raises InvalidSetting if it is none."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    client = RetryingClient(
        url, headers, timeout_ms=TIMEOUT_MS, max_answer_bytes=MAX_ANSWER_BYTES, pauses_seconds=PAUSES_SECONDS
    )
    with asyncio.Runner() as runner:
        try:
            yield OpenFgaServer(client, runner)
        finally:
            runner.run(client.close())


def _read_store(server: "OpenFgaServer", faults: Faults) -> ForeignFiles:
    """Returns the model and the tuples. Raises InvalidRequest if the server does not answer as OpenFGA does."""
    answer = server.request("GET", "/authorization-models", {"page_size": "1"})
    try:
        model = msgspec.json.decode(answer)["authorization_models"][0]
        is_model = isinstance(model, dict) and "type_definitions" in model
    except (*UNREADABLE, KeyError, IndexError, TypeError):
        is_model = False
    if not is_model:
        raise InvalidRequest(f"{server.url}: the store has no model")
    return ForeignFiles(read_openfga_json(model, "{}", server.url, faults), [server.list_relationships])


class OpenFgaServer:
    """Reads from one store."""

    def __init__(self, client: RetryingClient, runner: asyncio.Runner) -> None:
        self.url = client.url
        self._client = client
        self._runner = runner

    def list_relationships(self) -> Iterator[Placed]:
        """Yields all tuples, page by page; what is wrong with one is reported with the tuple. Raises InvalidRequest."""
        tokens: set[str] = set()
        for page in self.list_relationship_pages(_RelationshipsPage):
            for raw in page.relationships or ():
                yield partial(self._locate, raw), read_body(raw)
            if page.continuation_token in tokens:
                raise InvalidRequest(f"{self.url}/read: pages go on for ever: it answered the same token before")
            tokens.add(page.continuation_token)

    def list_relationship_pages(self, of_type: type[P]) -> Iterator[P]:
        """Yields the pages of all tuples, as long as there is a token for the next. Raises InvalidRequest."""
        continuation = ""
        while True:
            body = {"page_size": PAGE_SIZE, "continuation_token": continuation}
            page = self.read("/read", of_type, "page of tuples", body=body)
            yield page
            continuation = page.continuation_token
            if not continuation:
                return

    def list_pages(self, path: str, of_type: type[P], size: int) -> Iterator[P]:
        """Yields the pages of a list, as `list_relationship_pages` does."""
        parameters = {"page_size": str(size)}
        while True:
            page = self.read(path, of_type, "page of a list", parameters)
            yield page
            if not page.continuation_token:
                return
            parameters["continuation_token"] = page.continuation_token

    def read(
        self, path: str, of_type: type[T], described: str, parameters: Mapping[str, str] | None = None, body: Any = None
    ) -> T:
        """Returns an answer of this type. Raises InvalidRequest for another one."""
        answer = self.request("GET" if body is None else "POST", path, parameters, body)
        try:
            return msgspec.json.decode(answer, type=of_type)
        except UNREADABLE:
            raise InvalidRequest(f"{self.url}{path}: the answer is no {described}") from None

    def check(self, key: Mapping[str, str], model_id: str) -> bool | None:
        """Returns whether a check is allowed there, None if it is an error of the request. Raises InvalidRequest."""
        body = {"tuple_key": key, "authorization_model_id": model_id}
        answer = self._send("POST", "/check", body=body)
        if answer.status == BAD_REQUEST:
            return None
        self._require_success(answer, "/check")
        try:
            return msgspec.json.decode(answer.body, type=_SourceDecision).allowed
        except UNREADABLE:
            raise InvalidRequest(f"{self.url}/check: the answer is no decision") from None

    def _locate(self, raw: msgspec.Raw) -> ForeignName:
        """Returns the tuple itself in place of a file and a line."""
        return ForeignName("", f"{self.url} {bytes(raw)[:500].decode(errors='replace')}")

    def request(self, method: str, path: str, parameters: Mapping[str, str] | None = None, body: Any = None) -> bytes:
        """Returns the answer. Raises InvalidRequest if there is none, or another status than 200."""
        answer = self._send(method, path, parameters, body)
        self._require_success(answer, path)
        return answer.body

    def _send(
        self, method: str, path: str, parameters: Mapping[str, str] | None = None, body: Any = None
    ) -> HttpAnswer:
        content = None if body is None else msgspec.json.encode(body)
        try:
            return self._runner.run(self._client.send(method, path, parameters=parameters, content=content))
        except ServiceUnreachable as error:
            raise InvalidRequest(f"{self.url}{path}: {error.message}") from error

    def _require_success(self, answer: HttpAnswer, path: str) -> None:
        if answer.status != 200:
            reason = answer.body[:200].decode(errors="replace")
            raise InvalidRequest(f"{self.url}{path}: answered {answer.status}: {reason}")
