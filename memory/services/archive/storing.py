"""Storing memories of an archive with all that recall finds them by, a page in one transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import F
from django.db.models.functions import Greatest

from memory.models import Memory, Session, Status, owner_scope
from memory.services.announcing import memories_changed
from memory.services.archive.items import Item
from memory.services.archive.outcome import ArchiveImported
from memory.services.archive.placing import Places
from memory.services.archive.restoring_history import Loose, store_hanging
from memory.services.clock import now
from memory.services.consolidation.triggers import note_stored
from memory.services.embedding import embed_texts
from memory.services.writing import Embedded, insert_rows, replace_labels


def store(
    items: Sequence[Item],
    places: Places,
    memories: dict[str, UUID],
    loose: Loose,
    result: ArchiveImported,
    *,
    same: bool,
) -> list[Item]:
    """Store memories that are not here, with what hangs on them.

    Args:
        items: memories.
        places: what the archive's agents and scopes are here.
        memories: what the ids of the archive are here; takes those that are stored.
        loose: references that cannot be set yet.
        result: counts.
        same: see `store_hanging`.

    Returns:
        Those that a constraint refused, since somebody has stored the same at this moment.
    """
    if not items:
        return []
    live = sorted((item for item in items if item.row.status == Status.LIVE), key=_order)
    resting = sorted((item for item in items if item.row.status != Status.LIVE), key=_order)
    texts = [item.ready.embeddable for item in live]
    embedded = embed_texts(texts, owner_id=places.actor.owner_id, agent_id=places.actor.agent_id) if live else None
    moment = now()
    with owner_scope(places.actor.owner_id):
        sessions = {item.row.session_id for item in items if item.row.session_id is not None}
        list(Session.objects.select_for_update().filter(pk__in=sessions).order_by("pk").values_list("pk"))
        stored = _insert_live(live, embedded, moment) | _insert_resting(resting)
        made = [item for item in items if item.row.pk in stored]
        memories.update((item.id, item.row.pk) for item in made)
        store_hanging(made, places, loose, result, same=same)
        loose.join(memories)
        _advance(made, moment)
        if any(item.row.extracted_at is None and item.row.status == Status.LIVE for item in made):
            note_stored(moment=moment)
    result.memories["created"] += len(made)
    return [item for item in items if item.row.pk not in stored]


def _order(item: Item) -> tuple[bool, str, int, bytes, str]:
    """Sort by the constraints' keys, so that two imports cannot wait for each other."""
    row = item.row
    return row.session_id is None, str(row.session_id), row.position or 0, bytes(row.content_hash), str(row.pk)


def _insert_live(items: Sequence[Item], embedded: Embedded | None, moment: datetime) -> set[UUID]:
    if not items:
        return set()
    return insert_rows([item.row for item in items], [item.ready for item in items], embedded=embedded, now=moment)


def _insert_resting(items: Sequence[Item]) -> set[UUID]:
    """Insert what no default recall finds, hence without postings and vectors."""
    if not items:
        return set()
    Memory.objects.bulk_create([item.row for item in items], ignore_conflicts=True)
    memories_changed()
    present = set(Memory.objects.filter(pk__in=[item.row.pk for item in items]).values_list("pk", flat=True))
    for item in items:
        if item.row.pk in present:
            replace_labels(item.row, item.ready.labels)
    return present


def _advance(items: Sequence[Item], moment: datetime) -> None:
    """Count the turns of sessions and move these on, no further than to the present."""
    turns: dict[UUID, list[Memory]] = defaultdict(list)
    for item in items:
        if item.row.session_id is not None:
            turns[item.row.session_id].append(item.row)
    for session_id in sorted(turns):
        rows = turns[session_id]
        Session.objects.filter(pk=session_id).update(
            turn_count=F("turn_count") + len(rows),
            next_position=Greatest(F("next_position"), max(row.position or 0 for row in rows) + 1),
            last_turn_at=Greatest(F("last_turn_at"), min(moment, max(row.occurred_at for row in rows))),
        )
