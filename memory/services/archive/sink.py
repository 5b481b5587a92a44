"""Where written bytes go."""

from __future__ import annotations

from typing import Protocol


class Sink(Protocol):
    """Takes the bytes of a file, one piece after the other."""

    def write(self, data: bytes, /) -> object:
        """Take some bytes."""
