"""The archive of a subject as a stream of bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from memory.services.actors import Actor
from memory.services.archive.sink import Sink
from memory.services.archive.streaming import streamed
from memory.services.archive.writing import Order, order_archive, require_archive, write_archive


def archive_file_name(moment: datetime) -> str:
    """Name the file of an archive by its day."""
    return f"loci-archive-{moment:%Y-%m-%d}.zip"


def archive_stream(*, actor: Actor) -> Iterator[bytes]:
    """Give everything that is stored about an owner as the bytes of a signed zip file, written into a sealed
    file without a name while they are read.

    The audit names the archive before this returns. The archive shows the moment at which its first byte is asked for.

    Args:
        actor: who asks. A person gets everything, an agent what it may read, in the same form.

    Raises:
        PermissionRefused: one of `privacy:manage` and `memory:read` is missing.
        KeysUnavailable: the owner's keys cannot be used.
        RateLimited: `archive.busy`, this owner is being given a file, or several others are.
    """
    return ordered(actor=actor, verb="export", write=write_archive)


def ordered(*, actor: Actor, verb: str, write: Callable[[Order, Sink], object]) -> Iterator[bytes]:
    """Order an archive once there is a place for one more file, and give what a function makes of it.

    Args:
        actor: who asks.
        verb: what the audit calls it.
        write: writes the archive in its form.

    Raises:
        PermissionRefused, KeysUnavailable: see `order_archive`.
        RateLimited: `archive.busy`, see `streamed`; nothing was recorded.
    """
    require_archive(actor)
    stream = streamed(lambda sink: write(order, sink), owner_id=actor.owner_id)
    try:
        order = order_archive(actor=actor, verb=verb)
    except BaseException:
        stream.close()
        raise
    return stream
