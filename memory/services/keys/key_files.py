"""Files that held a key: what they held is overwritten, as far as the file system writes in place."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import BinaryIO

from memory.providers.directories import sync_directory


def scrub(file: BinaryIO) -> None:
    """Overwrite a file from its beginning, flushed to the disk, and close it."""
    with file:
        file.seek(0)
        file.write(secrets.token_bytes(os.fstat(file.fileno()).st_size))
        file.flush()
        os.fsync(file.fileno())


def destroy(path: Path) -> None:
    """Remove a file and overwrite what it held."""
    file = path.open("r+b")
    path.unlink()
    scrub(file)
    sync_directory(path.parent)
