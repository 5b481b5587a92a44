"""Import of an archive, of this installation or another one, into an owner's memories."""

from __future__ import annotations

from typing import IO, Any, Final
from uuid import UUID

from memory.errors import InvalidInput
from memory.models import AuditEvent, owner_scope
from memory.services.actors import UNSET, Actor, Permission
from memory.services.archive.outcome import ArchiveImported, Mode, Progress, silent
from memory.services.archive.placing import take_places
from memory.services.archive.reading import Archive, checked_archive
from memory.services.archive.restoring_files import FILES, VERSIONS, take_files
from memory.services.archive.restoring_graph import TAKEN, Joining, take_graph, take_skills
from memory.services.archive.restoring_history import HANGING
from memory.services.archive.restoring_memories import Restoring, take_memories
from memory.services.archive.restoring_sessions import take_sessions
from memory.services.archive.restoring_settings import take_settings
from memory.services.archive.writing import OBJECT
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.features import require_memory

COUNTED: Final = TAKEN | {
    *HANGING, FILES, VERSIONS, "agents", "groups", "memberships", "sessions", "memories", "skills",
    "skill_dependencies",
}  # fmt: skip
"""Parts of which what is not taken over is counted line by line."""


def import_archive(
    *,
    actor: Actor,
    file: IO[bytes],
    scope: Any = UNSET,
    mode: str = Mode.MISSING,
    settings: bool = False,
    progress: Progress = silent,
) -> ArchiveImported:
    """Take an archive over: memories of every status with their moments, history and sources, agents, groups, sessions,
    the graph, skills and files of agents.

    All of the archive is checked first, so that nothing is stored of one that was changed. Memories that are here
    already are left as they are; the same archive may be imported again, after an interruption too, and adds what is
    missing. Rows get ids of our own. Agents and groups are known by their names and made anew without keys; what no
    longer has its agent or group, and everything that belongs to the installation and not to the memories (keys, the
    access log, runs, review items), is counted and left.

    Args:
        actor: who imports. A person's import keeps agents, groups and scopes; an agent's puts everything into one scope
            as its own.
        file: opened for reading, seekable.
        scope: for an agent's import, as `write_target` takes it; the key's default when left out.
        mode: `missing` or `all`. Where this owner made the archive in this very database, what is not here was erased
            since, and stays so with `missing`; so does what was archived since, wherever. `all` brings both back.
        settings: whether settings and profiles are taken over too.
        progress: told how far it is.

    Raises:
        InvalidInput, TooLarge: the archive cannot be used, see `checked_archive`; nothing was stored. `archive.line`,
            a line that cannot be read, may come later; what came before is stored then.
        PermissionRefused: one of `privacy:manage` and `memory:write` is missing, or `settings:write` for settings.
        InvalidScope, NotFound: the scope cannot be written; nothing was stored.
    """
    require_memory()
    for needed in (Permission.PRIVACY, Permission.WRITE, *([Permission.SETTINGS] if settings else ())):
        actor.require(needed)
    if mode not in set(Mode):
        raise InvalidInput("mode is missing or all.", code="mode.invalid", field="mode")
    archive = checked_archive(file)
    manifest = archive.manifest
    result = ArchiveImported(manifest.id, manifest.created_at, manifest.fingerprint, manifest.signed_here)
    known = _made_here(actor, archive)
    places = take_places(actor, archive, scope, result)
    with owner_scope(actor.owner_id):
        record(actor=actor.label, verb="import", object_kind=OBJECT, object_id=UUID(manifest.id), at=now())
    restoring = Restoring(places, take_sessions(places, archive, result), Mode(mode), known, result)
    take_memories(restoring, archive, progress)
    for entry in manifest.files:
        part = entry.name.removesuffix(".jsonl")
        if part not in COUNTED and not (settings and part in ("settings", "profile_overrides")):
            result.leave(part, entry.rows)
    if not (known and mode == Mode.MISSING):
        # Else graph and files are what has become of them since, and what was taken out of them stays out.
        joining = Joining(places, restoring.memories, result)
        take_graph(joining, archive, progress)
        take_skills(joining, archive)
        take_files(places, archive, result)
    else:
        for part in (FILES, VERSIONS):
            result.leave(part, manifest.rows(part))
    if settings:
        take_settings(actor, archive, result)
    return result


def _made_here(actor: Actor, archive: Archive) -> bool:
    """Tell whether this owner made the archive in this database, and the database has known everything since."""
    if archive.manifest.owner != str(actor.owner_id) or not archive.manifest.signed_here:
        return False
    with owner_scope(actor.owner_id):
        made = AuditEvent.objects.filter(
            object_kind=OBJECT, object_id=UUID(archive.manifest.id), verb__in=("export", "snapshot")
        )
        return bool(made.exists())
