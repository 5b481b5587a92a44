"""Which addresses a host's name may lead to, so that no foreign name server can point a request into this network.

The rules, in their order: metadata services of clouds and addresses that are nobody's are refused always; an address
that is written as such in the settings, or a host named in OUTBOUND_PRIVATE_HOSTS, may be anywhere else; `localhost`
must be this machine; a name that no public name server knows (one word, as in a compose file, or under `.local`,
`.internal` or `.home.arpa`) may be in a private network; every other name must be public.
"""

from __future__ import annotations

import ipaddress
import re
from enum import Enum
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from typing import Final

# Where clouds answer their machines with credentials; some of these addresses are not link-local.
METADATA: Final = frozenset(
    ipaddress.ip_address(text)
    for text in ("169.254.169.254", "169.254.170.2", "fd00:ec2::254", "100.100.100.200", "168.63.129.16", "192.0.0.192")
)
# RFC 6052 and RFC 4291: IPv6 addresses whose last 32 bits are an IPv4 address.
CARRIERS: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"))
THIS_NETWORK: Final = ipaddress.IPv4Network("0.0.0.0/8")
# RFC 6761, RFC 6762, RFC 8375 and the name that ICANN has set aside for private use.
LOCAL_SUFFIXES: Final = (".local", ".internal", ".home.arpa")
# The last part of a name is never a number; what ends so is an IPv4 address in a form that not all programs read alike.
NUMBER: Final = re.compile(r"\d+|0x[0-9a-f]*")


class Nearness(Enum):
    """Where an address is."""

    PUBLIC = "public"
    PRIVATE = "private"
    LINK_LOCAL = "link-local"
    LOOPBACK = "loopback"
    NOWHERE = "nowhere"


def nearness(address: str) -> Nearness:
    """Tell where an address is, by the IPv4 address in it where it carries one; raises ValueError for no address."""
    found = _carried(ipaddress.ip_address(address))
    if found.is_loopback:
        return Nearness.LOOPBACK
    if _without_zone(found) in METADATA or found.is_unspecified or found.is_multicast or found.is_reserved:
        return Nearness.NOWHERE
    if isinstance(found, IPv4Address) and found in THIS_NETWORK:
        return Nearness.NOWHERE
    if found.is_link_local:
        return Nearness.LINK_LOCAL
    if not found.is_global or (isinstance(found, IPv6Address) and found.is_site_local):
        return Nearness.PRIVATE
    return Nearness.PUBLIC


def normal_host(host: str) -> str:
    """Write a host in the one form that is compared: lower case, no dot at the end, other scripts as in DNS.

    Raises:
        ValueError: no host, or one that a name server cannot know.
    """
    text = host.strip().lower().rstrip(".").removeprefix("[").removesuffix("]")
    if is_address(text):
        return str(ipaddress.ip_address(text))
    if not text or any(character.isspace() or character in "/:@*?#%" for character in text):
        raise ValueError("not a host")
    return text.encode("idna").decode("ascii")


def is_address(host: str) -> bool:
    """Tell whether a host is written as an address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_disguised(host: str) -> bool:
    """Tell whether a host is an IPv4 address in another form than four decimal numbers (`0177.1`, `2130706433`)."""
    return not is_address(host) and NUMBER.fullmatch(host.rpartition(".")[2]) is not None


def may_lead_to(host: str, address: str, *, trusted: bool) -> bool:
    """Tell whether a request to a host may be sent to an address.

    Args:
        host: in its normal form.
        address: what the host's name was resolved to; the host itself when it is an address.
        trusted: whether OUTBOUND_PRIVATE_HOSTS names the host.
    """
    near = nearness(address)
    if near is Nearness.NOWHERE:
        return False
    if trusted or is_address(host):
        return True
    if host == "localhost" or host.endswith(".localhost"):
        return near is Nearness.LOOPBACK
    if "." not in host or host.endswith(LOCAL_SUFFIXES):
        return near is not Nearness.LINK_LOCAL
    return near is Nearness.PUBLIC


def is_near(host: str) -> bool:
    """Tell whether a host in its normal form is one that only this machine or its network can know.

    That is a private address, `localhost`, a name of one word, or one that is set aside for private use.
    """
    if is_address(host):
        return nearness(host) is not Nearness.PUBLIC
    return "." not in host or host.endswith((*LOCAL_SUFFIXES, ".localhost"))


def _carried(found: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    if isinstance(found, IPv4Address) or found == ipaddress.IPv6Address("::1") or found.is_unspecified:
        return found
    if found.ipv4_mapped is not None:
        return found.ipv4_mapped
    if found.sixtofour is not None:
        return found.sixtofour
    if found.teredo is not None:
        return found.teredo[1]
    if any(found in network for network in CARRIERS):
        return IPv4Address(int(found) & 0xFFFFFFFF)
    return found


def _without_zone(found: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    return IPv6Address(int(found)) if isinstance(found, IPv6Address) else found
