"""A relay between a service and PostgreSQL: when it is cut, the database is away, and comes back when it is restored. A
relay that refuses, or is silent, counts who tries to connect meanwhile. One that is slow passes on everything, late."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

PORT = 5432


class Relay:
    """Passes on what comes to a Unix socket in `folder`."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder, self._url = folder, urlsplit(url)
        [self._server] = parse_qs(self._url.query)["host"]
        self._open: list[socket.socket] = []
        self._refuses = self._is_silent = False
        self._silences = 0
        self._delay = no_delay
        self.refused = self.unanswered = 0
        self.mend()

    @property
    def url(self) -> str:
        return f"postgresql://postgres:sesame-of-the-relay@{self._url.path}?host={self._folder}&port={PORT}"

    def mend(self) -> None:
        self._refuses = False
        path = self._folder / f".s.PGSQL.{PORT}"
        path.unlink(missing_ok=True)
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen(64)
        threading.Thread(target=self._accept, args=(self._listening,), daemon=True).start()

    def cut(self) -> None:
        """Ends all connections, and lets nobody connect."""
        (self._folder / f".s.PGSQL.{PORT}").unlink()
        for end in (self._listening, *self._open):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._open.clear()

    def refuse(self) -> None:
        """Ends all connections, and each other at once, which is counted in `refused`."""
        self.cut()
        self.mend()
        self._refuses = True

    def fall_silent(self) -> None:
        """Answers nothing any more, neither on the connections that there are nor on new ones, and hides from the
        database that one of them is closed."""
        self._is_silent = True
        self._silences += 1

    def answer_again(self) -> None:
        """Answers on new connections. On those made before, nobody ever does, as when another server has the address
        of one that was switched off."""
        self._is_silent = False

    def slow_down(self, delay: Callable[[], float]) -> None:
        """Passes everything on after this many seconds, in each direction, in its order."""
        self._delay = delay

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            if self._refuses:
                self.refused += 1
                connection.close()
                continue
            if self._is_silent:
                self.unanswered += 1
                self._open.append(connection)
                continue
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(f"{self._server}/.s.PGSQL.{PORT}")
            except OSError:  # the database is away
                for end in (connection, server):
                    end.close()
                continue
            self._open += [connection, server]
            for ends in ((connection, server), (server, connection)):
                threading.Thread(target=self._pass_on, args=(*ends, self._silences), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, silences: int) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if seconds := self._delay():
                    time.sleep(seconds)
                if silences == self._silences:
                    target.sendall(data)
            if silences == self._silences:
                target.shutdown(socket.SHUT_WR)


def no_delay() -> float:
    return 0.0


@contextmanager
def relaying(folder: Path, url: str) -> Iterator[Relay]:
    relay = Relay(folder, url)
    yield relay
    with suppress(OSError):
        relay.cut()
