"""Which hosts a sandbox may reach: listed names and addresses, on the default ports or on a listed one.

A name below a wildcard may not resolve to an address in the engine's own network.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from outweigh.errors import UsageError

DEFAULT_PORTS = frozenset({80, 443})
_ENTRY = re.compile(r"(?P<wild>\*\.)?(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9_.-]+))(?::(?P<port>[0-9]{1,5}))?")
_MAX_PORT = 2**16 - 1
_NAT64_NETWORK = IPv6Network("64:ff9b::/96")

IpAddress = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedHost:
    """One entry of the list. A wildcard matches all names below a name, and not the name itself."""

    host: str
    is_wildcard: bool
    port: int | None

    def matches(self, host: str, port: int) -> bool:
        """Whether it allows a host, by the requested name or address."""
        if port not in (DEFAULT_PORTS if self.port is None else (self.port,)):
            return False
        return host.endswith(f".{self.host}") if self.is_wildcard else host == self.host


class AllowedHosts:
    """The list of `[sandbox] allow_hosts`."""

    def __init__(self, entries: Iterable[str]) -> None:
        self._entries = tuple(map(_parse_entry, entries))

    def allows(self, host: str, port: int) -> bool:
        """Whether a host may be requested."""
        plain = normalize_host(host)
        return any(entry.matches(plain, port) for entry in self._entries)

    def allows_address(self, host: str, port: int, address: str) -> bool:
        """Whether an allowed host may be reached at this address.

        The owner of a wildcard's domain could point a name into the engine's own network. Only a host or an address
        that is listed itself may be there.
        """
        place = ip_address(normalize_host(address))
        if place.is_global and not place.is_multicast:
            return True
        named = (normalize_host(host), normalize_host(address))
        return any(entry.matches(name, port) for entry in self._entries if not entry.is_wildcard for name in named)


def normalize_host(host: str) -> str:
    """A host for comparison: lower case, no final dot, and addresses in their shortest form."""
    plain = host.lower().removesuffix(".")
    try:
        return str(_embedded_ipv4(ip_address(plain)))
    except ValueError:
        return plain


def _embedded_ipv4(address: IpAddress) -> IpAddress:
    """The IPv4 address that an IPv6 address embeds, else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64_NETWORK:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _parse_entry(entry: str) -> AllowedHost:
    matched = _ENTRY.fullmatch(_to_ascii(entry))
    if matched is None or (matched["wild"] and matched["six"]):
        raise _invalid_entry(entry)
    port = None if matched["port"] is None else int(matched["port"])
    if port is not None and not 0 < port <= _MAX_PORT:
        raise _invalid_entry(entry)
    host = normalize_host(matched["six"] or matched["name"])
    return AllowedHost(host=host, is_wildcard=bool(matched["wild"]), port=port)


def _to_ascii(entry: str) -> str:
    """A name in its ASCII form, as it is sent."""
    try:
        return entry.lower() if entry.isascii() else entry.encode("idna").decode("ascii").lower()
    except UnicodeError as fault:
        raise _invalid_entry(entry) from fault


def _invalid_entry(entry: str) -> UsageError:
    return UsageError(
        f"[sandbox] allow_hosts names {entry!r}, which is not a host: write a name (api.example.org), all names below "
        "one (*.files.example.org) or an address (192.0.2.1, [2001:db8::1]), each with a port if it is not 80 or 443 "
        "(git.example.org:8443)."
    )
