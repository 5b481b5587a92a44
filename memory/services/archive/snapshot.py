"""Snapshots: an archive sealed in one file, and bringing back what one holds."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import datetime
from typing import IO, Any

from memory.crypto.keyring import keyring
from memory.errors import InvalidInput, PermissionRefused
from memory.services.actors import UNSET, Actor, Permission
from memory.services.archive.exporting import ordered
from memory.services.archive.importing import import_archive
from memory.services.archive.outcome import ArchiveImported, Mode, Progress, silent
from memory.services.archive.sink import Sink
from memory.services.archive.snapshot_format import (
    PASSPHRASE,
    Passphrase,
    RootKey,
    Sealing,
    Secret,
    open_snapshot,
    read_header,
    wrong_key,
)
from memory.services.archive.writing import Order, require_archive, write_archive
from memory.services.features import require_memory


def snapshot_file_name(moment: datetime) -> str:
    """Name the file of a snapshot by its moment."""
    return f"loci-{moment:%Y-%m-%d-%H%M%S}.snapshot"


def snapshot_stream(*, actor: Actor, passphrase: str | None = None) -> Iterator[bytes]:
    """Give everything that is stored about an owner as a sealed file, written while it is read.

    The audit names the snapshot before this returns.

    Args:
        actor: who asks, as in `archive_stream`.
        passphrase: 12 to 1,024 characters that open it anywhere. The owner's own key seals it when left out, and then
            it cannot be opened any more once the owner's keys are destroyed.

    Raises:
        PermissionRefused: one of `privacy:manage` and `memory:read` is missing.
        InvalidInput: `passphrase.invalid`; nothing was made.
        KeysUnavailable: the owner's keys cannot be used.
        RateLimited: `archive.busy`, this owner is being given a file, or several others are.
    """
    require_archive(actor)
    secret = _secret(actor, passphrase)
    return ordered(actor=actor, verb="snapshot", write=lambda order, sink: _write(order, secret, sink))


def _write(order: Order, secret: Secret, sink: Sink) -> None:
    sealing = Sealing(sink, secret, order.actor.agent_id)
    write_archive(order, sealing)
    sealing.finish()


def _secret(actor: Actor, passphrase: str | None) -> Secret:
    return RootKey(keyring().of(actor.owner_id).keys.root) if passphrase is None else Passphrase(passphrase)


def restore_snapshot(
    *,
    actor: Actor,
    file: IO[bytes],
    passphrase: str | None = None,
    scope: Any = UNSET,
    mode: str = Mode.MISSING,
    settings: bool = False,
    progress: Progress = silent,
) -> ArchiveImported:
    """Bring back what a snapshot holds and is not here; see `import_archive`.

    The code over the whole file is checked before a byte of it is opened. The content stands in a temporary file
    without a name while it is taken over.

    Args:
        actor: who restores. A person restores any snapshot, an agent those that it took itself: what it opens is a
            subset of what it could read when it took it.
        file: the snapshot, seekable.
        passphrase: where it was sealed with one; of no use where not.
        scope: as in `import_archive`.
        mode: `missing` adds what this database has lost; `all` brings back what was archived and erased since, too.
        settings: whether settings and profiles are taken over too.
        progress: told how far it is.

    Raises:
        InvalidInput, TooLarge: the snapshot cannot be used, see `read_header` and `open_snapshot`, or
            `passphrase.required`; nothing was stored.
        PermissionRefused: `snapshot.maker`, somebody else took it; or as in `import_archive`.
        InvalidScope, NotFound: as in `import_archive`.
    """
    require_memory()
    actor.require(Permission.PRIVACY)
    header = read_header(file)
    if actor.agent_id is not None and header.maker != actor.agent_id:
        # Else what a person or another agent has sealed would be opened for whoever gets hold of the file.
        raise PermissionRefused(
            "An agent restores snapshots that it took itself, and no others. Nothing was stored.",
            code="snapshot.maker",
        )
    if header.kind == PASSPHRASE and passphrase is None:
        raise InvalidInput(
            "This snapshot was sealed with a passphrase. Give it too; nothing was stored.",
            code="passphrase.required",
            field="passphrase",
        )
    try:
        secret = _secret(actor, passphrase if header.kind == PASSPHRASE else None)
    except InvalidInput as error:
        # Nothing was ever sealed with one so short or so long.
        raise wrong_key(header.kind) from error
    with tempfile.TemporaryFile() as content:
        open_snapshot(file, header, secret, content)
        return import_archive(
            actor=actor,
            file=content,
            scope=scope,
            mode=mode,
            settings=settings,
            progress=progress,
        )
