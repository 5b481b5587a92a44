"""A file between what writes and what reads, so that neither waits for the other.

It has no name, belongs to this process alone, and what stands in it is sealed with a key that only this process knows.
"""

from __future__ import annotations

import os
import tempfile
import threading
from typing import Final

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR

from memory.errors import TooLarge
from memory.services.archive.limits import GIB, PIECE

MOST_BYTES: Final = 20 * GIB
"""Of a file; at most half of what is free on the disk, too."""

_LOOK_SECONDS: Final = 0.5


class AbandonedError(Exception):
    """Nobody reads any more."""


class Spool:
    """Takes bytes from one thread, as fast as they come, and gives them to another one in their order."""

    def __init__(self) -> None:
        """Make the file; it is gone once it is closed, or the process ends in whatever way."""
        # Closed by whoever reads, or by whoever finds that nobody does.
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        disk = os.fstatvfs(self._file.fileno())
        self._most = min(MOST_BYTES, disk.f_bavail * disk.f_frsize // 2)
        # A key for this file alone, whose bytes are written once and read once: no part of the stream comes twice.
        sealing = Cipher(AES256(os.urandom(32)), CTR(bytes(16)))
        self._seal, self._open = sealing.encryptor(), sealing.decryptor()
        self._change = threading.Condition()
        self._closed = False
        self.written = 0
        self.read = 0

    def write(self, data: bytes, /) -> None:
        """Take some bytes.

        Raises:
            AbandonedError: the file was closed.
            TooLarge: `archive.no_room`, more than half of what was free on the disk, or 20 GiB.
        """
        with self._change:
            if self._closed:
                raise AbandonedError
            if self.written + len(data) > self._most:
                raise TooLarge("The file is larger than what this disk has room for.", code="archive.no_room")
            sealed = memoryview(self._seal.update(data))
            while sealed:
                count = os.pwrite(self._file.fileno(), sealed, self.written)
                sealed, self.written = sealed[count:], self.written + count
            self._change.notify_all()

    def piece(self, *, whole: bool) -> bytes:
        """Give what comes next; nothing where all that was written has been read, after half a second at most.

        Args:
            whole: whether nothing more will be written, so that there is nothing to wait for.

        Raises:
            AbandonedError: the file was closed.
        """
        with self._change:
            if self.read == self.written and not whole and not self._closed:
                self._change.wait(_LOOK_SECONDS)
            if self._closed:
                raise AbandonedError("The file was not read in time and is incomplete.")
            sealed = os.pread(self._file.fileno(), min(PIECE, self.written - self.read), self.read)
            self.read += len(sealed)
            return self._open.update(sealed)

    def wake(self) -> None:
        """Let whoever waits look at what has become of it."""
        with self._change:
            self._change.notify_all()

    def wait(self, seconds: float) -> bool:
        """Wait for the end, for so long at most; tells whether the file was closed."""
        with self._change:
            return self._closed or (self._change.wait(seconds) and self._closed)

    def close(self) -> None:
        """Give the file up."""
        with self._change:
            self._closed = True
            self._file.close()
            self._change.notify_all()
