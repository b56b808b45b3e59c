"""Which hosts a sandbox may reach: names and addresses that are listed, on the usual ports or on a listed one."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from outweigh.errors import UsageError

USUAL_PORTS = frozenset({80, 443})
_ENTRY = re.compile(r"(?P<wild>\*\.)?(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9_.-]+))(?::(?P<port>[0-9]{1,5}))?")
_HIGHEST_PORT = 2**16 - 1
_TRANSLATED = IPv6Network("64:ff9b::/96")

Address = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedHost:
    """One entry of the list. A wildcard stands for all names below, and not for the name itself."""

    host: str
    is_wildcard: bool
    port: int | None

    def matches(self, host: str, port: int) -> bool:
        """Whether it lets a host through, by the name or address that was asked for."""
        if port not in (USUAL_PORTS if self.port is None else (self.port,)):
            return False
        return host.endswith(f".{self.host}") if self.is_wildcard else host == self.host


class AllowedHosts:
    """The list of `[sandbox] allow_hosts`."""

    def __init__(self, entries: Iterable[str]) -> None:
        self._entries = tuple(map(_parse, entries))

    def allow(self, host: str, port: int) -> bool:
        """Whether a host may be asked for."""
        plain = normal(host)
        return any(entry.matches(plain, port) for entry in self._entries)

    def allow_address(self, host: str, port: int, address: str) -> bool:
        """Whether a host that may be asked for may also be at this address.

        A name below a wildcard belongs to whoever rules that domain, who could have it lead into the network that the
        engine is in. Only what is listed as it stands may do that.
        """
        place = ip_address(normal(address))
        if place.is_global and not place.is_multicast:
            return True
        named = (normal(host), normal(address))
        return any(entry.matches(name, port) for entry in self._entries if not entry.is_wildcard for name in named)


def normal(host: str) -> str:
    """A host as it is compared: no capitals, no final dot, and addresses in their shortest form."""
    plain = host.lower().removesuffix(".")
    try:
        return str(_meant(ip_address(plain)))
    except ValueError:
        return plain


def _meant(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, where it does."""
    if isinstance(address, IPv4Address):
        return address
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _parse(entry: str) -> AllowedHost:
    matched = _ENTRY.fullmatch(_ascii(entry))
    if matched is None or (matched["wild"] and matched["six"]):
        raise _refusal(entry)
    port = None if matched["port"] is None else int(matched["port"])
    if port is not None and not 0 < port <= _HIGHEST_PORT:
        raise _refusal(entry)
    host = normal(matched["six"] or matched["name"])
    return AllowedHost(host=host, is_wildcard=bool(matched["wild"]), port=port)


def _ascii(entry: str) -> str:
    """Names in other scripts, as they are sent."""
    try:
        return entry.lower() if entry.isascii() else entry.encode("idna").decode("ascii").lower()
    except UnicodeError as fault:
        raise _refusal(entry) from fault


def _refusal(entry: str) -> UsageError:
    return UsageError(
        f"[sandbox] allow_hosts names {entry!r}, which is no host: write a name (api.example.org), all names below one "
        "(*.files.example.org) or an address (192.0.2.1, [2001:db8::1]), each with a port if it is not 80 or 443 "
        "(git.example.org:8443)."
    )
