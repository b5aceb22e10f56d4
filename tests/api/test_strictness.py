"""What is not valid HTTP is refused, with and without the fast path."""

import msgspec
import pytest

from tests.api.sockets import connect, is_hung_up, read_answer
from tests.running import KEY, Client
from tests.scenario_files import warrant_body

CHECK = msgspec.json.encode({"warrants": [warrant_body("folder:a#viewer@user:ann")]})
CHUNKS = b"%x\r\n%b\r\n0\r\n\r\n" % (len(CHECK), CHECK)
LENGTH = f"Content-Length: {len(CHECK)}"


def request(version: str, *headers: str, body: bytes = CHECK) -> bytes:
    lines = [f"POST /v2/check HTTP/{version}", f"Authorization: ApiKey {KEY}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


@pytest.fixture(scope="module")
def asked(shared_client: Client) -> Client:
    """A client of a service that has answered the check before, so that the fast path can."""
    shared_client.define({"folder": {"viewer": {}}})
    shared_client.grant("folder:a#viewer@user:ann")
    assert shared_client.post("/v2/check", content=CHECK).status_code == 200
    return shared_client


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(request("1.1", "Host: x", LENGTH), 200, id="one host"),
        pytest.param(request("1.1", "host:", LENGTH), 200, id="a host without a name"),
        pytest.param(request("1.1", LENGTH), 400, id="no host"),
        pytest.param(request("1.1", "Host: x", "Host: x", LENGTH), 400, id="two hosts"),
        pytest.param(request("1.1", "Host: x", LENGTH, "HOST: y"), 400, id="two different hosts"),
        pytest.param(request("1.0", LENGTH), 200, id="no host in HTTP/1.0"),
        pytest.param(request("1.0", "Host: x", LENGTH), 200, id="one host in HTTP/1.0"),
        pytest.param(request("1.0", "Host: x", "Host: y", LENGTH), 400, id="two hosts in HTTP/1.0"),
        pytest.param(request("1.1", "Host: x", "Transfer-Encoding: Chunked", body=CHUNKS), 200, id="chunked"),
        pytest.param(request("1.1", "Host: x", "Transfer-Encoding: gzip", body=CHUNKS), 501, id="gzip"),
        pytest.param(request("1.1", "Host: x", "Transfer-Encoding: gzip, chunked", body=CHUNKS), 501, id="two codings"),
        pytest.param(
            request("1.1", "Host: x", "Transfer-Encoding: gzip", "Transfer-Encoding: chunked", body=CHUNKS),
            501,
            id="two codings in two headers",
        ),
        pytest.param(request("1.1", "Host: x", "Transfer-Encoding: identity", LENGTH), 501, id="identity"),
        pytest.param(request("1.0", "Transfer-Encoding: chunked", body=CHUNKS), 400, id="chunked in HTTP/1.0"),
        pytest.param(request("1.0", "Host: x", "Transfer-Encoding: gzip"), 400, id="gzip in HTTP/1.0"),
        pytest.param(request("1.2", "Host: x", LENGTH), 400, id="a version there is not"),
    ],
)
def test_a_request_has_one_host_and_a_transfer_coding_that_is_known(asked: Client, sent: bytes, status: int) -> None:
    with connect(asked) as connection:
        connection.sendall(sent)
        answer = read_answer(connection)

        assert int(answer.split(b" ")[1]) == status, answer
        if status != 200:
            body = msgspec.json.decode(answer.partition(b"\r\n\r\n")[2])
            assert body["code"] == "invalid_request"
            assert b"\r\nconnection: close\r\n" in answer
            assert is_hung_up(connection)


def test_a_request_that_is_refused_behind_another_does_not_spoil_its_answer(asked: Client) -> None:
    with connect(asked) as connection:
        connection.sendall(request("1.1", "Host: x", LENGTH) + request("1.1", LENGTH))
        received = read_answer(connection)

        assert received.startswith(b"HTTP/1.1 200 ")
        assert is_hung_up(connection)
