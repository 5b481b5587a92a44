"""A limit on request bodies in front of everything, since Django writes a whole body to disk before any view runs."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from memory.ports.request_id import HEADER

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[..., Awaitable[None]]

ANSWER: Final = json.dumps(
    {
        "type": "urn:loci:problem:body.too_large",
        "title": "Content Too Large",
        "status": 413,
        "code": "body.too_large",
        "detail": "The request is larger than this server takes. Nothing was stored.",
    }
).encode()


class _TooLarge(Exception):
    """More of the body has come than is taken."""


class BodyLimit:
    """Wraps an application and answers 413 to a request whose body is too large, announced or not."""

    def __init__(self, application: Application, most_bytes: int) -> None:
        """Wrap `application`; bodies may have `most_bytes`."""
        self._application = application
        self._most = most_bytes

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        if self._announced(scope) > self._most:
            await _refuse(scope, send)
            return
        received = 0
        begun = False

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._most:
                raise _TooLarge
            return message

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._application(scope, counted, noted)
        except _TooLarge:
            if not begun:
                await _refuse(scope, send)

    @staticmethod
    def _announced(scope: Message) -> int:
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit():
                return int(value)
        return 0


async def _refuse(scope: Message, send: Send) -> None:
    given = dict(scope["headers"]).get(HEADER.lower().encode(), b"").decode("latin-1")
    # Here, since what recognises secrets needs the apps, and servers load this module before them.
    from config.request_ids import taken_id

    headers = [
        (HEADER.lower().encode(), taken_id(given).encode()),
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(ANSWER)).encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": ANSWER})
