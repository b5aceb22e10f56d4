"""Limits, each below, at and above it; and clients that are slow or never stop."""

import contextlib
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from magistrate.api.http.request_values import MAX_VALUES, decode_body
from magistrate.errors import InvalidRequest
from tests.api.sockets import connect, head, is_established, is_hung_up, read_answer, read_to_the_end
from tests.running import Client, running_service, settings_for

MAX_BODY = 20_000
MAX_HEAD = 4_096
MAX_META = 1_000
MAX_DEPTH = 16


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a service with small limits."""
    settings = settings_for(
        f"sqlite:///{tmp_path_factory.mktemp('limits')}/m.db",
        max_body_bytes=MAX_BODY,
        max_head_bytes=MAX_HEAD,
        max_meta_bytes=MAX_META,
        max_json_depth=MAX_DEPTH,
        head_timeout_ms=700,
        body_timeout_ms=700,
    )
    with running_service(settings) as url, Client(url) as client:
        yield client


def body_of(size: int) -> bytes:
    """A good body of exactly so many bytes."""
    start, end = b'{"objectType":"d","objectId":"x","other":"', b'"}'
    return start + b"x" * (size - len(start) - len(end)) + end


@pytest.mark.parametrize(("size", "status"), [(MAX_BODY - 1, 200), (MAX_BODY, 200), (MAX_BODY + 1, 413)])
@pytest.mark.parametrize("chunked", [False, True])
def test_the_body_has_a_limit_in_bytes(limited: Client, size: int, status: int, chunked: bool) -> None:
    content = iter([body_of(size)]) if chunked else body_of(size)

    answer = limited.post("/v2/objects", content=content)

    assert answer.status_code == status
    if status == 413:
        message = f"Request body must not be larger than {MAX_BODY} bytes"
        assert answer.json() == {"code": "invalid_request", "message": message}


def test_a_body_that_is_announced_too_large_is_refused_before_any_of_it_is_read(limited: Client) -> None:
    with connect(limited) as connection:
        connection.sendall(head(limited, "POST", "/v2/objects", "Content-Length: 1073741824", "Expect: 100-continue"))
        answer = read_answer(connection)

        assert answer.startswith(b"HTTP/1.1 413 ")
        assert b"\r\nconnection: close\r\n" in answer
        assert is_hung_up(connection)


def test_a_client_that_expects_100_continue_gets_it(limited: Client) -> None:
    with connect(limited) as connection:
        connection.sendall(head(limited, "POST", "/v2/objects", "Content-Length: 100", "Expect: 100-continue"))
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body_of(100))

        assert read_answer(connection).startswith(b"HTTP/1.1 200 ")


def test_a_chunked_body_without_end_stops_being_read_at_the_limit(limited: Client) -> None:
    sent = 0
    with connect(limited) as connection:
        connection.sendall(head(limited, "POST", "/v2/objects", "Transfer-Encoding: chunked"))
        try:
            while sent < 1_000_000_000:
                connection.sendall(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
                sent += 65_536
        except ConnectionError:
            pass

    # What the socket buffers of both sides hold is sent without being read.
    assert sent < 50_000_000


@pytest.mark.parametrize(("size", "status"), [(MAX_META - 1, 200), (MAX_META, 200), (MAX_META + 1, 400)])
def test_meta_has_a_limit_in_bytes_of_compact_json(limited: Client, size: int, status: int) -> None:
    meta = {"k": "é" + "x" * (size - len('{"k":"é"}'.encode()))}

    created = limited.post("/v2/objects", json={"objectType": "d", "objectId": "m", "meta": meta})
    updated = limited.put("/v2/objects/d/m", json={"meta": meta})

    assert created.status_code == updated.status_code == status
    if status == 400:
        expected = {
            "code": "invalid_parameter",
            "message": f"must be at most {MAX_META} bytes of JSON",
            "parameter": "meta",
        }
        assert created.json() == updated.json() == expected


def nested(depth: int, opening: str, closing: str) -> bytes:
    """A body in which so many arrays and objects lie within each other."""
    inner = opening * (depth - 2) + "0" + closing * (depth - 2)
    return f'{{"objectType":"d","meta":{{"[":{inner}}},"x":"[[[{{{{{{\\"["}}'.encode()


@pytest.mark.parametrize(
    ("depth", "status"), [(MAX_DEPTH - 1, 200), (MAX_DEPTH, 200), (MAX_DEPTH + 1, 400), (10_000, 400)]
)
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_nesting_has_a_limit(limited: Client, depth: int, status: int, opening: str, closing: str) -> None:
    answer = limited.post("/v2/objects", content=nested(depth, opening, closing))

    if len(nested(depth, opening, closing)) > MAX_BODY:
        assert answer.status_code == 413
    else:
        assert answer.status_code == status, answer.text
    if answer.status_code == 400:
        message = f"Request contains JSON nested deeper than {MAX_DEPTH} levels"
        assert answer.json() == {"code": "invalid_request", "message": message}


def test_a_large_body_is_not_slow_to_refuse() -> None:
    """With a check whose cost is not linear in the size of the body, this test does not end."""
    many_names = "{" + ",".join(f'"{n}":1' for n in range(90_000)) + ',"89999":2}'
    deep_groups = "[" + ",".join(["[" * 90 + "]" * 90] * 40_000) + "]"
    decoder = msgspec.json.Decoder(dict[str, Any])

    for inner, reason in ((many_names, "more than once"), (deep_groups, "arrays and objects")):
        body = f'{{"x":{inner}}}'.encode()
        with pytest.raises(InvalidRequest, match=reason):
            decode_body(body, decoder, 128)


@pytest.mark.parametrize("value", ["{}", "[]", "0", "1.5", '""', '"\\n"', '{"a":1}', '"[,{"', '"\\\\"', '"\\""'])
def test_a_body_of_very_many_values_is_refused_before_it_is_decoded(value: str) -> None:
    # Decoding would come upon the missing bracket at once.
    body = f"[{','.join([value] * (8_000_000 // (len(value) + 1)))}}}".encode()[1:]

    with pytest.raises(InvalidRequest, match="more than 100000 values, arrays and objects"):
        decode_body(body, msgspec.json.Decoder(dict[str, Any]), 128)


@pytest.mark.parametrize(
    ("values", "is_refused"), [(MAX_VALUES - 1, False), (MAX_VALUES, False), (MAX_VALUES + 1, True)]
)
def test_values_have_a_limit(values: int, is_refused: bool) -> None:
    body = f'{{"x":[{",".join(["0"] * (values - 1))}]}}'.encode()

    with pytest.raises(InvalidRequest, match="values") if is_refused else contextlib.nullcontext():
        assert decode_body(body, msgspec.json.Decoder(dict[str, Any]), 128)


def test_what_stands_in_a_text_is_not_counted() -> None:
    body = msgspec.json.encode({"x": '[{,"\\' * 200_000})

    assert decode_body(body, msgspec.json.Decoder(dict[str, Any]), 128)


def test_a_text_without_end_is_read_once() -> None:
    """With a count whose cost is not linear in the size of the body, this test does not end."""
    body = b'{"x":"' + b'\\",' * 2_000_000

    with pytest.raises(InvalidRequest, match="malformed"):
        decode_body(body, msgspec.json.Decoder(dict[str, Any]), 128)


def test_eight_megabytes_of_empty_objects_are_refused(shared_client: Client) -> None:
    answer = shared_client.post("/v2/objects", content=b"[" + b"{}," * 2_700_000 + b"{}]")

    assert answer.status_code == 400
    assert answer.json()["code"] == "invalid_request"


def test_many_brackets_side_by_side_are_not_deep(limited: Client) -> None:
    content = b'{"objectType":"d","meta":{"a":[' + b"[],{}," * 50 + b"[]]}}"

    assert limited.post("/v2/objects", content=content).status_code == 200


@pytest.mark.parametrize(("size", "status"), [(MAX_HEAD // 2, b"404"), (MAX_HEAD * 2, b"431"), (5_000_000, b"431")])
def test_the_head_has_a_limit_in_bytes(limited: Client, size: int, status: bytes) -> None:
    with connect(limited) as connection:
        connection.sendall(b"GET /nope HTTP/1.1\r\nHost: x\r\nX-Filler: ")
        try:
            for _ in range(size // 1_000):
                connection.sendall(b"x" * 1_000)
                time.sleep(0)
            connection.sendall(b"\r\n\r\n")
        except ConnectionError:
            assert status == b"431"
            return

        assert read_answer(connection).split(b" ")[1] == status


@pytest.mark.parametrize("before", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"])
@pytest.mark.parametrize("body", [b"", b"x" * MAX_HEAD])
def test_a_head_that_comes_at_once_has_the_same_limit(limited: Client, before: bytes, body: bytes) -> None:
    for filler, refusals in ((MAX_HEAD - 200, []), (MAX_HEAD, [b"431"])):
        lines = f"Host: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\nX-Filler: {'x' * filler}\r\n\r\n"
        with connect(limited) as connection:
            connection.sendall(before + f"POST /nope HTTP/1.1\r\n{lines}".encode() + body)

            statuses = re.findall(rb"HTTP/1\.1 (\d+)", read_to_the_end(connection))

        # What is wrong with a request is not said where the answer to the one before is awaited.
        assert statuses == ([b"200"] if before else refusals) + ([] if refusals else [b"404"])


def test_a_head_that_begins_behind_another_request_has_the_same_limit(limited: Client) -> None:
    with connect(limited) as connection:
        connection.sendall(
            b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /nope HTTP/1.1\r\nX-Filler: " + b"x" * MAX_HEAD
        )
        assert read_answer(connection).startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"\r\nHost: x\r\n\r\n")

        assert read_answer(connection).startswith(b"HTTP/1.1 431 ")


def test_a_trailer_or_chunk_extension_without_end_is_cut_off(limited: Client) -> None:
    for start in (b"0\r\nX-Trailer: ", b"5;extension="):
        with connect(limited) as connection:
            connection.sendall(head(limited, "POST", "/v2/objects", "Transfer-Encoding: chunked") + start)
            try:
                for _ in range(10_000):
                    connection.sendall(b"x" * 10_000)
            except ConnectionError:
                continue
            assert is_hung_up(connection)


@pytest.mark.parametrize("beginning", [b"", b"GET /v2/obj", b"GET /v2/objects HTTP/1.1\r\nHost: x\r\n"])
def test_a_client_that_does_not_finish_its_head_is_answered_and_left(limited: Client, beginning: bytes) -> None:
    with connect(limited) as connection:
        connection.sendall(beginning)

        assert read_answer(connection).startswith(b"HTTP/1.1 408 ")
        assert is_hung_up(connection)


def test_a_client_that_does_not_finish_its_body_is_answered_and_left(limited: Client) -> None:
    with connect(limited) as connection:
        connection.sendall(head(limited, "POST", "/v2/objects", "Content-Length: 100") + b'{"objectType":"d",')

        assert read_answer(connection).startswith(b"HTTP/1.1 408 ")
        assert is_hung_up(connection)


@pytest.mark.parametrize("start", ["GET /healthz", "GET /nope", "POST /v2/objects"])
def test_a_client_whose_body_nobody_reads_cannot_hold_its_connection(limited: Client, start: str) -> None:
    lines = f"{start} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"
    with connect(limited, timeout=5) as silent, connect(limited, timeout=5) as endless:
        for connection in (silent, endless):
            connection.sendall(lines.encode() + b"x")
            assert read_answer(connection).startswith(b"HTTP/1.1 ")
        with contextlib.suppress(ConnectionError):
            for _ in range(500):
                endless.sendall(b"x" * 1_000)

        assert is_hung_up(endless)
        assert is_hung_up(silent)


def test_a_body_nobody_reads_does_not_disturb_the_next_request(limited: Client) -> None:
    with connect(limited) as connection:
        connection.sendall(head(limited, "GET", "/v2/objects", "Content-Length: 2"))
        assert read_answer(connection).startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"{}" + head(limited, "GET", "/v2/object-types"))

        assert b'"type":"feature"' in read_answer(connection)


@pytest.mark.parametrize("protocol", ["h2c", "websocket"])
@pytest.mark.parametrize("pieces", [1, 2, 7])
def test_an_offer_of_another_protocol_is_ignored(limited: Client, protocol: str, pieces: int) -> None:
    body = body_of(120)
    offer = ["Connection: Upgrade, HTTP2-Settings", f"Upgrade: {protocol}", "HTTP2-Settings: AAMAAABk"]
    request = head(limited, "POST", "/v2/objects", *offer, f"Content-Length: {len(body)}") + body
    size = -(-len(request) // pieces)

    with connect(limited) as connection:
        for start in range(0, len(request), size):
            connection.sendall(request[start : start + size])
            time.sleep(0.05 if pieces > 1 else 0)
        answer = read_answer(connection)
        connection.sendall(head(limited, "GET", "/v2/objects/d/x"))

        assert answer.startswith(b"HTTP/1.1 200 ")
        assert answer.count(b"HTTP/1.1") == 1
        assert read_answer(connection).startswith(b"HTTP/1.1 200 ")


def test_a_client_may_close_its_side_and_still_read_the_answer(limited: Client) -> None:
    body = body_of(100)
    with connect(limited) as connection:
        connection.sendall(head(limited, "POST", "/v2/objects", f"Content-Length: {len(body)}") + body)
        connection.shutdown(socket.SHUT_WR)

        assert read_answer(connection).startswith(b"HTTP/1.1 200 ")
        assert is_hung_up(connection)


def test_the_begin_of_a_next_request_does_not_cost_the_answer_of_this_one(limited: Client) -> None:
    with connect(limited) as connection:
        connection.sendall(head(limited, "POST", "/v2/objects", "Content-Length: 100") + body_of(100) + b"\r\nGET /v2")

        assert read_answer(connection).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "following",
    [
        b"GARBAGE\r\n\r\n",
        b"GET /nope HTTP/1.1\r\nX: " + b"x" * (2 * MAX_HEAD) + b"\r\n\r\n",
        b"GET /nope HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
    ],
)
def test_what_is_wrong_with_the_next_request_does_not_take_the_answer_of_this_one(
    limited: Client, following: bytes
) -> None:
    with connect(limited) as connection:
        connection.sendall(head(limited, "POST", "/v2/objects", "Content-Length: 100") + body_of(100) + following)

        assert read_answer(connection).startswith(b"HTTP/1.1 200 ")
        assert is_hung_up(connection)


def test_a_body_nobody_reads_gets_no_second_answer(limited: Client) -> None:
    with connect(limited) as connection:
        connection.sendall(b"POST /nope HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
        received = read_answer(connection)
        with contextlib.suppress(ConnectionError):
            connection.sendall(b"x" * 100_000)
            while chunk := connection.recv(65_536):
                received += chunk

    assert received.count(b"HTTP/1.1 ") == 1


def test_a_client_that_closes_its_side_within_a_body_is_left(tmp_path: Path) -> None:
    settings = settings_for(f"sqlite:///{tmp_path}/m.db", head_timeout_ms=600_000, body_timeout_ms=600_000)
    with running_service(settings) as url, Client(url) as client, connect(client, timeout=60) as connection:
        connection.sendall(head(client, "POST", "/v2/objects", "Content-Length: 100") + b"{")
        connection.shutdown(socket.SHUT_WR)

        assert is_hung_up(connection)


def test_a_client_that_does_not_read_is_left(tmp_path: Path) -> None:
    settings = settings_for(f"sqlite:///{tmp_path}/m.db", body_timeout_ms=500)
    big = {"objectType": "big", "meta": {"x": "y" * 50_000}}
    with running_service(settings) as url, Client(url) as client:
        for _ in range(4):
            client.post("/v2/objects", json=[big] * 100)
        with connect(client, receive_buffer=4_096) as connection:
            connection.sendall(head(client, "GET", "/v2/objects?limit=1000"))
            deadline = time.monotonic() + 60
            while is_established(connection):  # on the side of the service
                assert time.monotonic() < deadline
                time.sleep(0.02)

            received = 0
            with contextlib.suppress(ConnectionError):
                while chunk := connection.recv(1_000_000):
                    received += len(chunk)

    assert received < 400 * 50_000  # the rest of the page was in memory, and is free now


def test_200_clients_that_dribble_do_not_stop_the_others(tmp_path: Path) -> None:
    settings = settings_for(f"sqlite:///{tmp_path}/m.db", head_timeout_ms=60_000, body_timeout_ms=60_000)
    stop = threading.Event()
    with running_service(settings) as url, Client(url) as client:
        dribbling = [connect(client) for _ in range(200)]
        whole = head(client, "POST", "/v2/objects", "Content-Length: 600") + body_of(600)
        positions = [10 if number % 2 else len(whole) - 590 for number in range(200)]  # in the head, in the body
        for connection, position in zip(dribbling, positions, strict=True):
            connection.sendall(whole[:position])

        def dribble() -> None:
            for step in range(80):
                if stop.wait(0.01):
                    return
                for connection, position in zip(dribbling, positions, strict=True):
                    connection.sendall(whole[position + step : position + step + 1])

        thread = threading.Thread(target=dribble)
        thread.start()
        answers = [client.post("/v2/objects", json={"objectType": "d", "objectId": f"n{n}"}) for n in range(50)]
        answers += [client.get(f"/v2/objects/d/n{n}") for n in range(50)]
        stop.set()
        thread.join()
        for connection in dribbling:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.close()

    assert {answer.status_code for answer in answers} == {200}
    assert len([row for row in answers if row.json()["objectType"] == "d"]) == 100
