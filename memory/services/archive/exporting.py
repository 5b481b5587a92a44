"""The archive of a subject as a stream of bytes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from memory.services.actors import Actor
from memory.services.archive.streaming import streamed
from memory.services.archive.writing import order_archive, write_archive


def archive_file_name(moment: datetime) -> str:
    """Name the file of an archive by its day."""
    return f"loci-archive-{moment:%Y-%m-%d}.zip"


def archive_stream(*, actor: Actor) -> Iterator[bytes]:
    """Give everything that is stored about an owner as the bytes of a signed zip file, written while they are read.

    The audit names the archive before this returns. The archive shows the moment at which its first byte is asked for.

    Args:
        actor: who asks. A person gets everything, an agent what it may read, in the same form.

    Raises:
        PermissionRefused: one of `privacy:manage` and `memory:read` is missing.
        KeysUnavailable: the owner's keys cannot be used.
    """
    order = order_archive(actor=actor)
    return streamed(lambda sink: write_archive(order, sink))
