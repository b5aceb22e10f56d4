"""The least an ASGI server can do: `python -m benchmarks.constant` answers every request with the same few bytes."""

import socket
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

Send = Callable[[dict[str, Any]], Awaitable[None]]

BODY = b'{"status":"healthy"}\n'
HEADERS = [(b"content-type", b"application/json"), (b"content-length", str(len(BODY)).encode())]


async def answer(scope: dict[str, Any], receive: Callable[[], Awaitable[dict[str, Any]]], send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})


def main() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=2_048) as listening:
        print(f"Listens on http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        config = uvicorn.Config(
            answer, http="httptools", loop="uvloop", lifespan="off", log_level="warning", access_log=False
        )
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
