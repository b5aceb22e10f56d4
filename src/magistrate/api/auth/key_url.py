"""Fetches a provider's keys from a URL. It is a separate module because an HTTP client takes memory, and few servers
need one."""

import asyncio

import httpx

from magistrate.api.auth.provider_keys import MAX_KEYS_BYTES
from magistrate.outgoing_requests import choose_http_options

FETCH_EVERY_SECONDS = 300.0
TIMEOUT_SECONDS = 5.0
"""Limits the duration of a whole fetch."""

_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity"}


class KeyUrl:
    """Fetches keys over HTTP, as a KeyOrigin. Raises InvalidSetting if the variables for proxies and authorities cannot
    be used."""

    def __init__(self, url: str) -> None:
        self.every_seconds = FETCH_EVERY_SECONDS
        self._url = url
        options = choose_http_options(url)
        self._client = httpx.AsyncClient(headers=_HEADERS, timeout=TIMEOUT_SECONDS, follow_redirects=False, **options)

    async def content(self) -> bytes:
        """Returns the fetched keys. Raises OSError or ValueError, the latter unless the answer is 200 and short
        enough."""
        try:
            return await self._content()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ConnectionError(repr(error)) from error

    async def close(self) -> None:
        await self._client.aclose()

    async def _content(self) -> bytes:
        content = b""
        async with asyncio.timeout(TIMEOUT_SECONDS), self._client.stream("GET", self._url) as answer:
            if answer.status_code != 200:
                raise ValueError(f"the answer has the status {answer.status_code}")
            async for chunk in answer.aiter_raw():
                content += chunk
                if len(content) > MAX_KEYS_BYTES:
                    raise ValueError(f"the answer is longer than {MAX_KEYS_BYTES} bytes")
        return content
