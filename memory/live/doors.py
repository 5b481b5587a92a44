"""The way in for websockets: one address, and only for pages of this server and for clients that are no pages.

A browser sends its cookies whoever's page opens the socket, so the page's origin is what protects them.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host

from memory.live.consumer import LiveConsumer

PATH: Final = "/live/"
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class LiveDoor:
    """The application for websockets."""

    def __init__(self) -> None:
        """Make the applications behind the door."""
        self._live = LiveConsumer.as_asgi()
        self._denier = WebsocketDenier.as_asgi()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Let a socket in, or refuse its handshake with 403."""
        may_enter = scope["path"] == PATH and is_welcome(scope["headers"])
        await (self._live if may_enter else self._denier)(scope, receive, send)


def is_welcome(headers: Any) -> bool:
    """Tell whether a handshake was sent to a host of ours, by a page of ours or by a client that has no page.

    A client without an origin has to bring an agent's key: a session is for pages.
    """
    found = {name: value.decode("latin-1") for name, value in headers}
    host = found.get(b"host", "")
    domain, _ = split_domain_port(host)
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        return False
    origin = found.get(b"origin")
    if origin is None:
        return b"authorization" in found or b"x-api-key" in found
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    place = _place(origin)
    return place is not None and place == _place(f"{_scheme(found)}://{host}".lower())


def _scheme(headers: dict[bytes, str]) -> str:
    """Give the scheme of pages, which the proxy says where it ends HTTPS."""
    if settings.LOCI_HTTPS:
        return headers.get(b"x-forwarded-proto", "http").strip().lower()
    return "http"


def _place(address: str) -> tuple[str, str, int | None] | None:
    """Take an origin apart into scheme, host and port; None for what is none, such as `null`."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    # What browsers write: in lower case, without a user, a path or an empty port.
    if address != f"{parts.scheme}://{parts.netloc.lower()}" or "@" in parts.netloc or parts.netloc.endswith(":"):
        return None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        return None
    return parts.scheme, parts.hostname, _DEFAULT_PORTS[parts.scheme] if port is None else port
