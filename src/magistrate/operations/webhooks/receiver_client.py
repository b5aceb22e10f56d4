"""Sends messages to one receiver, which may do anything: nothing of it is trusted, waited for long, or kept.

It is a separate module because an HTTP client takes memory, and few services need one."""

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from magistrate.errors import InvalidSetting
from magistrate.operations.webhooks.addresses import AddressGuard, RefusedAddress
from magistrate.operations.webhooks.receiver_message import OutgoingMessage, SendOutcome
from magistrate.operations.webhooks.receivers import ReceiverUrl, WebhookOptions
from magistrate.operations.webhooks.signing import sign
from magistrate.outgoing_requests import choose_http_options

TIMEOUT_SECONDS = 15.0
"""Limits an attempt in all: the lookup of the name, the connection, and the answer."""
MAX_ANSWER_BYTES = 16_384
"""Limits what is read of the body of an answer, which says nothing that matters (16 KiB)."""
MAX_FAILURE_LENGTH = 200
_HEADERS = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
_ERRORS = (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError, ValueError)


class ReceiverClient:
    """Sends messages to one URL. `agent` is the header User-Agent. Make it in a thread: it takes 20 ms. Raises
    InvalidSetting if the variables for proxies and authorities cannot be used.

    Through a proxy, which the operator has chosen, the request has the name of the host, which the proxy looks up
    again. Otherwise it goes to the address that was looked at, with the name for TLS and in the header Host."""

    def __init__(self, url: ReceiverUrl, guard: AddressGuard, agent: str) -> None:
        self.url = url
        self._guard = guard
        options = choose_http_options(url.text)
        self._has_proxy = options["proxy"] is not None
        self._http = httpx.AsyncClient(
            headers={**_HEADERS, "User-Agent": agent}, timeout=TIMEOUT_SECONDS, follow_redirects=False, **options
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def deliver(self, message: OutgoingMessage, secrets: Sequence[str]) -> SendOutcome:
        """Sends a message signed by these secrets, and returns what came of it. Raises nothing."""
        ends_at = asyncio.get_running_loop().time() + TIMEOUT_SECONDS
        try:
            async with asyncio.timeout_at(ends_at):
                request = await self._build_request(message, secrets)
                response = await self._http.send(request, stream=True)
        except TimeoutError:
            return SendOutcome(None, f"no answer within {TIMEOUT_SECONDS:.0f} s")
        except RefusedAddress as refusal:
            return SendOutcome(None, str(refusal))
        except _ERRORS as error:
            return SendOutcome(None, describe_failure(error))
        # The status is the answer, whatever comes of the body.
        with suppress(TimeoutError, *_ERRORS):
            async with asyncio.timeout_at(ends_at), aclosing(response):
                await _discard_body(response)
        return read_answer(response.status_code, response.headers)

    async def _build_request(self, message: OutgoingMessage, secrets: Sequence[str]) -> httpx.Request:
        timestamp = int(time.time())
        headers = {
            "webhook-id": message.id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": sign(message.id, timestamp, message.body, secrets),
            "Host": self.url.authority,
        }
        address = await self._find_address()
        if address is None:
            return self._http.build_request("POST", self.url.text, headers=headers, content=message.body)
        extensions = {} if address == self.url.host else {"sni_hostname": self.url.host}
        return self._http.build_request(
            "POST", self.url.address(address), headers=headers, content=message.body, extensions=extensions
        )

    async def _find_address(self) -> str | None:
        """Returns the address to connect to; None if a proxy connects. Raises RefusedAddress and OSError."""
        try:
            address = await self._guard.find_address(self.url.host, self.url.port)
        except OSError:
            if self._has_proxy:  # which may know names that are not known here
                return None
            raise
        return None if self._has_proxy else address


async def _discard_body(response: httpx.Response) -> None:
    """Reads the body of an answer, so that the connection can be used again, unless it is long."""
    size = 0
    async for part in response.aiter_raw():
        size += len(part)
        if size > MAX_ANSWER_BYTES:
            return


def read_answer(status: int, headers: Mapping[str, str]) -> SendOutcome:
    """Returns what an answer means: only statuses from 200 to 299 say that the receiver has the message."""
    if 200 <= status < 300:
        return SendOutcome(status, "")
    return SendOutcome(status, f"the answer has the status {status}", read_retry_after(headers.get("Retry-After", "")))


def read_retry_after(text: str, now: datetime | None = None) -> float:
    """Returns the seconds that a header Retry-After says, as a number or as a time; 0 if it says nothing."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text) if len(text) <= 9 else math.inf
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def describe_failure(error: Exception) -> str:
    """Returns in some words why no answer came."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return "".join(character if character.isprintable() else " " for character in text)[:MAX_FAILURE_LENGTH]


async def open_client(url: ReceiverUrl, options: WebhookOptions) -> ReceiverClient | SendOutcome:
    """Returns a client, or the outcome of all attempts if there can be none."""
    try:
        return await asyncio.to_thread(ReceiverClient, url, options.guard, options.agent)
    except InvalidSetting as error:
        return SendOutcome(None, error.message[:MAX_FAILURE_LENGTH])
