"""Reading files, what they said before, and what changed between."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import Q, QuerySet

from memory.crypto.keyring import keyring
from memory.errors import NotFound
from memory.models import AgentFile, AgentFileVersion, owner_scope
from memory.services.actors import UNSET, Actor, Permission
from memory.services.agent_files.paths import checked_path, same_path
from memory.services.agent_files.places import visible_file, visible_files, whose_files
from memory.services.audit.reading import reads
from memory.services.features import require_memory
from memory.text.differences import Comparison, compare_lines

MOST_LISTED: Final = 200
Position = tuple[datetime, UUID]


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was at one of its versions; the newest one is what it is now."""

    number: int
    path: str
    media_type: str
    size: int
    change: str
    changed_by: str
    language_model: str | None
    injection_kinds: tuple[str, ...]
    made_at: datetime


@reads("files")
def list_files(
    *,
    actor: Actor,
    scope: Any = UNSET,
    path: Any = None,
    deleted: bool = False,
    after: Position | None = None,
    size: int = MOST_LISTED,
) -> list[AgentFile]:
    """List files without their content, newest first.

    Args:
        actor: who asks.
        scope: whose, see `whose_files`; all that the actor may see when left out.
        path: only files of this path.
        deleted: those that were deleted and can be brought back, instead of those that are there.
        after: the creation and id of the row that the page before ended with.
        size: most rows.

    Raises:
        PermissionRefused: the permission `files:read` is missing.
        InvalidScope, NotFound, InvalidInput: a scope or path that cannot be used.
    """
    require_memory()
    actor.require(Permission.FILES_READ)
    whose = None if scope is UNSET else whose_files(actor, scope)
    with owner_scope(actor.owner_id):
        rows: QuerySet[AgentFile] = visible_files(actor).filter(deleted_at__isnull=not deleted)
        if whose is not None:
            rows = rows.filter(scope=whose.scope)
        if path is not None:
            rows = rows.filter(path_hash=path_hash(actor.owner_id, checked_path(path)))
        if after is not None:
            moment, row_id = after
            rows = rows.filter(Q(created_at__lt=moment) | Q(created_at=moment, pk__lt=row_id))
        return list(rows.defer("content").order_by("-created_at", "-pk")[:size])


@reads("file", of="file_id")
def read_file(*, actor: Actor, file_id: UUID) -> AgentFile:
    """Give a file with its content, a deleted one too.

    Raises:
        PermissionRefused: the permission `files:read` is missing.
        NotFound: not there or hidden.
    """
    require_memory()
    actor.require(Permission.FILES_READ)
    with owner_scope(actor.owner_id):
        return visible_file(actor, file_id)


def stored_version(*, actor: Actor, file_id: UUID) -> int:
    """Give the version of a file, to callers that may read or change it.

    Raises:
        NotFound: not there or hidden.
        PermissionRefused: the actor may neither read nor write files.
    """
    require_memory()
    if Permission.FILES_WRITE not in actor.permissions:
        actor.require(Permission.FILES_READ)
    with owner_scope(actor.owner_id):
        return int(visible_file(actor, file_id).version)


@reads("file", of="file_id")
def file_history(*, actor: Actor, file_id: UUID) -> list[FileState]:
    """Give the versions of a file that are kept, newest first, the present one among them, without their contents.

    Raises:
        PermissionRefused, NotFound: as `read_file`.
    """
    require_memory()
    actor.require(Permission.FILES_READ)
    with owner_scope(actor.owner_id):
        row = visible_file(actor, file_id)
        former = AgentFileVersion.objects.filter(file_id=row.pk).defer("content").order_by("-number")
        return [
            _state(row, row.version, row.updated_at),
            *(_state(one, one.number, one.made_at) for one in former if actor.may_read(one.scope)),
        ]


@reads("file", of="file_id")
def former_content(*, actor: Actor, file_id: UUID, number: int) -> str:
    """Give what a file said at one of its versions, the present one included.

    Raises:
        PermissionRefused, NotFound: as `read_file`; `file.version_unknown`, a version that is not kept.
    """
    require_memory()
    actor.require(Permission.FILES_READ)
    with owner_scope(actor.owner_id):
        return content_at(actor, visible_file(actor, file_id), number)


def content_at(actor: Actor, row: AgentFile, number: int) -> str:
    """Give the content of a version of a loaded file, within the owner's scope; raises NotFound."""
    return str(state_at(actor, row, number).content)


def state_at(actor: Actor, row: AgentFile, number: int) -> AgentFile | AgentFileVersion:
    """Give the row that holds a version of a loaded file, within the owner's scope; raises NotFound."""
    if number == row.version:
        return row
    found: AgentFileVersion | None = AgentFileVersion.objects.filter(file_id=row.pk, number=number).first()
    if found is None or not actor.may_read(found.scope):
        raise NotFound("This version of the file is not kept.", code="file.version_unknown")
    return found


def path_hash(owner_id: UUID, path: str) -> bytes:
    """Give the keyed hash by which a path is found and stands once."""
    return keyring().of(owner_id).digest(f"file path {same_path(path)}")


@reads("file", of="file_id")
def file_difference(*, actor: Actor, file_id: UUID, before: int, after: int) -> Comparison:
    """Compare two versions of a file, line by line and word by word; see `compare_lines`.

    Raises:
        PermissionRefused, NotFound: as `former_content`.
    """
    require_memory()
    actor.require(Permission.FILES_READ)
    with owner_scope(actor.owner_id):
        row = visible_file(actor, file_id)
        old, new = content_at(actor, row, before), content_at(actor, row, after)
    return compare_lines(old, new)


def _state(row: Any, number: int, made_at: datetime) -> FileState:
    return FileState(
        number=number,
        path=row.path,
        media_type=row.media_type,
        size=row.size,
        change=row.change,
        changed_by=row.changed_by,
        language_model=row.language_model,
        injection_kinds=tuple(row.injection_kinds),
        made_at=made_at,
    )
