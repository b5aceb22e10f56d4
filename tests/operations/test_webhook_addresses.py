"""Which addresses webhooks may reach, when a receiver wants to be left alone, and how messages are signed."""

import socket
from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network

import pytest
from standardwebhooks.webhooks import Webhook

from magistrate.errors import InvalidParameter
from magistrate.operations.webhooks.addresses import AddressGuard, RefusedAddress, is_public, resolve_host
from magistrate.operations.webhooks.receiver_client import read_retry_after
from magistrate.operations.webhooks.receivers import read_url
from magistrate.operations.webhooks.schedule import MAX_RETRY_SECONDS, PAUSES_SECONDS, choose_pause
from magistrate.operations.webhooks.signing import generate_secret, read_secret, sign

pytestmark = pytest.mark.anyio

PUBLIC = ("1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "192.0.1.1", "2606:4700::1111", "2a00:1450::1")
EMBEDDED_PUBLIC = ("::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1")
PRIVATE = (
    *("0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.255", "169.254.169.254"),
    *("172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1"),
    *("198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::a00:1", "64:ff9b:1::808:808"),
    *("100::1", "2001::1", "2001:2::1", "2001:db8::1", "2002:7f00:1::1", "2002:a00:1::", "3fff::1", "5f00::1"),
    *("fc00::1", "fd12:3456::1", "fe80::1", "fec0::1", "ff02::1"),
)


@pytest.mark.parametrize("text", [*PUBLIC, *EMBEDDED_PUBLIC])
def test_a_public_address_is_reached(text: str) -> None:
    assert is_public(ip_address(text))


@pytest.mark.parametrize("text", PRIVATE)
def test_no_other_address_is_reached(text: str) -> None:
    assert not is_public(ip_address(text))


def test_whatever_the_library_calls_private_is_refused() -> None:
    """Ours is a list of its own; that of Python grows with its versions."""
    private = [text for text in (*PUBLIC, *PRIVATE) if not ip_address(text).is_global]

    assert len(private) > 20
    assert not [text for text in private if is_public(ip_address(text))]


def test_networks_are_allowed_in_either_form() -> None:
    guard = AddressGuard([ip_network("10.1.0.0/16"), ip_network("fd00::/8")])

    allowed = [text for text in PRIVATE if guard.allows(ip_address(text))]
    assert allowed == ["fd12:3456::1"]
    assert guard.allows(ip_address("10.1.2.3"))
    assert guard.allows(ip_address("::ffff:10.1.2.3"))
    assert not guard.allows(ip_address("10.2.0.1"))


async def test_all_addresses_of_a_name_are_compared() -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return {"good": ["8.8.8.8", "1.1.1.1"], "bad": ["8.8.8.8", "fe80::1%eth0"]}.get(host, [])

    guard = AddressGuard(resolve=resolve)

    assert await guard.find_address("good", 443) == "8.8.8.8"
    with pytest.raises(RefusedAddress, match="fe80::1 is no public address"):
        await guard.find_address("bad", 443)
    with pytest.raises(OSError, match="no address"):
        await guard.find_address("none", 443)


async def test_the_system_looks_names_up() -> None:
    assert set(await resolve_host("localhost", 80)) <= {"127.0.0.1", "::1"}
    assert await resolve_host("2130706433", 80) == ["127.0.0.1"]
    with pytest.raises(socket.gaierror):
        await resolve_host("no-such-name.invalid", 80)


@pytest.mark.parametrize(
    ("text", "authority", "address"),
    [
        ("https://Receiver.Example/a?b=c", "receiver.example", "https://8.8.8.8:443/a?b=c"),
        ("http://receiver.example:8080", "receiver.example:8080", "http://8.8.8.8:8080/"),
        ("http://receiver.example:80/", "receiver.example", "http://8.8.8.8:80/"),
        ("https://[2606:4700::1]:9/x", "[2606:4700::1]:9", "https://8.8.8.8:9/x"),
    ],
)
def test_a_url_has_the_name_and_goes_to_the_address(text: str, authority: str, address: str) -> None:
    url = read_url(text)

    assert url.authority == authority
    assert url.address("8.8.8.8") == address
    assert "[2606::1]" in url.address("2606::1")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", 0),
        ("120", 120),
        (" 7 ", 7),
        ("-7", 0),
        ("1.5", 0),
        ("soon", 0),
        ("9" * 400, float("inf")),
        ("Fri, 27 Nov 2026 10:01:00 GMT", 60),
        ("Fri, 27 Nov 2026 09:00:00 GMT", 0),
        ("Fri, 27 Nov 2026 10:01:00", 60),
    ],
)
def test_a_receiver_says_in_seconds_or_by_a_time_when_to_come_again(text: str, seconds: float) -> None:
    assert read_retry_after(text, datetime(2026, 11, 27, 10, tzinfo=UTC)) == seconds


def test_pauses_grow_and_end() -> None:
    assert [choose_pause(number, 0, lambda: 0.0) for number in range(1, 11)] == [*PAUSES_SECONDS, None]
    assert choose_pause(1, 0, lambda: 1.0) == 6
    assert choose_pause(1, 77, lambda: 0.0) == 77
    assert choose_pause(2, 77, lambda: 0.0) == 300
    assert choose_pause(1, float("inf"), lambda: 0.0) == MAX_RETRY_SECONDS


def test_signatures_are_those_of_the_specification() -> None:
    """The example of the specification, and secrets of our own."""
    secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b'{"test": 2432232314}'
    assert sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body, [secret]) == (
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )
    now = int(datetime.now(UTC).timestamp())
    own = [generate_secret(), generate_secret()]
    headers = {"webhook-id": "m", "webhook-timestamp": str(now), "webhook-signature": sign("m", now, b"{}", own)}
    for each in own:
        assert Webhook(read_secret(each)).verify("{}", headers) == {}


@pytest.mark.parametrize("size", [23, 24, 64, 65])
def test_a_secret_has_24_to_64_bytes(size: int) -> None:
    text = "whsec_" + b64encode(b"x" * size).decode()
    if 24 <= size <= 64:
        assert read_secret(text) == text
        return
    with pytest.raises(InvalidParameter) as caught:
        read_secret(text)
    assert text not in caught.value.message
