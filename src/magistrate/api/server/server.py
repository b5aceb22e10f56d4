"""Extends uvicorn's server with its own way to accept connections and a stop that loses no request."""

import asyncio
import resource
import socket
import sys
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.config import STARTUP_FAILURE

from magistrate.api.server.accepting import Acceptor, Channel, ConnectionSource
from magistrate.api.server.protocol import BoundedConfig, BoundedProtocol


class GracefulServer(uvicorn.Server):
    """Serves the connections of a listening socket, or those that come through the channel of a supervisor.

    During a stop, connections that clients have already made are still served, each for one more request or for a
    moment; see BoundedProtocol."""

    config: BoundedConfig

    def __init__(self, config: BoundedConfig, channel: socket.socket | None = None) -> None:
        super().__init__(config)
        self._channel = channel
        self._source: ConnectionSource
        self._is_stopping = False
        self._connecting: set[asyncio.Task[Any]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(STARTUP_FAILURE)
        self.servers = []
        self._loop = asyncio.get_running_loop()
        self._source = self._open_source(sockets or [])
        self._source.start(self._admit)
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._is_stopping = True
        await self._source.finish()
        if self._connecting:
            await asyncio.wait(self._connecting)
        await super().shutdown()

    def _open_source(self, sockets: list[socket.socket]) -> ConnectionSource:
        if self._channel is not None:
            return Channel(self._channel, self.server_state.connections)
        [listening] = sockets
        return Acceptor(listening)

    def _admit(self, connection: socket.socket) -> None:
        connecting = self._loop.create_task(self._connect(connection))
        self._connecting.add(connecting)
        connecting.add_done_callback(self._connecting.discard)

    async def _connect(self, connection: socket.socket) -> None:
        try:
            _, protocol = await self._loop.connect_accepted_socket(self._create_protocol, connection)
        except OSError:  # the client has already gone
            connection.close()
            return
        if self._is_stopping:
            protocol.shutdown()

    def _create_protocol(self) -> BoundedProtocol:
        protocol: type[BoundedProtocol] = self.config.http_protocol_class  # type: ignore[assignment]
        return protocol(self.config, self.server_state, self.lifespan.state, self._loop)


def limit_connections(wanted: int) -> int:
    """Returns the maximum number of connections of a worker: the database needs descriptors as well."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if descriptors == resource.RLIM_INFINITY else min(wanted, descriptors * 3 // 4)


def run_worker(config: BoundedConfig, channel: socket.socket) -> None:
    """Runs a server in a process of its own until a signal stops it."""
    config.configure_logging()
    server = GracefulServer(config, channel)
    with suppress(KeyboardInterrupt):  # the server has already stopped on SIGINT and then raises it again
        server.run()
    if not server.started:
        sys.exit(1)
