"""What the web process does before it ends: a signal ends it without Python's own exit, so the server has to ask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from config.body_limit import Application, Message, Receive, Send


class Lifespan:
    """Wraps an application; when the server stops, once open requests have ended, it runs a function."""

    def __init__(self, application: Application, at_end: Callable[[], None]) -> None:
        """Wrap `application`; `at_end` runs in a thread and may use the database."""
        self._application = application
        self._at_end = at_end

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle one connection, or the life of the process."""
        if scope["type"] != "lifespan":
            await self._application(scope, receive, send)
            return
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await asyncio.to_thread(self._at_end)
                await send({"type": "lifespan.shutdown.complete"})
                return
