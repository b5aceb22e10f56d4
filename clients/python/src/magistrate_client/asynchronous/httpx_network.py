"""Exchanges requests and answers through a client of httpx: one that the caller brings, or one for a proxy that the
environment names."""

from __future__ import annotations

import time

import httpx

from magistrate_client.answers import Answer
from magistrate_client.attempts import ConnectionFailed, DeadlinePassed
from magistrate_client.http_messages import MAX_BODY_BYTES, Request
from magistrate_client.settings import Settings


class HttpxStream:
    """Is an answer that is read while it is made."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self._pieces = response.aiter_raw()

    async def read_piece(self, seconds: float) -> bytes:
        """Returns the next bytes, none at the end. Raises DeadlinePassed if there are none for so long, or
        ConnectionFailed."""
        self._response.request.extensions["timeout"]["read"] = seconds
        try:
            return await self._pieces.__anext__()
        except StopAsyncIteration:
            return b""
        except httpx.TimeoutException as error:
            raise DeadlinePassed from error
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise ConnectionFailed(str(error) or type(error).__name__, was_sent=True) from error

    async def aclose(self) -> None:
        await self._response.aclose()


class HttpxConnections:
    """Has the requests of a client made by httpx. Its time-outs are for each wait; the deadline is looked at between
    them."""

    def __init__(self, settings: Settings, http: httpx.AsyncClient | None) -> None:
        self._url = settings.url
        self._headers = {name: value for name, value in settings.fixed_headers.items() if name != "Host"}
        self._is_own = http is None
        self._http = http or httpx.AsyncClient()

    async def exchange(self, request: Request, deadline: float) -> Answer:
        """Returns the answer to a request. Raises DeadlinePassed or ConnectionFailed."""
        response = await self._send(request, deadline)
        try:
            return await _read_answer(response, deadline)
        finally:
            await response.aclose()

    async def open_stream(self, request: Request, deadline: float) -> Answer | HttpxStream:
        """Returns the answer to a request while it is made, or the whole of one that is an error. Raises DeadlinePassed
        or ConnectionFailed."""
        response = await self._send(request, deadline)
        if response.status_code == 200:
            return HttpxStream(response)
        try:
            return await _read_answer(response, deadline)
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        if self._is_own:
            await self._http.aclose()

    async def _send(self, request: Request, deadline: float) -> httpx.Response:
        left = deadline - time.monotonic()
        if left <= 0:
            raise DeadlinePassed
        headers = {"Accept-Encoding": "identity", **self._headers, **dict(request.headers)}
        try:
            built = self._http.build_request(
                request.method, self._url + request.target, content=request.body, headers=headers, timeout=left
            )
            return await self._http.send(built, stream=True, follow_redirects=False)
        except httpx.TimeoutException as error:
            raise DeadlinePassed from error
        except httpx.HTTPError as error:
            was_sent = not isinstance(error, (httpx.ConnectError, httpx.ProxyError))
            raise ConnectionFailed(str(error) or type(error).__name__, was_sent) from error


async def _read_answer(response: httpx.Response, deadline: float) -> Answer:
    pieces, length = [], 0
    try:
        async for piece in response.aiter_bytes():
            pieces.append(piece)
            length += len(piece)
            if length > MAX_BODY_BYTES:
                raise ConnectionFailed(f"the answer is larger than {MAX_BODY_BYTES} bytes", was_sent=True)
            if time.monotonic() > deadline:
                raise DeadlinePassed
    except httpx.TimeoutException as error:
        raise DeadlinePassed from error
    except (httpx.HTTPError, httpx.StreamError) as error:
        raise ConnectionFailed(str(error) or type(error).__name__, was_sent=True) from error
    headers = response.headers
    return Answer(
        response.status_code,
        b"".join(pieces),
        headers.get("content-type", "").partition(";")[0],
        headers.get("service-token"),
        headers.get("retry-after"),
        headers.get("warrant-request-id"),
    )
