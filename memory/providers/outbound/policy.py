"""Where requests to providers may go, and which keys their servers must show: `OUTBOUND_*`, read and checked once."""

from __future__ import annotations

import base64
import binascii
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import httpcore

from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.outbound.addresses import is_disguised, is_near, may_lead_to, normal_host
from memory.providers.outbound.refused import Refused
from memory.providers.outbound.tls import Pins, client_context

DIGEST_BYTES: Final = 32
MOST_PINS: Final = 20
NO_PROXY: Final = "none"


class HostRefused(httpcore.ConnectError, Refused):
    """A host, or every address that its name leads to, is not one that requests may go to."""


@dataclass(frozen=True, slots=True)
class OutboundPolicy:
    """What is allowed.

    Attributes:
        hosts: the hosts that may be configured as providers; any when empty.
        private_hosts: hosts whose names may lead into a private network.
        pins: SHA-256 digests of public keys by host.
        ca_file: a file of further authorities; none when empty.
        proxy: the proxy for hosts beyond this network; None leaves it to the environment, and an empty one is none.
    """

    hosts: frozenset[str] = frozenset()
    private_hosts: frozenset[str] = frozenset()
    pins: Pins = field(default_factory=dict)
    ca_file: str = ""
    proxy: str | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        *,
        hosts: Iterable[str],
        private_hosts: Iterable[str],
        pins: Mapping[str, Any],
        ca_file: str,
        proxy: str = "",
    ) -> OutboundPolicy:
        """Read the settings as they are written.

        Args:
            hosts: OUTBOUND_HOSTS.
            private_hosts: OUTBOUND_PRIVATE_HOSTS.
            pins: OUTBOUND_PINS, host to one digest in base64 or a list of them.
            ca_file: OUTBOUND_CA_FILE.
            proxy: OUTBOUND_PROXY.

        Raises:
            ProviderMisconfigured: something that is no host, no digest, no file of certificates or no proxy.
        """
        made = cls(
            hosts=frozenset(_host(host, "OUTBOUND_HOSTS") for host in hosts),
            private_hosts=frozenset(_host(host, "OUTBOUND_PRIVATE_HOSTS") for host in private_hosts),
            pins={_host(host, "OUTBOUND_PINS"): _digests(value) for host, value in pins.items()},
            ca_file=ca_file.strip(),
            proxy=_proxy(proxy.strip()),
        )
        if made.ca_file:
            try:
                client_context(ca_file=made.ca_file, pins=made.pins)
            except OSError as error:
                raise ProviderMisconfigured(
                    f"OUTBOUND_CA_FILE cannot be read as certificates in PEM ({type(error).__name__})."
                ) from None
        return made

    def admit(self, base_url: str, *, setting: str) -> str:
        """Give the host of a checked address, once it may be one of a provider.

        Args:
            base_url: a checked address.
            setting: what it comes from, for the message; the address itself is never repeated.

        Raises:
            ProviderMisconfigured: a host that OUTBOUND_HOSTS does not name, one that is pinned but addressed without
                TLS, or an address in disguise.
        """
        parts = urlsplit(base_url)
        host = _host(parts.hostname or "", setting)
        if is_disguised(host):
            raise ProviderMisconfigured(f"{setting} must write an IPv4 address as four decimal numbers.")
        if self.hosts and host not in self.hosts:
            raise ProviderMisconfigured(f"{setting} leads to a host that OUTBOUND_HOSTS does not name. Add it there.")
        if host in self.pins and parts.scheme != "https":
            raise ProviderMisconfigured(f"{setting} must begin with https://, since OUTBOUND_PINS names its host.")
        return host

    def proxy_for(self, host: str) -> str | None:
        """Give the proxy for an admitted host; an empty one is none, and None leaves it to the environment.

        What OUTBOUND_PROXY names is not asked for hosts of this machine and its network, which it may not know, and
        which it need not see.
        """
        if self.proxy and (is_near(host) or host in self.private_hosts):
            return ""
        return self.proxy

    def addresses(self, host: str, port: int, *, admitted: str) -> list[str]:
        """Resolve the one host that a connection may be made to, and keep the addresses that it may lead to.

        Args:
            host: what is to be connected to.
            port: its port.
            admitted: the host that `admit` gave.

        Raises:
            HostRefused: another host, or no address is allowed.
            httpcore.ConnectError: the name is not known.
        """
        if normal_host(host) != admitted:
            raise HostRefused("is another host than the one that is configured, so nothing was sent")
        found = resolved(host, port)
        allowed = [one for one in found if may_lead_to(admitted, one, trusted=admitted in self.private_hosts)]
        if found and not allowed:
            raise HostRefused(
                "has a name that leads to a private address, so nothing was sent. "
                "If that is intended, add its host to OUTBOUND_PRIVATE_HOSTS"
            )
        return allowed


def resolved(host: str, port: int) -> list[str]:
    """Give the addresses of a host, each once; raises httpcore.ConnectError when its name is not known."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise httpcore.ConnectError("the name of the host is not known") from None
    return list(dict.fromkeys(str(place[0]) for *_, place in found))


def _host(text: Any, setting: str) -> str:
    try:
        return normal_host(text)
    except (ValueError, AttributeError):
        # Without the cause, whose message quotes it.
        raise ProviderMisconfigured(f"{setting} names something that is not a host.") from None


def _proxy(text: str) -> str | None:
    if not text:
        return None
    if text.lower() == NO_PROXY:
        return ""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        usable = usable and parts.path in ("", "/") and not parts.query and not parts.fragment
        _host(parts.hostname or "", "OUTBOUND_PROXY")
    except ValueError:
        usable = False
    if not usable or any(character.isspace() for character in text):
        # Never repeated: it may hold a password.
        raise ProviderMisconfigured("OUTBOUND_PROXY must be an address such as http://proxy.example:3128, or `none`.")
    return text


def _digests(value: Any) -> frozenset[bytes]:
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_PINS:
        raise ProviderMisconfigured(f"OUTBOUND_PINS gives each host one digest, or a list of 1 to {MOST_PINS}.")
    return frozenset(_digest(one) for one in given)


def _digest(text: Any) -> bytes:
    try:
        raw = base64.b64decode(text.removeprefix("sha256/"), validate=True)
    except (AttributeError, ValueError, binascii.Error):
        raw = b""
    if len(raw) != DIGEST_BYTES:
        raise ProviderMisconfigured("A digest in OUTBOUND_PINS is the base64 of 32 bytes.")
    return raw
