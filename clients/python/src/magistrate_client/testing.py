"""Has clients of a service in this process, for the tests of applications: the real engine and API, without a socket.

    with memory_client(MODEL) as client:
        client.write(create=["document:plan#viewer@user:ann"])
        assert client.check("user:ann", "viewer", "document:plan")

It needs the service itself, on Python 3.11 or newer: `pip install 'magistrate-client[testing]'`."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from typing import Any, TypeVar

from magistrate_client.answers import Answer
from magistrate_client.asynchronous.client import AsyncClient
from magistrate_client.attempts import ConnectionFailed, DeadlinePassed
from magistrate_client.http_messages import Request
from magistrate_client.settings import Settings, read_settings
from magistrate_client.synchronous.client import Client

try:
    from magistrate.wiring.memory_service import MemoryAnswer, MemoryService, MemoryStream
except ImportError as error:
    raise ImportError("pip install 'magistrate-client[testing]', on Python 3.11 or newer") from error

_URL = "http://memory"
_Result = TypeVar("_Result")
_Future = concurrent.futures.Future


class MemoryStore:
    """Is a service in this process, from which any number of clients are made. `key` is that of an operator."""

    def __init__(self) -> None:
        self._service = MemoryService()
        self.key = self._service.key

    def client(self, key: str | None = None, store: str | None = None, **options: Any) -> Client:
        """Returns a client with this key, that of the operator if it is left out; options are those of Client."""
        client = _MemoryClient.__new__(_MemoryClient)
        settings = self._read_settings(key, store, **options)
        client._begin(settings, _Transport(self._service, settings))
        return client

    def async_client(self, key: str | None = None, store: str | None = None, **options: Any) -> AsyncClient:
        """Returns the same for asyncio."""
        client = _MemoryAsyncClient.__new__(_MemoryAsyncClient)
        settings = self._read_settings(key, store, **options)
        client._begin(settings, _AsyncTransport(self._service, settings))
        return client

    def close(self) -> None:
        """Ends the service and all that it has stored."""
        self._service.close()

    def _read_settings(
        self,
        key: str | None,
        store: str | None,
        timeout: float = 10.0,
        retries: int = 3,
        consistency: str = "session",
    ) -> Settings:
        return read_settings(_URL, key or self.key, store, timeout, retries, consistency, environment={})


def memory_client(model: str, **options: Any) -> Client:
    """Returns a client of a new service in this process, which has the model, written as text, and ends when the client
    is closed. `options` are those of Client."""
    store = MemoryStore()
    client = store.client(**options)
    assert isinstance(client, _MemoryClient)
    client.owned = store
    try:
        client.write_model(model)
    except BaseException:
        client.close()
        raise
    return client


def async_memory_client(model: str, **options: Any) -> AsyncClient:
    """Returns the same for asyncio."""
    store = MemoryStore()
    client = store.async_client(**options)
    assert isinstance(client, _MemoryAsyncClient)
    client.owned = store
    try:
        store.client().write_model(model)
    except BaseException:
        store.close()
        raise
    return client


class _MemoryClient(Client):
    owned: MemoryStore | None = None

    def close(self) -> None:
        super().close()
        if self.owned is not None:
            self.owned.close()


class _MemoryAsyncClient(AsyncClient):
    owned: MemoryStore | None = None

    async def aclose(self) -> None:
        await super().aclose()
        if self.owned is not None:
            await asyncio.to_thread(self.owned.close)


class _Transport:
    """Passes requests of threads to the service."""

    def __init__(self, service: MemoryService, settings: Settings) -> None:
        self._service = service
        self._headers = [(name, value) for name, value in settings.fixed_headers.items() if name != "Host"]

    def exchange(self, request: Request, deadline: float) -> Answer:
        headers = [*self._headers, *request.headers]
        future = self._service.submit(request.method, request.target, headers, request.body or b"")
        return _build_answer(_wait(future, deadline))

    def open_stream(self, request: Request, deadline: float) -> Answer | _OpenAnswer:
        future = self._service.submit_stream(request.method, request.target, [*self._headers, *request.headers])
        stream = _wait(future, deadline)
        opened = _OpenAnswer(self._service, stream)
        if stream.status == 200:
            return opened
        body = []
        while piece := opened.read_piece(max(0.0, deadline - time.monotonic())):
            body.append(piece)
        return _build_answer(stream, b"".join(body))

    def close(self) -> None:
        """Keeps the service, which may have other clients."""


class _OpenAnswer:
    """Is an answer that is read by a thread while it is made."""

    def __init__(self, service: MemoryService, stream: MemoryStream) -> None:
        self._loop = service.loop
        self._stream = stream

    def read_piece(self, seconds: float) -> bytes:
        return _wait(asyncio.run_coroutine_threadsafe(self._stream.read(), self._loop), time.monotonic() + seconds)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._stream.close(), self._loop)


class _AsyncTransport:
    """Passes requests of tasks to the service."""

    def __init__(self, service: MemoryService, settings: Settings) -> None:
        self._service = service
        self._headers = [(name, value) for name, value in settings.fixed_headers.items() if name != "Host"]

    async def exchange(self, request: Request, deadline: float) -> Answer:
        headers = [*self._headers, *request.headers]
        future = self._service.submit(request.method, request.target, headers, request.body or b"")
        answer = await _wait_in_task(future, deadline)
        return _build_answer(answer)

    async def open_stream(self, request: Request, deadline: float) -> Answer | _AsyncOpenAnswer:
        future = self._service.submit_stream(request.method, request.target, [*self._headers, *request.headers])
        stream = await _wait_in_task(future, deadline)
        opened = _AsyncOpenAnswer(self._service, stream)
        if stream.status == 200:
            return opened
        body = []
        while piece := await opened.read_piece(max(0.0, deadline - time.monotonic())):
            body.append(piece)
        return _build_answer(stream, b"".join(body))

    async def aclose(self) -> None:
        """Keeps the service, which may have other clients."""


class _AsyncOpenAnswer:
    """Is an answer that is read by a task while it is made."""

    def __init__(self, service: MemoryService, stream: MemoryStream) -> None:
        self._loop = service.loop
        self._stream = stream

    async def read_piece(self, seconds: float) -> bytes:
        future = asyncio.run_coroutine_threadsafe(self._stream.read(), self._loop)
        return await _wait_in_task(future, time.monotonic() + seconds)

    async def aclose(self) -> None:
        asyncio.run_coroutine_threadsafe(self._stream.close(), self._loop)


def _wait(future: _Future[_Result], deadline: float) -> _Result:
    """Returns the result. Raises DeadlinePassed, or ConnectionFailed for a fault of the service."""
    try:
        return future.result(max(0.0, deadline - time.monotonic()))
    except (concurrent.futures.TimeoutError, TimeoutError) as error:
        future.cancel()
        raise DeadlinePassed from error
    except Exception as error:
        raise ConnectionFailed(f"the service has failed: {error!r}", was_sent=True) from error


async def _wait_in_task(future: _Future[_Result], deadline: float) -> _Result:
    """Returns the same, while other tasks run."""
    try:
        return await asyncio.wait_for(asyncio.wrap_future(future), max(0.0, deadline - time.monotonic()))
    except (asyncio.TimeoutError, TimeoutError) as error:
        raise DeadlinePassed from error
    except Exception as error:
        raise ConnectionFailed(f"the service has failed: {error!r}", was_sent=True) from error


def _build_answer(answer: MemoryAnswer | MemoryStream, body: bytes | None = None) -> Answer:
    headers = answer.headers
    return Answer(
        answer.status,
        answer.body if isinstance(answer, MemoryAnswer) else body or b"",
        headers.get("content-type", "").partition(";")[0],
        headers.get("service-token"),
        headers.get("retry-after"),
        headers.get("warrant-request-id"),
    )
