"""Check the addresses and keys of providers, and join paths to them."""

from __future__ import annotations

import ipaddress
from urllib.parse import SplitResult, urlsplit, urlunsplit

from memory.providers.misconfigured import ProviderMisconfigured

LONGEST_ADDRESS = 2_048
LONGEST_KEY = 4_096
VERSION = "/v1"


def checked_address(base_url: str, *, setting: str) -> str:
    """Check a provider's base address and give it without a trailing slash.

    Args:
        base_url: `http://` or `https://`, a host, optionally a port and a path.
        setting: the setting's name, for the message; the address itself is never repeated, it may hold a secret.

    Raises:
        ProviderMisconfigured: another scheme, no host, credentials, a query or a fragment in it.
    """
    parts = _split(base_url, setting)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ProviderMisconfigured(f"{setting} must be an address such as http://127.0.0.1:8000.")
    if parts.username is not None or parts.password is not None:
        raise ProviderMisconfigured(f"{setting} must not contain a user name or password. Set the key on its own.")
    if parts.query or parts.fragment:
        raise ProviderMisconfigured(f"{setting} must not contain a query or a fragment.")
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))


def _split(base_url: str, setting: str) -> SplitResult:
    text = base_url.strip()
    if len(text) > LONGEST_ADDRESS or any(character.isspace() or not character.isprintable() for character in text):
        raise ProviderMisconfigured(f"{setting} is too long or contains blanks or control characters.")
    try:
        parts = urlsplit(text)
        if parts.port == 0:
            raise ValueError
    except ValueError:
        # Without the cause: its message may quote the address.
        raise ProviderMisconfigured(f"{setting} is not a valid address.") from None
    return parts


def checked_key(key: str, *, setting: str) -> str:
    """Check that a key can stand in a header; the message never repeats it.

    Raises:
        ProviderMisconfigured: blanks, line breaks or other characters than printable ASCII in it.
    """
    text = key.strip()
    if len(text) > LONGEST_KEY or any(not "!" <= character <= "~" for character in text):
        raise ProviderMisconfigured(f"{setting} contains characters that a header cannot carry, or is too long.")
    return text


def joined(base_url: str, path: str) -> str:
    """Join a path to a checked base address; `/v1` at the end of one and the start of the other counts once.

    A path outside `/v1` replaces that ending, so that one address serves both dialects of a server.
    """
    return base_url.removesuffix(VERSION) + path


def origin(base_url: str) -> tuple[str, str, int | None]:
    """Give scheme, host and port of a checked address: the party that a key belongs to."""
    parts = urlsplit(base_url)
    return parts.scheme, parts.hostname or "", parts.port


def is_loopback(base_url: str) -> bool:
    """Tell whether a checked address never leaves this machine, judged by name alone, without a lookup."""
    host = urlsplit(base_url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
