"""Files of counts whose room on the disk is taken before they are written to."""

from __future__ import annotations

import os
from typing import Any, Final

from prometheus_client.mmap_dict import MmapedDict

BEGIN_BYTES: Final = 1 << 16
# What stands beside a key: its length, up to 8 bytes that fill up, and two numbers.
BESIDE_KEY: Final = 4 + 8 + 16


class AllocatedDict(MmapedDict):
    """The library's file of counts, without its holes.

    A process that writes into a hole of a mapped file while the disk is full is ended by the system. So room is taken
    first, which fails with an error instead.
    """

    _f: Any
    _used: int
    _capacity: int

    def __init__(self, filename: str, read_mode: bool = False) -> None:
        """Open the file; raises OSError where there is no room."""
        if not read_mode:
            with open(filename, "a+b") as file:
                _allocate(file.fileno(), max(BEGIN_BYTES, os.fstat(file.fileno()).st_size))
        super().__init__(filename, read_mode)  # type: ignore[no-untyped-call]

    def _init_value(self, key: str) -> None:
        """Add a value; raises OSError where there is no room."""
        wanted, capacity = self._used + len(key.encode()) + BESIDE_KEY, self._capacity
        while wanted > capacity:
            capacity *= 2
        if capacity > self._capacity:
            _allocate(self._f.fileno(), capacity)
        super()._init_value(key)  # type: ignore[no-untyped-call]


def _allocate(descriptor: int, size: int) -> None:
    # Not every system can.
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
