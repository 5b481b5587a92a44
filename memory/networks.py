"""Which addresses count as one client, for limits on what strangers may try."""

from __future__ import annotations

from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Final

from django.http import HttpRequest

# What one customer of a network has of IPv6.
IPV6_PREFIX: Final = 64
UNKNOWN: Final = "unknown"


def network_of(address: str | None) -> str:
    """Give the network that an address belongs to: /64 of IPv6, the address itself of IPv4, `unknown` for no address.

    An IPv4 address that is written as IPv6 (`::ffff:203.0.113.7`) is the IPv4 address.
    """
    try:
        parsed = ip_address(address or "")
    except ValueError:
        return UNKNOWN
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    # The zone of a link-local address is no part of a network.
    return str(IPv6Network((int(parsed), IPV6_PREFIX), strict=False))


def client_network(request: HttpRequest) -> str:
    """Give the network that a request came from, for the lock on logins."""
    return network_of(request.META.get("REMOTE_ADDR"))
