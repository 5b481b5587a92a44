"""What the web process does before it ends: a signal ends it without Python's own exit, so the server has to ask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from config.body_limit import Message, Receive, Send


class Lifespan:
    """The application for the life of the process; when the server stops, once open requests have ended, it acts."""

    def __init__(self, at_end: Callable[[], None]) -> None:
        """Take what to do; `at_end` runs in a thread and may use the database."""
        self._at_end = at_end

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Follow the life of the process."""
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await asyncio.to_thread(self._at_end)
                await send({"type": "lifespan.shutdown.complete"})
                return
