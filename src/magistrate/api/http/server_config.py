"""Extends uvicorn's configuration with the limits of connections."""

import asyncio
from copy import copy
from typing import Any

import uvicorn

from magistrate.api.http.connection_memory import ConnectionMemory, UnsentAnswers
from magistrate.api.http.tls import TlsFiles


class BoundedConfig(uvicorn.Config):
    """Makes every connection one of `protocol`, with these limits, and with the fast path of the application unless it
    is switched off. It is picklable, as worker processes require."""

    def __init__(
        self,
        app: Any,
        max_head_bytes: int,
        head_timeout_ms: int,
        body_timeout_ms: int,
        keep_alive_timeout_ms: int,
        max_connections: int,
        protocol: type[asyncio.Protocol],
        takes_fast_path: bool = True,
        tls: TlsFiles | None = None,
        admin_port: int = 0,
        **others: Any,
    ) -> None:
        super().__init__(app, http=protocol, **others)
        self.max_head_bytes = max_head_bytes
        self.head_timeout_ms = head_timeout_ms
        self.body_timeout_ms = body_timeout_ms
        self.keep_alive_timeout_ms = keep_alive_timeout_ms
        self.max_connections = max_connections
        self.takes_fast_path = takes_fast_path
        self.tls = tls
        self.admin_port = admin_port

    def load(self) -> None:
        """Loads the application, which must be an Application: it has the bounds that all its connections share."""
        super().load()
        self.received: ConnectionMemory = self.loaded_app.received
        self.unsent: UnsentAnswers = self.loaded_app.unsent

    def for_admin_port(self, further_connections: int) -> "BoundedConfig":
        """Returns the configuration of the admin port; this one must be loaded. The application must be an
        Application."""
        config = copy(self)
        config.loaded_app = self.loaded_app.answer_admin
        config.max_connections += further_connections
        config.takes_fast_path = False
        return config
