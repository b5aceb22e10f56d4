"""Opens clients of receivers, and imports what they need when the first is opened: an HTTP client takes memory, and few
services have webhooks."""

from collections.abc import Sequence
from typing import Protocol

from magistrate.operations.webhooks.receiver_message import OutgoingMessage, SendOutcome
from magistrate.operations.webhooks.receivers import ReceiverUrl, WebhookOptions


class Receiver(Protocol):
    """Represents where the messages of one URL are sent."""

    @property
    def url(self) -> ReceiverUrl: ...

    async def deliver(self, message: OutgoingMessage, secrets: Sequence[str]) -> SendOutcome:
        """Sends a message once, signed by these secrets, and returns what came of it. Raises nothing."""
        ...

    async def close(self) -> None: ...


async def open_receiver(url: ReceiverUrl, options: WebhookOptions) -> Receiver | SendOutcome:
    """Returns a client, or the outcome of all attempts if there can be none."""
    from magistrate.operations.webhooks.receiver_client import open_client

    return await open_client(url, options)


async def send_once(
    url: ReceiverUrl, options: WebhookOptions, message: OutgoingMessage, secrets: Sequence[str]
) -> SendOutcome:
    """Sends a message with a client of its own. Raises nothing."""
    opened = await open_receiver(url, options)
    if isinstance(opened, SendOutcome):
        return opened
    try:
        return await opened.deliver(message, secrets)
    finally:
        await opened.close()
