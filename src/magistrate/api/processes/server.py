"""Extends uvicorn's server with its own way to accept connections and a stop that loses no request."""

import asyncio
import resource
import socket
import sys
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.config import STARTUP_FAILURE

from magistrate.api.http.connection import Connection
from magistrate.api.http.server_config import BoundedConfig
from magistrate.api.http.tls import LOOK_EVERY_SECONDS, SHUTDOWN_SECONDS, ServerTls
from magistrate.api.processes.acceptors import Acceptor, Channel

ADMIN_CONNECTIONS = 64
"""Sets how many connections may be open beyond the limit, so that health is reported while clients use all others."""


class GracefulServer(uvicorn.Server):
    """Serves the connections of a listening socket, or those that come through the channel of a supervisor, encrypted
    if the configuration has a certificate. A second listening socket is that of the admin port, which is not encrypted.

    During a stop, connections that clients have already made are still served, each for one more request or for a
    moment; see Connection."""

    config: BoundedConfig

    def __init__(self, config: BoundedConfig, channel: socket.socket | None = None) -> None:
        super().__init__(config)
        self._channel = channel
        self._is_stopping = False
        self._connecting: set[asyncio.Task[Any]] = set()
        self._tls = None if config.tls is None else ServerTls(config.tls)
        self._refreshing: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(STARTUP_FAILURE)
        if self._tls is not None:
            await self._open_tls(self._tls)
        self.servers = []
        self._loop = asyncio.get_running_loop()
        self._admin_config = self.config.for_admin_port(ADMIN_CONNECTIONS)
        self._source = (
            Acceptor(sockets or [], self.config.admin_port)
            if self._channel is None
            else Channel(self._channel, self.server_state.connections)
        )
        self._source.start(self._admit)
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._is_stopping = True
        if self._refreshing is not None:
            self._refreshing.cancel()
        await self._source.finish()
        if self._connecting:
            await asyncio.wait(self._connecting)
        self.config.loaded_app.stop_streams()
        await super().shutdown()
        await self._abort_connections()

    async def _abort_connections(self) -> None:
        """Ends the connections that are open at the timeout, such as those whose client has not ended its side."""
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # in which their protocols learn that they are lost

    async def _open_tls(self, tls: ServerTls) -> None:
        """Waits until the certificate can be used: it may be about to be replaced while a worker starts."""
        while not tls.open():
            await asyncio.sleep(LOOK_EVERY_SECONDS)
            if self.should_exit:
                sys.exit(STARTUP_FAILURE)
        self._refreshing = asyncio.create_task(tls.keep_fresh())

    def _admit(self, connection: socket.socket, is_admin: bool) -> None:
        if self._tls is not None and len(self._connecting) >= self.config.max_connections:
            connection.close()  # as many clients have begun to connect as may be connected
            return
        connecting = self._loop.create_task(self._connect(connection, is_admin))
        self._connecting.add(connecting)
        connecting.add_done_callback(self._connecting.discard)

    async def _connect(self, connection: socket.socket, is_admin: bool) -> None:
        create = self._create_admin_protocol if is_admin else self._create_protocol
        encryption = {} if is_admin else self._encryption()
        try:
            _, protocol = await self._loop.connect_accepted_socket(create, connection, **encryption)
        except OSError:  # the client has already gone, or does not speak TLS
            connection.close()
            return
        if self._is_stopping:
            protocol.shutdown()

    def _encryption(self) -> dict[str, Any]:
        if self._tls is None:
            return {}
        return {
            "ssl": self._tls.context,
            "ssl_handshake_timeout": self.config.head_timeout_ms / 1000,
            "ssl_shutdown_timeout": SHUTDOWN_SECONDS,
        }

    def _create_protocol(self) -> Connection:
        return Connection(self.config, self.server_state, self.lifespan.state, self._loop)

    def _create_admin_protocol(self) -> Connection:
        return Connection(self._admin_config, self.server_state, self.lifespan.state, self._loop)


def limit_connections(configured: int) -> int:
    """Returns the maximum number of connections of a worker: the database needs descriptors as well."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return configured if descriptors == resource.RLIM_INFINITY else min(configured, descriptors * 3 // 4)


def run_worker(config: BoundedConfig, channel: socket.socket) -> None:
    """Runs a server in a process of its own until a signal stops it."""
    config.configure_logging()
    server = GracefulServer(config, channel)
    with suppress(KeyboardInterrupt):  # the server has already stopped on SIGINT and then raises it again
        server.run()
    if not server.started:
        sys.exit(1)
