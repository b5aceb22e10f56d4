"""A small server with the API of OpenFGA, and a program that serves it as `openfga` would."""

import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tests.openfga_evaluator import OpenFgaEvaluator
from tests.stub_server import Sent, stub_server

WRITTEN = "TEST_OPENFGA_WRITTEN"
"""Names the environment variable with the path of the file in which the program keeps what was written to it."""


class SmallOpenFga:
    """Answers as a server would, request by request."""

    def __init__(self) -> None:
        self._evaluator: OpenFgaEvaluator | None = None

    def answer(self, sent: Sent) -> bytes:
        action = sent.path.rpartition("/")[2]
        if action == "authorization-models":
            self._evaluator = OpenFgaEvaluator(sent.body)
            return b'{"authorization_model_id":"model-1"}'
        if action in ("stores", "healthz"):
            return b'{"id":"store-1"}'
        assert self._evaluator is not None
        return msgspec.json.encode(self._acted(self._evaluator, action, sent.body))

    def _acted(self, evaluator: OpenFgaEvaluator, action: str, body: Any) -> object:
        if action == "write":
            for key in body.get("writes", {}).get("tuple_keys", []):
                evaluator.write(key)
            for key in body.get("deletes", {}).get("tuple_keys", []):
                evaluator.delete(key)
            return {}
        if action == "list-objects":
            return {"objects": evaluator.list_objects(body["type"], body["relation"], body["user"])}
        if action == "check":
            return {"allowed": is_allowed(evaluator, body["tuple_key"])}
        assert action == "batch-check"
        checks = {check["correlation_id"]: is_allowed(evaluator, check["tuple_key"]) for check in body["checks"]}
        return {"result": {check_id: {"allowed": allowed} for check_id, allowed in checks.items()}}


def is_allowed(evaluator: OpenFgaEvaluator, key: Mapping[str, str]) -> bool:
    return evaluator.check(key["object"], key["relation"], key["user"])


def run_program(arguments: list[str], settings: Mapping[str, str]) -> None:
    """Migrates, which makes the file, or serves what the file has, and keeps what is written in it."""
    written = Path(settings[WRITTEN])
    if arguments[0] == "migrate":
        written.write_bytes(b"")
        return
    small, lock = SmallOpenFga(), threading.Lock()
    for line in written.read_bytes().splitlines():
        small.answer(msgspec.json.decode(line, type=Sent))

    def answer(sent: Sent) -> bytes:
        with lock:
            if sent.path.endswith(("/write", "/authorization-models")):
                with written.open("ab") as file:
                    file.write(msgspec.json.encode(sent) + b"\n")
            return small.answer(sent)

    with stub_server(answer, port=int(settings["OPENFGA_HTTP_ADDR"].rpartition(":")[2])):
        threading.Event().wait()


if __name__ == "__main__":
    run_program(sys.argv[1:], os.environ)
