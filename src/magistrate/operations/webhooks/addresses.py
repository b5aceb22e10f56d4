"""Refuses the addresses that requests to webhooks must not reach: those of the service's own network, which whoever may
make webhooks could otherwise explore and command through it (docs/webhooks.md#addresses).

The address that was looked at is the one that is connected to: between two lookups, a name can get another."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a name. Raises OSError if it has none."""

# Those of the registries of special purposes of IANA that are not globally reachable, and what embeds or relays others.
_REFUSED_IPV4 = (
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 "
    "192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4"
)
_GLOBAL_IPV6 = ip_network("2000::/3")
_REFUSED_IPV6 = "2001::/23 2001:db8::/32 3fff::/20"
_REFUSED: Sequence[Network] = [ip_network(text) for text in f"{_REFUSED_IPV4} {_REFUSED_IPV6}".split()]
_MAPPED, _TRANSLATED, _6TO4 = ip_network("::ffff:0:0/96"), ip_network("64:ff9b::/96"), ip_network("2002::/16")
_BITS_OF_IPV4 = 0xFFFFFFFF
_SHIFT_OF_6TO4 = 80


class RefusedAddress(Exception):
    """Reports that a host has an address that is not to be reached; `address` is the first of them."""

    def __init__(self, address: Address) -> None:
        super().__init__(f"{address} is no public address")
        self.address = address


def find_embedded(address: Address) -> Address:
    """Returns the IPv4 address that an IPv6 address stands for, where a network translates it; otherwise itself."""
    if isinstance(address, IPv4Address):
        return address
    if address in _MAPPED or address in _TRANSLATED:
        return IPv4Address(int(address) & _BITS_OF_IPV4)
    if address in _6TO4:
        return IPv4Address(int(address) >> _SHIFT_OF_6TO4 & _BITS_OF_IPV4)
    return address


def is_public(address: Address) -> bool:
    """Returns whether an address is reachable from everywhere, and so none of a private network."""
    meant = find_embedded(address)
    if isinstance(meant, IPv6Address) and meant not in _GLOBAL_IPV6:
        return False
    return not any(meant in network for network in _REFUSED)


class AddressGuard:
    """Decides which addresses may be connected to: public ones, and those of the `allowed` networks."""

    def __init__(self, allowed: Sequence[Network] = (), resolve: Resolve | None = None) -> None:
        self._allowed = allowed
        self._resolve = resolve or resolve_host

    def allows(self, address: Address) -> bool:
        meant = {address, find_embedded(address)}
        return is_public(address) or any(each in network for network in self._allowed for each in meant)

    async def find_address(self, host: str, port: int) -> str:
        """Returns the first address of a host. Raises RefusedAddress if any of its addresses is not allowed, and
        OSError if it has none."""
        addresses = [ip_address(text.partition("%")[0]) for text in await self._resolve(host, port)]
        for address in addresses:
            if not self.allows(address):
                raise RefusedAddress(address)
        if not addresses:
            raise OSError("the name has no address")
        return str(addresses[0])


async def resolve_host(host: str, port: int) -> Sequence[str]:
    """Returns the addresses of a name, or the address itself, as the system resolves it. Raises OSError."""
    addresses = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in addresses))
