"""Sends requests to servers of other products, from which rows are imported.

This is not part of outgoing_requests.py because it takes longer to import than a command should need that calls a
service."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import httpx
import msgspec

from magistrate.errors import AnswerTooLarge, AnswerTooSlow, ServiceUnreachable
from magistrate.outgoing_requests import choose_http_options, demand_service_url

PAUSES_SECONDS = (0.2, 1.0, 5.0, 15.0)
"""Sets the pause before each further try."""
MAX_PAUSE_SECONDS = 60.0
"""Limits the pause, however long the server says to wait."""
MAX_WAITS = 4
"""Limits the time for a complete answer to this many times a single wait for a part of it."""
MAX_ANSWER_VALUES = 2_000_000
"""Limits, approximately, the values of an answer; each takes more than a hundred bytes once it is decoded, however
short it was."""
BUSY_STATUSES = (429, 502, 503)
"""Lists the statuses of a server that is busy or away: another try may succeed."""
UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""Lists the errors that decoding JSON raises; the last one is raised for JSON that nests too deeply."""


class HttpAnswer(NamedTuple):
    status: int
    headers: httpx.Headers
    body: bytes


class RetryingClient:
    """Sends requests to the server of another product at `url`.

    The server may be slow, busy, or away for a moment, so requests are tried again after each of `pauses_seconds`. Its
    answers are bounded in size and time, because they may be anything. Raises InvalidSetting if the URL cannot be that
    of a service."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        timeout_ms: int,
        max_answer_bytes: int,
        pauses_seconds: Sequence[float] = PAUSES_SECONDS,
    ) -> None:
        demand_service_url(url)
        self.url = url.rstrip("/")
        self._pauses_seconds = pauses_seconds
        self._timeout_ms = timeout_ms
        self._max_answer_bytes = max_answer_bytes
        self._has_answered = False
        self._http = httpx.AsyncClient(
            headers={"Accept-Encoding": "identity", **headers},  # a compressed answer may expand to any size
            timeout=timeout_ms / 1_000,
            **choose_http_options(self.url),
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def send(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, str] | None = None,
        content: bytes | None = None,
        repeats_failures: bool = True,
    ) -> HttpAnswer:
        """Returns the answer, whatever its status; statuses from 500 on are tried again only with `repeats_failures`.

        Raises ServiceUnreachable if there is no answer, AnswerTooLarge, and AnswerTooSlow if a server that had answered
        before takes too long over a request that is not repeated."""
        pauses = iter(self._pauses_seconds)
        while True:
            pause = next(pauses, None)
            try:
                answer = await self._send_once(method, path, parameters, content)
            except httpx.RequestError as error:
                failure = self._describe_failure(error, repeats_failures)
                # If a server never answered, the URL is probably wrong; one that was too slow would be so again.
                if pause is None or not self._has_answered or isinstance(failure, AnswerTooSlow):
                    raise failure from error
            else:
                self._has_answered = True
                has_failed = answer.status in BUSY_STATUSES or (repeats_failures and answer.status >= 500)
                if pause is None or not has_failed:
                    return answer
                pause = max(pause, read_retry_delay(answer.headers))
            await asyncio.sleep(pause)

    async def _send_once(
        self, method: str, path: str, parameters: Mapping[str, str] | None, content: bytes | None
    ) -> HttpAnswer:
        """Sends a request once. Raises httpx.RequestError if another try may succeed."""
        limit_ms = MAX_WAITS * self._timeout_ms
        request = self._http.stream(method, self.url + path, params=parameters, content=content)
        try:
            async with asyncio.timeout(limit_ms / 1_000), request as response:
                return HttpAnswer(response.status_code, response.headers, await self._read_body(response))
        except TimeoutError as error:
            raise ServiceUnreachable(self.url, f"{path} was not answered completely within {limit_ms} ms") from error

    async def _read_body(self, response: httpx.Response) -> bytes:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise ServiceUnreachable(self.url, "its answers are compressed, although plain ones were requested")
        body = bytearray()
        async for part in response.aiter_raw():
            body += part
            if len(body) > self._max_answer_bytes:
                raise AnswerTooLarge(self.url, f"an answer is larger than {self._max_answer_bytes} bytes")
        if body.count(b",") >= MAX_ANSWER_VALUES:
            raise AnswerTooLarge(self.url, f"an answer has more than {MAX_ANSWER_VALUES} values")
        return bytes(body)

    def _describe_failure(self, error: httpx.RequestError, repeats_failures: bool) -> ServiceUnreachable:
        if not isinstance(error, httpx.TimeoutException):
            return ServiceUnreachable(self.url, str(error) or type(error).__name__)
        # Other timeouts say nothing about the request, which may not even have arrived.
        is_too_slow = isinstance(error, httpx.ReadTimeout) and not repeats_failures and self._has_answered
        return (AnswerTooSlow if is_too_slow else ServiceUnreachable)(
            self.url, f"no answer within {self._timeout_ms} ms"
        )


def read_retry_delay(headers: httpx.Headers) -> float:
    """Returns the delay of the header Retry-After in seconds, at most MAX_PAUSE_SECONDS; 0 if the server did not state
    one."""
    text = headers.get("Retry-After", "")
    return min(float(text), MAX_PAUSE_SECONDS) if re.fullmatch(r"[0-9]{1,9}", text) else 0.0
