"""A link between two parts of a cluster, which a test can cut, or make silent."""

import socket
import threading
from collections.abc import Iterable
from contextlib import suppress

PASSED_AT_ONCE = 65_536


class Link:
    """Listens on a port of its own, and passes on what comes there to a port of this machine."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._open: set[socket.socket] = set()
        self._silenced: set[socket.socket] = set()
        self._is_cut = self._is_silent = False
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listening.getsockname()[1]
        self._is_closed = threading.Event()
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def cut(self) -> None:
        """Ends all connections, and each further one at once."""
        self._is_cut = True
        _end_all(self._open)

    def fall_silent(self) -> None:
        """Passes nothing on, not even that one side has ended, as a network that loses everything. Further connections
        are accepted."""
        self._is_silent = True

    def mend(self) -> None:
        """Passes on what comes on further connections. Nothing ever comes on those that fell silent."""
        if self._is_silent:
            self._silenced |= self._open
        self._is_cut = self._is_silent = False

    def close(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listening.close()
        self._is_closed.set()
        _end_all(self._open)
        for thread in self._threads:
            thread.join()
        for connection in self._open:
            connection.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self._is_cut:
                    client.close()
                elif self._is_silent:
                    self._open.add(client)
                else:
                    self._connect(client)

    def _connect(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self._target))
        except OSError:
            client.close()
            return
        self._open |= {client, server}
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        for ends in ((client, server), (server, client)):
            self._threads.append(threading.Thread(target=self._pass_on, args=ends, daemon=True))
            self._threads[-1].start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with source:
            with suppress(OSError):
                while (data := source.recv(PASSED_AT_ONCE)) and not self._keeps_silent(source):
                    target.sendall(data)
            if self._keeps_silent(source):
                self._is_closed.wait()
            _end_all((target,))
            self._open.discard(source)

    def _keeps_silent(self, source: socket.socket) -> bool:
        return self._is_silent or source in self._silenced


def _end_all(connections: Iterable[socket.socket]) -> None:
    for connection in list(connections):
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
