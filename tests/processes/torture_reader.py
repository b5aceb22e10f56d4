"""Reads a watch until it is killed, from nodes that are killed, too: `python -m tests.processes.torture_reader TOKEN
SEED FILE URL...`.

Each revision is a line of the file: its token, and the ids of the objects that it has created. A reader that is started
again goes on behind the last whole line. It breaks streams off by itself as well, wherever it is in them."""

import http.client
import json
import os
import random
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.leaks import KEY

REFUSED = "refused"
"""Begins the line of a reader that a node has refused for good, or that has got an event that cannot be."""
TIMEOUT_SECONDS = 20.0
PAUSE_SECONDS = 0.02
BREAKS_OFF_AFTER = 200
"""Counts the lines after which a stream is broken off, in the mean."""


def main(token: str, seed: str, name: str, *urls: str) -> None:
    rng, path = random.Random(seed), Path(name)
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    written = path.read_bytes()
    complete = written.rpartition(b"\n")[0]
    os.ftruncate(file, len(complete) + 1 if complete else 0)
    position = complete.rpartition(b"\n")[2].split(b" ")[0].decode() or token
    while True:
        try:
            for event in read_events(rng, rng.choice(urls), position):
                if event["event"] == "revision":
                    created = event.get("objects", {}).get("created", ())
                    ids = ",".join(sorted(row["objectId"] for row in created))
                    os.write(file, f"{event['token']} {ids}\n".encode())
                position = event["token"]
        except (OSError, http.client.HTTPException):
            time.sleep(PAUSE_SECONDS)
        except ValueError as error:
            os.write(file, f"{REFUSED} {error}\n".encode())
            return


def read_events(rng: random.Random, url: str, since: str) -> Iterator[Mapping[str, Any]]:
    """Yields the events of one stream until it ends, or is broken off. Raises ValueError for an answer that can only be
    a fault."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT_SECONDS)
    is_json = rng.random() < 0.5
    headers = {"Authorization": f"ApiKey {KEY}"} | ({"Accept": "application/x-ndjson"} if is_json else {})
    try:
        connection.request("GET", f"/v2/watch?since={since}", headers=headers)
        answer = connection.getresponse()
        if answer.status >= 500:
            raise http.client.HTTPException(answer.status)
        if answer.status != 200:
            raise ValueError(f"{answer.status} {answer.read().decode()}")
        name = ""
        while line := answer.readline():
            if not line.endswith(b"\n") or rng.random() < 1 / BREAKS_OFF_AFTER:
                return  # it was cut in the middle of an event, or is broken off
            if is_json:
                yield json.loads(line)
            elif line.startswith(b"event: "):
                name = line[7:].decode().strip()
            elif line.startswith(b"data: "):
                yield {"event": name} | json.loads(line[6:])
    finally:
        connection.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
