"""The conversations of an archive, made anew by the names that their agents know them by."""

from __future__ import annotations

from uuid import UUID

from memory.crypto.keyring import keyring
from memory.errors import LociError
from memory.models import Session, owner_scope
from memory.services.archive.outcome import ArchiveImported
from memory.services.archive.placing import Places
from memory.services.archive.reading import Archive, Record
from memory.services.archive.values import count_of, moment_of
from memory.services.clock import now
from memory.text import limits


def take_sessions(places: Places, archive: Archive, result: ArchiveImported) -> dict[str, UUID]:
    """Make the sessions of an archive that are not here and give what their ids are here.

    A session without its agent becomes the person's. Their turns count as they are stored, not as the archive says.
    """
    found: dict[str, UUID] = {}
    for index, line in enumerate(archive.lines("sessions")):
        try:
            session_id, created = _session(places, line)
        except LociError as error:
            result.refuse("sessions", index, error)
            continue
        result.sessions["created" if created else "existing"] += 1
        if isinstance(line.get("id"), str):
            found[line["id"]] = session_id
    return found


def _session(places: Places, line: Record) -> tuple[UUID, bool]:
    owner_id, moment = places.actor.owner_id, now()
    label = limits.checked_text(line.get("label"), field="label", max_bytes=800).strip()
    closed = line.get("closed_at")
    values = {
        "label": label,
        "started_at": moment_of(line, "started_at", latest=moment),
        "closed_at": None if closed is None else moment_of(line, "closed_at", latest=moment),
        "next_position": count_of(line, "next_position"),
        "summarised_until": count_of(line, "summarised_until"),
        "learned_until": count_of(line, "learned_until"),
    }
    with owner_scope(owner_id):
        row, created = Session.objects.get_or_create(
            owner_id=owner_id,
            agent_id=places.agent(line.get("agent_id")),
            label_hash=keyring().of(owner_id).name(label),
            defaults=values,
        )
    return row.pk, created
