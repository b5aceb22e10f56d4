"""A proxy for tests, which notes where clients want to go."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Proxy:
    """Notes where clients want to go; connects them to `target`, or refuses if there is none."""

    def __init__(self, target: int | None) -> None:
        self._target = target
        self.asked: list[str] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._answer, args=(self._listening.accept()[0],), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head and (data := client.recv(65_536)):
                head += data
            self.asked.append(head.split(b"\r\n")[0].decode())
            if self._target is None:
                client.sendall(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                return
            with socket.create_connection(("127.0.0.1", self._target)) as server:
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                back = threading.Thread(target=pass_on, args=(server, client), daemon=True)
                back.start()
                pass_on(client, server)
                back.join()


def pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@contextmanager
def proxying(target: int | None = None) -> Iterator[Proxy]:
    proxy = Proxy(target)
    try:
        yield proxy
    finally:
        proxy.close()
