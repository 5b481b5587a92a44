"""Writing an archive: one pass over everything that an owner has, at one point in time, in constant memory."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Final
from uuid import UUID

from django.db import connection, transaction

from memory.crypto.keyring import keyring
from memory.crypto.signing import signer
from memory.ids import new_id
from memory.models import Memory, Owner, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.archive.limits import PIECE
from memory.services.archive.manifest import (
    MANIFEST_FILE,
    README_FILE,
    SIGNATURE_FILE,
    FileEntry,
    Manifest,
    product_version,
    signature_of,
    written,
)
from memory.services.archive.readme import readme
from memory.services.archive.registry import Part, left_out, parts
from memory.services.archive.rows import UNREADABLE, records
from memory.services.archive.sink import Sink
from memory.services.audit.bulk_reading import Reader
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.features import require_memory

OBJECT: Final = "archive"


@dataclass(frozen=True, slots=True)
class Order:
    """An archive that may be written: its id stands in the audit already."""

    id: UUID
    actor: Actor
    at: datetime
    pseudonym: UUID


def require_archive(actor: Actor) -> None:
    """Refuse whoever may not have an archive; see `order_archive`."""
    require_memory()
    for needed in (Permission.PRIVACY, Permission.READ):
        actor.require(needed)


def order_archive(*, actor: Actor, verb: str = "export") -> Order:
    """Check that an actor may have an archive and record in the audit that it gets one, before any byte is written.

    Args:
        actor: who asks. A person gets everything, an agent what it may read.
        verb: what the audit calls it.

    Raises:
        PermissionRefused: one of `privacy:manage` and `memory:read` is missing.
        KeysUnavailable: the owner's keys cannot be used; nothing could be read.
    """
    require_archive(actor)
    keyring().of(actor.owner_id)
    with owner_scope(actor.owner_id):
        pseudonym = Owner.objects.values_list("pseudonym", flat=True).get(pk=actor.owner_id)
        order = Order(new_id(), actor, now(), pseudonym)
        record(actor=actor.label, verb=verb, object_kind=OBJECT, object_id=order.id, at=order.at)
    return order


def write_archive(order: Order, sink: Sink) -> Manifest:
    """Write an archive into a sink that need not be seekable.

    Everything is read in one transaction of its own (REPEATABLE READ), so that the archive shows one moment. Call it
    outside a transaction. About 6,000 memories a second on one core; a page of rows and 64 KiB of output are held.

    Returns:
        The manifest that was signed.
    """
    buffered = _Buffered(sink)
    with zipfile.ZipFile(buffered, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as packed:
        with _one_moment(order.actor.owner_id):
            writer = _Writer(packed, order)
            entries = [writer.text(README_FILE, readme(order.at))]
            entries += [writer.part(part) for part in parts()]
        manifest = Manifest(
            id=str(order.id),
            created_at=order.at.isoformat().replace("+00:00", "Z"),
            version=product_version(),
            owner=str(order.actor.owner_id),
            pseudonym=str(order.pseudonym),
            complete=order.actor.agent_id is None,
            public_key=signer().public_key.hex(),
            files=tuple(entries),
            unreadable=writer.unreadable,
            left_out={model.__name__: reason for model, reason in left_out().items()},
        )
        text = written(manifest)
        writer.text(MANIFEST_FILE, text)
        writer.text(SIGNATURE_FILE, signature_of(text))
    buffered.flush()
    return manifest


@contextmanager
def _one_moment(owner_id: UUID) -> Iterator[None]:
    """Run the block in a transaction that sees nothing of what others store meanwhile, and stores nothing itself."""
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        with owner_scope(owner_id):
            yield


class _Buffered:
    """Passes bytes on in pieces of 64 KiB or more; it cannot be asked for its position, as zipfile wants to know."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._held = bytearray()

    def write(self, data: bytes) -> int:
        self._held += data
        if len(self._held) >= PIECE:
            self.flush()
        return len(data)

    def flush(self) -> None:
        if self._held:
            self._sink.write(bytes(self._held))
            self._held.clear()

    def close(self) -> None:
        """Pass on what is left; the sink stays open."""
        self.flush()


class _Writer:
    """Writes the files inside an archive and keeps their sizes and digests."""

    def __init__(self, packed: zipfile.ZipFile, order: Order) -> None:
        self._packed = packed
        self._order = order
        self.unreadable = 0

    def part(self, part: Part) -> FileEntry:
        return self._file(f"{part.name}.jsonl", self._lines(part))

    def text(self, name: str, text: bytes) -> FileEntry:
        entry = self._file(name, [text])
        return FileEntry(entry.name, 0, entry.bytes, entry.sha256)

    def _lines(self, part: Part) -> Iterator[bytes]:
        reader = Reader(self._order.actor) if part.model is Memory else None
        for row in records(part, self._order.actor):
            if reader is not None:
                reader.read(UUID(row["id"]))
            self.unreadable += len(row.get(UNREADABLE, ()))
            yield json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        if reader is not None:
            reader.finish()

    def _file(self, name: str, pieces: Iterable[bytes]) -> FileEntry:
        info = zipfile.ZipInfo(name, self._order.at.timetuple()[:6])
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o600 << 16
        digest, size, rows = sha256(), 0, 0
        with self._packed.open(info, "w", force_zip64=True) as file:
            for piece in pieces:
                file.write(piece)
                digest.update(piece)
                size += len(piece)
                rows += 1
        return FileEntry(name, rows, size, digest.hexdigest())
