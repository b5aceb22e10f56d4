"""Answers are read from whatever pieces they arrive in, and nothing that is not complete is an answer."""

import gzip
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate_client.http_messages import AnswerReader, BrokenAnswer, Request, render_request

BODY = b'{"code":200,"result":"Authorized"}'
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
PLAIN = HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n4\r\n%s\r\n%x;of=us\r\n%s\r\n0\r\nTrailer: x\r\n\r\n" % (
    BODY[:4],
    len(BODY) - 4,
    BODY[4:],
)
INTERIM = b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + PLAIN
PACKED = gzip.compress(BODY)
COMPRESSED = HEAD + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n%s" % (len(PACKED), PACKED)
ANSWERS = {"plain": PLAIN, "chunked": CHUNKED, "interim": INTERIM, "compressed": COMPRESSED}


def read(raw: bytes, cuts: list[int]) -> AnswerReader:
    """What is read of bytes that arrive in pieces."""
    reader = AnswerReader()
    places = sorted({cut % (len(raw) + 1) for cut in cuts} | {0, len(raw)})
    for begin, end in itertools.pairwise(places):
        reader.receive(raw[begin:end])
    return reader


@pytest.mark.parametrize("name", ANSWERS)
@given(cuts=st.lists(st.integers(0, 300), max_size=8))
def test_an_answer_is_the_same_in_any_pieces(name: str, cuts: list[int]) -> None:
    reader = read(ANSWERS[name], cuts)

    assert reader.is_complete
    assert reader.keeps_open
    assert (reader.status, reader.take_body()) == (200, BODY)
    assert reader.header(b"content-type") == "application/json"


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_that_is_cut_off_anywhere_is_none(name: str) -> None:
    for length in range(len(ANSWERS[name])):
        reader = AnswerReader()
        reader.receive(ANSWERS[name][:length])

        assert not reader.is_complete
        with pytest.raises(BrokenAnswer):
            reader.receive_end()


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        PLAIN + b"HTTP/1.1 200 OK\r\n",
        CHUNKED + b"x",
        HEAD + b"content-length: many\r\n\r\n",
        HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n",
        HEAD + b"transfer-encoding: chunked\r\n\r\n-5\r\nabcdefgh\r\n",
        HEAD + b"transfer-encoding: chunked\r\n\r\n0x1\r\na\r\n",
        HEAD + b"transfer-encoding: chunked\r\n\r\n;x\r\n",
        HEAD + b"transfer-encoding: chunked\r\n\r\n1\r\nab\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x" * 70_000,
    ],
)
def test_what_is_no_answer_is_refused(raw: bytes) -> None:
    with pytest.raises(BrokenAnswer):
        AnswerReader().receive(raw)


@pytest.mark.parametrize(
    "packed", [PACKED[:-4], b"x" + PACKED, PACKED[:10]], ids=["cut off", "preceded", "only the head"]
)
def test_a_damaged_body_is_refused(packed: bytes) -> None:
    reader = AnswerReader()
    reader.receive(HEAD + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n%s" % (len(packed), packed))

    assert reader.is_complete
    with pytest.raises(BrokenAnswer):
        reader.take_body()


def test_a_body_without_a_length_ends_with_its_connection() -> None:
    reader = AnswerReader()
    reader.receive(HEAD + b"\r\n" + BODY)

    assert not reader.is_complete
    reader.receive_end()
    assert (reader.take_body(), reader.keeps_open) == (BODY, False)


def test_a_connection_that_is_to_be_closed_is_not_kept() -> None:
    for head in (b"HTTP/1.1 200 OK\r\nConnection: close\r\n", b"HTTP/1.0 200 OK\r\n"):
        reader = AnswerReader()
        reader.receive(head + b"content-length: 0\r\n\r\n")

        assert (reader.is_complete, reader.keeps_open) == (True, False)


def test_a_request_has_its_length() -> None:
    fixed = "Host: x\r\n"

    assert (
        render_request(Request("GET", "/a", None, (("A", "b"),)), fixed)
        == b"GET /a HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n"
    )
    assert render_request(Request("POST", "/a", "é".encode()), fixed) == (
        b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n\xc3\xa9"
    )
