"""Writing files: everything that a file said stays in its history, and a change from an outdated version is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction

from memory.errors import Conflict, InvalidInput, NotFound, PermissionRefused
from memory.models import AgentFile, FileChange, MediaType, Owner, owner_scope
from memory.privacy import injection
from memory.services.actors import UNSET, Actor, Permission
from memory.services.agent_files.keeping import keep_state, require_room, sweep_deleted
from memory.services.agent_files.paths import checked_path
from memory.services.agent_files.places import Whose, visible_file, whose_files
from memory.services.agent_files.reading import path_hash, state_at
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.features import require_memory
from memory.text import limits

_MODEL: Final = re.compile(r"[\w.:/@+ -]{1,120}", re.ASCII)


def create_file(
    *,
    actor: Actor,
    path: Any,
    content: Any = "",
    scope: Any = UNSET,
    media_type: Any = None,
    language_model: Any = None,
) -> AgentFile:
    """Create a file.

    Args:
        actor: who writes.
        path: what it is called, see `checked_path`.
        content: what it says; at most 256 KiB, and it may be empty.
        scope: whose it is, see `whose_files`.
        media_type: `text/markdown` or `text/plain`; by the name when left out.
        language_model: the model that wrote it, where one did.

    Raises:
        PermissionRefused: the permission `files:write` is missing.
        Conflict: `file.taken`, there is one of this name; `file_id` and `version` say which.
        InvalidInput, TooLarge, InvalidScope, NotFound: something that cannot be used; `files.too_many`.
    """
    _require(actor)
    path, content = checked_path(path), limits.checked_text(content, blank=True)
    kind = _media_type(media_type, path)
    model = checked_language_model(language_model)
    whose = whose_files(actor, scope)
    moment = now()
    with owner_scope(actor.owner_id):
        _one_at_a_time(whose)
        sweep_deleted(whose, at=moment)
        require_room(whose)
        row = AgentFile(
            owner_id=actor.owner_id, agent_id=whose.agent_id, scope=whose.scope, created_at=moment, version=0
        )
        _set(row, actor, FileChange.CREATED, moment, path=path, content=content, media_type=kind, model=model)
        with _unique(row):
            row.save(force_insert=True)
        _record(actor, "create", row)
    return row


def write_file(
    *,
    actor: Actor,
    file_id: UUID,
    content: Any,
    expected_version: int | None = None,
    media_type: Any = None,
    language_model: Any = None,
) -> AgentFile:
    """Replace what a file says; without effect where it says that already.

    Args:
        actor: who writes.
        file_id: which.
        content: what it says from now on.
        expected_version: the version that the change was made from; any when left out.
        media_type: how the text is meant from now on.
        language_model: the model that wrote it, where one did.

    Raises:
        PermissionRefused: the permission `files:write` is missing.
        NotFound: not there, deleted or hidden.
        Conflict: `file.conflict`, it was changed meanwhile; `version` is the present one. Nothing was changed.
        InvalidInput, TooLarge: something that cannot be used; nothing was changed.
    """
    _require(actor)
    content = limits.checked_text(content, blank=True)
    model = checked_language_model(language_model)
    kinds = injection.scan(content)

    def change(row: AgentFile, moment: datetime) -> bool:
        kind = row.media_type if media_type is None else _media_type(media_type, row.path)
        if (row.content, row.media_type) == (content, kind):
            return False
        keep_state(row, at=moment)
        _set(row, actor, FileChange.WRITTEN, moment, content=content, media_type=kind, model=model, kinds=kinds)
        return True

    return _changed(actor, file_id, expected_version, change, verb="change")


def rename_file(*, actor: Actor, file_id: UUID, path: Any, expected_version: int | None = None) -> AgentFile:
    """Give a file another path; without effect where it has that already.

    Raises:
        PermissionRefused, NotFound, InvalidInput: as `write_file`.
        Conflict: `file.conflict` as `write_file`, or `file.taken`, there is another one of this name.
    """
    _require(actor)
    path = checked_path(path)

    def change(row: AgentFile, moment: datetime) -> bool:
        if row.path == path:
            return False
        keep_state(row, at=moment)
        _set(row, actor, FileChange.RENAMED, moment, path=path)
        return True

    return _changed(actor, file_id, expected_version, change, verb="change", reason="renamed")


def delete_file(*, actor: Actor, file_id: UUID, expected_version: int | None = None) -> AgentFile:
    """Delete a file; for 90 days it can be brought back with its history.

    Raises:
        PermissionRefused, NotFound, Conflict: as `write_file`.
    """
    _require(actor)

    def change(row: AgentFile, moment: datetime) -> bool:
        keep_state(row, at=moment)
        row.deleted_at = moment
        _set(row, actor, FileChange.DELETED, moment)
        return True

    row = _changed(actor, file_id, expected_version, change, verb="delete")
    with owner_scope(actor.owner_id):
        sweep_deleted(Whose(actor.owner_id, row.agent_id), at=row.updated_at)
    return row


def restore_file(
    *, actor: Actor, file_id: UUID, number: int | None = None, expected_version: int | None = None
) -> AgentFile:
    """Bring a deleted file back, or what a file said at an earlier version; both become a new version.

    Args:
        actor: who restores.
        file_id: which, a deleted one too.
        number: the version whose content comes back; the present content of a deleted file when left out.
        expected_version: as `write_file`.

    Raises:
        PermissionRefused, Conflict: as `write_file`; `file.taken`, there is another one of this name by now.
        NotFound: not there or hidden, or a version that is not kept.
        InvalidInput: `files.too_many`.
    """
    _require(actor)
    moment = now()
    with owner_scope(actor.owner_id):
        seen = visible_file(actor, file_id)
        _one_at_a_time(Whose(actor.owner_id, seen.agent_id))
        row = visible_file(actor, file_id, lock=True)
        _require_version(row, expected_version)
        former = row if number is None else state_at(actor, row, number)
        if row.deleted_at is None and (row.content, row.media_type) == (former.content, former.media_type):
            return row
        if row.deleted_at is not None:
            require_room(Whose(actor.owner_id, row.agent_id))
        content, kind, model = former.content, former.media_type, former.language_model
        keep_state(row, at=moment)
        row.deleted_at = None
        _set(row, actor, FileChange.RESTORED, moment, content=content, media_type=kind, model=model)
        with _unique(row):
            row.save()
        _record(actor, "restore", row)
    return row


def erase_file(*, actor: Actor, file_id: UUID) -> None:
    """Erase a deleted file for good, with its history.

    Raises:
        PermissionRefused: the permission `files:write` is missing, or `auth.person_only`, not a person.
        NotFound: not there or hidden.
        Conflict: `file.not_deleted`.
    """
    _require(actor)
    if not actor.human:
        raise PermissionRefused("Only a person erases a file for good.", code="auth.person_only")
    with owner_scope(actor.owner_id):
        row = visible_file(actor, file_id, lock=True)
        if row.deleted_at is None:
            raise Conflict("Only a deleted file can be erased. Delete it first.", code="file.not_deleted")
        _record(actor, "erase", row)
        row.delete()


def _changed(
    actor: Actor,
    file_id: UUID,
    expected_version: int | None,
    change: Callable[[AgentFile, datetime], bool],
    *,
    verb: str,
    reason: str = "",
) -> AgentFile:
    """Lock a file that is there, change it where there is something to change, and record that."""
    moment = now()
    with owner_scope(actor.owner_id):
        row = visible_file(actor, file_id, lock=True)
        if row.deleted_at is not None:
            raise NotFound("This file was deleted. Restore it first.", code="file.deleted")
        _require_version(row, expected_version)
        if change(row, moment):
            with _unique(row):
                row.save()
            _record(actor, verb, row, reason=reason)
    return row


def _require(actor: Actor) -> None:
    require_memory()
    actor.require(Permission.FILES_WRITE)


def _require_version(row: AgentFile, expected: int | None) -> None:
    if expected is not None and row.version != expected:
        raise Conflict(
            "The file was changed meanwhile. Nothing was changed; read it again.",
            code="file.conflict",
            version=row.version,
        )


def _set(
    row: AgentFile,
    actor: Actor,
    change: FileChange,
    moment: datetime,
    *,
    path: str | None = None,
    content: str | None = None,
    media_type: str | None = None,
    model: str | None = None,
    kinds: tuple[str, ...] | None = None,
) -> None:
    """Make a row the next version of its file."""
    row.change, row.changed_by, row.updated_at = change, actor.label, moment
    row.version += 1
    row.language_model = model
    if path is not None:
        row.path, row.path_hash = path, path_hash(actor.owner_id, path)
    if content is not None:
        row.content, row.size = content, len(content.encode())
        row.injection_kinds = list(injection.scan(content) if kinds is None else kinds)
    if media_type is not None:
        row.media_type = media_type


@contextmanager
def _unique(row: AgentFile) -> Iterator[None]:
    """Turn a second file of the same path into a Conflict that says which one there is."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        if "agent_file_path_once" not in str(error):
            raise
        same = AgentFile.objects.filter(scope=row.scope, path_hash=row.path_hash, deleted_at=None).first()
        raise Conflict(
            "There is a file of this name already. Nothing was changed.",
            code="file.taken",
            file_id=str(same.pk) if same else None,
            version=same.version if same else None,
        ) from error


def _one_at_a_time(whose: Whose) -> None:
    """Let one who adds a file wait for another, so that the limit holds."""
    Owner.objects.select_for_update(no_key=True).get(pk=whose.owner_id)


def _record(actor: Actor, verb: str, row: AgentFile, *, reason: str = "") -> None:
    record(actor=actor.label, verb=verb, object_kind="file", object_id=row.pk, reason=reason or actor.via, at=now())


def _media_type(value: Any, path: str) -> str:
    if value is None:
        return MediaType.MARKDOWN if path.casefold().endswith((".md", ".markdown")) else MediaType.PLAIN
    if value not in MediaType.values:
        raise InvalidInput(
            f"media_type is one of {', '.join(MediaType.values)}.", code="media_type.invalid", field="media_type"
        )
    return str(value)


def checked_language_model(value: Any) -> str | None:
    """Check the name of a language model; None for none. Raises InvalidInput with the code `model.invalid`."""
    if value is None or value == "":
        return None
    if not isinstance(value, str) or not _MODEL.fullmatch(value):
        raise InvalidInput(
            "A model's name has at most 120 letters, digits and . : / @ + - _.", code="model.invalid", field="model"
        )
    return value
