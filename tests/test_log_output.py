"""Lines of the log never wait for whoever reads them, and those that are lost are counted."""

import json
import os
import socket
import tempfile
import threading
import time

import pytest

from magistrate.log import MAX_WAITING_BYTES, LineOutput

MAX_LINES = 200_000
LINE = b'{"event":"%06d"}\n'


def read_all(descriptor: int) -> bytes:
    os.set_blocking(descriptor, False)
    content = b""
    try:
        while piece := os.read(descriptor, 65_536):
            content += piece
    except BlockingIOError:
        pass
    return content


@pytest.mark.parametrize("kind", ["pipe", "a pipe that cannot be opened again", "socket"])
def test_a_reader_that_has_stopped_is_not_waited_for(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "socket":
        ours, theirs = socket.socketpair()
        receiving, sending = ours.detach(), theirs.detach()
    else:
        receiving, sending = os.pipe()
    if kind.startswith("a pipe"):
        monkeypatch.setattr(os, "open", lambda *_: (_ for _ in ()).throw(PermissionError()))
    output = LineOutput(sending)
    monkeypatch.undo()

    for number in range(MAX_LINES):
        output.write(LINE % number)
    lost, waiting_bytes = output.lost, output.waiting_bytes
    content, deadline = b"", time.monotonic() + 20
    while True:
        content += read_all(receiving)
        if b"were lost" in content and content.endswith(b"\n"):
            break
        assert time.monotonic() < deadline
    output.write(LINE % 7)
    last = read_all(receiving)
    output.close()
    os.close(sending)
    os.close(receiving)

    *lines, notice = content.splitlines(keepends=True)
    assert 0 < lost < MAX_LINES
    assert 0 < waiting_bytes <= MAX_WAITING_BYTES
    assert lines == [LINE % number for number in range(MAX_LINES - lost)]
    assert (json.loads(notice)["event"], json.loads(notice)["times"]) == ("lines of the log were lost", lost)
    assert last == LINE % 7
    assert output.waiting_bytes == 0


def test_a_burst_is_not_lost() -> None:
    receiving, sending = os.pipe()
    output, lines = LineOutput(sending), [LINE % number for number in range(20_000)]
    content = bytearray()

    def read_slowly() -> None:
        while len(content) < sum(map(len, lines)):
            content.extend(os.read(receiving, 1_000))

    for line in lines:
        output.write(line)
    reader = threading.Thread(target=read_slowly)
    reader.start()
    output.drain(20)
    reader.join()
    output.close()
    os.close(sending)
    os.close(receiving)

    assert content == b"".join(lines)
    assert output.lost == 0


def test_all_lines_are_written_to_a_file() -> None:
    with tempfile.TemporaryFile() as file:
        output = LineOutput(file.fileno())
        for number in range(10_000):
            output.write(LINE % number)
        file.seek(0)
        assert file.read() == b"".join(LINE % number for number in range(10_000))
    assert output.lost == 0


def test_a_descriptor_that_is_closed_loses_lines() -> None:
    receiving, sending = os.pipe()
    os.close(receiving)
    os.close(sending)
    output = LineOutput(sending)

    output.write(b"x\n")

    assert output.lost == 1
