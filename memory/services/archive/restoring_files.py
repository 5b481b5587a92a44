"""The files of an archive with what they said before, made anew where none of their name is here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from memory.errors import InvalidInput, LociError
from memory.models import AgentFile, AgentFileVersion, FileChange, MediaType, Visibility, owner_scope
from memory.privacy import injection
from memory.services.actors import Permission
from memory.services.agent_files.keeping import MOST_VERSIONS, require_room
from memory.services.agent_files.paths import checked_path
from memory.services.agent_files.places import Whose
from memory.services.agent_files.reading import path_hash
from memory.services.agent_files.writing import checked_language_model
from memory.services.archive.following import Following
from memory.services.archive.outcome import ArchiveImported
from memory.services.archive.placing import Places
from memory.services.archive.reading import Archive, Record
from memory.services.archive.values import count_of, moment_of, optional_moment
from memory.services.audit.vocabulary import ACTORS, AGENT
from memory.services.clock import now
from memory.text import limits

FILES, VERSIONS = "files", "file_versions"


def take_files(places: Places, archive: Archive, result: ArchiveImported) -> None:
    """Make the files of an archive that are not here, each with its versions and of the agent that it had.

    An agent's import takes them only into its own files or those of all agents, and only where its key may write some.
    What has no agent here, and what would be beyond the limit of files, is left or refused.
    """
    if Permission.FILES_WRITE not in places.actor.permissions:
        for part in (FILES, VERSIONS):
            result.leave(part, archive.manifest.rows(part))
        return
    former = Following(archive, VERSIONS, "file_id", result)
    for index, line in enumerate(archive.lines(FILES)):
        versions = former.of(str(line.get("id")))
        former.held = 0
        whose = _whose(places, line)
        if whose is None:
            result.leave(FILES)
            result.leave(VERSIONS, len(versions))
            continue
        try:
            created = _take(places, whose, line, versions)
        except LociError as error:
            result.refuse(FILES, index, error)
            continue
        result.files["created" if created else "existing"] += 1
    former.finish()


def _whose(places: Places, line: Record) -> Whose | None:
    owner_id = places.actor.owner_id
    if places.only is not None:
        if places.only.visibility == Visibility.AGENT:
            return Whose(owner_id, places.actor.agent_id)
        return Whose(owner_id, None) if places.only.visibility == Visibility.OWNER else None
    if line.get("agent_id") is None:
        return Whose(owner_id, None) if line.get("scope") == places.owner else None
    agent_id = places.agent(line["agent_id"])
    return None if agent_id is None else Whose(owner_id, agent_id)


def _take(places: Places, whose: Whose, line: Record, versions: Sequence[Record]) -> bool:
    """Store a file unless it is here, in a transaction of its own; tell whether it was stored."""
    moment = now()
    values = _state(places, line)
    hashed = path_hash(whose.owner_id, values["path"])
    created = moment_of(line, "created_at", latest=moment)
    deleted = optional_moment(line, "deleted_at", latest=moment)
    with owner_scope(whose.owner_id):
        same = AgentFile.objects.filter(scope=whose.scope, path_hash=hashed)
        if same.filter(created_at=created).exists() or (deleted is None and same.filter(deleted_at=None).exists()):
            return False
        if deleted is None:
            require_room(whose)
        row = AgentFile.objects.create(
            agent_id=whose.agent_id,
            scope=whose.scope,
            path_hash=hashed,
            version=count_of(line, "version", least=1),
            created_at=created,
            updated_at=moment_of(line, "updated_at", latest=moment),
            deleted_at=deleted,
            **values,
        )
        made = [_version(places, row, one, moment) for one in versions[-MOST_VERSIONS:]]
        AgentFileVersion.objects.bulk_create([one for one in made if one.number < row.version], ignore_conflicts=True)
    return True


def _version(places: Places, row: AgentFile, line: Record, moment: datetime) -> AgentFileVersion:
    return AgentFileVersion(
        owner_id=row.owner_id,
        file_id=row.pk,
        scope=row.scope,
        sealed_for=row.sealing_agent_id,
        number=count_of(line, "number", least=1),
        made_at=moment_of(line, "made_at", latest=moment),
        **_state(places, line),
    )


def _state(places: Places, line: Record) -> dict[str, Any]:
    """Read what a file was, checked as if somebody wrote it now."""
    content = limits.checked_text(line.get("content"), blank=True)
    if line.get("media_type") not in MediaType.values or line.get("change") not in FileChange.values:
        raise InvalidInput("The line does not say what sort of file it is.", code="archive.line", field="media_type")
    return {
        "path": checked_path(line.get("path")),
        "content": content,
        "media_type": line["media_type"],
        "size": len(content.encode()),
        "change": line["change"],
        "changed_by": _author(places, line.get("changed_by")),
        "language_model": checked_language_model(line.get("language_model")),
        "injection_kinds": list(injection.scan(content)),
    }


def _author(places: Places, value: Any) -> str:
    """Say who has changed it: an agent under its id here, and nobody known where it is not here."""
    if isinstance(value, str) and value.startswith(AGENT):
        agent_id = places.agent(value.removeprefix(AGENT))
        return "unknown" if agent_id is None else f"{AGENT}{agent_id}"
    return value if isinstance(value, str) and value in ACTORS else "unknown"
