"""Identifiers: UUID version 7, made by us and never taken from a client."""

from __future__ import annotations

import os
import threading
import time
from uuid import UUID

_lock = threading.Lock()
_last_tick = 0


def new_id() -> UUID:
    """Make a UUID version 7 (RFC 9562, section 5.7) that sorts after every earlier one of this process.

    The 12 bits after the millisecond carry its fraction, so that ids made within one millisecond keep their order.
    """
    global _last_tick
    with _lock:
        tick = time.time_ns() * 4096 // 1_000_000
        _last_tick = tick = max(tick, _last_tick + 1)
    milliseconds, fraction = divmod(tick, 4096)
    random_tail = int.from_bytes(os.urandom(8), "big") & ((1 << 62) - 1)
    return UUID(int=(milliseconds & ((1 << 48) - 1)) << 80 | 0x7 << 76 | fraction << 64 | 0b10 << 62 | random_tail)
