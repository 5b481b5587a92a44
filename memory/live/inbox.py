"""The messages of one channel that wait for its readers."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from copy import deepcopy
from typing import Any

Message = dict[str, Any]
"""A message of Channels, whose `type` names what is to be done."""


class Inbox:
    """What waits for the readers of one channel."""

    def __init__(self) -> None:
        """Begin empty, without readers."""
        self.waiting: deque[tuple[float, Message]] = deque()
        self.arrived = asyncio.Event()
        self.readers = 0
        self.groups: set[str] = set()

    def put(self, message: Message, expiry: float) -> None:
        """Add a copy of a message, which waits for `expiry` seconds."""
        self.waiting.append((time.monotonic() + expiry, deepcopy(message)))
        self.arrived.set()

    def take(self) -> Message | None:
        """Give the oldest message that has not expired, None where there is none."""
        while self.waiting:
            expires, message = self.waiting.popleft()
            if expires > time.monotonic():
                return message
        self.arrived.clear()
        return None
