"""The memories of an archive: stored as they were, with their moments, their history and their sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from memory.crypto.keyring import keyring
from memory.errors import InvalidInput, LociError
from memory.models import Memory, Status, Visibility
from memory.privacy import meaning
from memory.services.archive import limits
from memory.services.archive.following import Following
from memory.services.archive.items import Item, Standing
from memory.services.archive.outcome import ArchiveImported, Mode, Progress
from memory.services.archive.placing import Place, Places
from memory.services.archive.reading import Archive, Record
from memory.services.archive.restoring_history import HANGING, Loose
from memory.services.archive.storing import store
from memory.services.archive.values import count_of, moment_of, optional_moment, word_of
from memory.services.clock import now
from memory.services.drafts import Draft, Ready, make_ready
from memory.services.graph.writing import checked_unit
from memory.services.retirement import restore_memory
from memory.services.writing import build_row

PAGE: Final = 100
KEPT: Final = frozenset({Status.LIVE, Status.SUPERSEDED, Status.ARCHIVED})


@dataclass(slots=True)
class Restoring:
    """An import of memories under way.

    Attributes:
        places: what the archive's agents, groups and scopes are here.
        sessions: what its sessions are here.
        mode: what comes back of what is known here.
        known: whether this owner made the archive in this database, so that what is not here was erased since.
        result: what became of it.
        memories: what the archive's memories are here.
        loose: references that cannot be set yet.
    """

    places: Places
    sessions: Mapping[str, UUID]
    mode: Mode
    known: bool
    result: ArchiveImported
    memories: dict[str, UUID] = field(default_factory=dict)
    loose: Loose = field(default_factory=Loose)


def take_memories(under_way: Restoring, archive: Archive, progress: Progress) -> None:
    """Store the memories of an archive that are not here, a hundred at a time, each hundred in one transaction.

    What counts as being here: a memory with the same id (where this owner made the archive), a turn at the same place
    of the same session, a live statement of the same words in the same scope, or one that was stored at the same moment
    and says the same. It is left as it is.
    """
    files = {part: Following(archive, part, "memory_id", under_way.result) for part in HANGING}
    total, done = archive.manifest.rows("memories"), 0
    for page in archive.pages("memories", PAGE):
        _take_page(under_way, page, files)
        done += len(page)
        progress("memories", done, total)
    for following in files.values():
        following.finish()
    under_way.loose.finish(under_way.places.actor, under_way.memories)


def _take_page(under_way: Restoring, page: Sequence[tuple[int, Record]], files: Mapping[str, Following]) -> None:
    items: list[Item] = []
    for index, line in page:
        key = line.get("id")
        hanging = {part: one.of(key) for part, one in files.items()} if isinstance(key, str) else {}
        try:
            item = _item(under_way, index, line, hanging)
        except LociError as error:
            under_way.result.refuse("memories", index, error)
            continue
        if item is not None:
            items.append(item)
        if sum(one.held for one in files.values()) >= limits.MOST_PAGE_BYTES:
            # Much hangs on these few.
            _settle(under_way, items, files)
            items = []
    _settle(under_way, items, files)


def _settle(under_way: Restoring, items: Sequence[Item], files: Mapping[str, Following]) -> None:
    """Store the memories that are not here, and let go of what hangs on all of them."""
    for one in files.values():
        one.held = 0
    fresh = _met(under_way, items)
    if under_way.known and under_way.mode is Mode.MISSING:
        under_way.result.memories["erased_since"] += len(fresh)
        return
    again = store(fresh, under_way.places, under_way.memories, under_way.loose, under_way.result, same=under_way.known)
    under_way.result.leave("memories", len(_met(under_way, again)))


def _met(under_way: Restoring, items: Sequence[Item]) -> list[Item]:
    """Settle the memories that are here and give the others."""
    standing = Standing.of(under_way.places.actor, items)
    fresh = []
    for item in items:
        try:
            here = standing.find(item)
            if here is None:
                fresh.append(item)
            else:
                _meet(under_way, item, *here)
        except LociError as error:
            under_way.result.refuse("memories", item.index, error)
    return fresh


def _meet(under_way: Restoring, item: Item, memory_id: UUID, status: str) -> None:
    """Note what a memory is here, and bring it back from the archive where that was asked for."""
    under_way.memories[item.id] = memory_id
    resting = status in (Status.ARCHIVED, Status.ERASING)
    if under_way.mode is Mode.ALL and resting and item.row.status != Status.ARCHIVED:
        restore_memory(actor=under_way.places.actor, memory_id=memory_id)
        under_way.result.memories["restored"] += 1
    else:
        under_way.result.memories["existing"] += 1


def _item(under_way: Restoring, index: int, line: Record, hanging: dict[str, list[Record]]) -> Item | None:
    """Check one line; None for what is not taken over, which is counted."""
    status, session = line.get("status"), line.get("session_id")
    if status == Status.ERASING:
        under_way.result.memories["erasing"] += 1
        return None
    if not _is_id(line.get("id")) or not isinstance(status, str) or status not in KEPT:
        raise InvalidInput("A memory has no id, or an unknown status.", code="import.item")
    places = under_way.places
    agent_id = places.agent(line.get("agent_id"))
    place = places.place(line.get("scope"), line.get("visibility"), agent_id)
    if place is None or (session is not None and not (isinstance(session, str) and session in under_way.sessions)):
        under_way.result.leave("memories")
        return None
    if place.target.visibility == Visibility.AGENT:
        agent_id = place.target.scope
    ready = make_ready(_draft(line), ring=keyring().of(places.actor.owner_id))
    by_meaning = _by_meaning(line)
    ready.pii_kinds = sorted({*ready.pii_kinds, *by_meaning})
    ready.pii_tier = int(max(ready.pii_tier, meaning.tier_of(by_meaning)))
    row = _row(under_way, line, ready, place, agent_id)
    if by_meaning:
        # Where in the text it stands is not in the archive; a model names the places anew.
        row.classified_at = None
    if hanging.get("claims") and not under_way.known:
        # What it claims is told by keyed numbers that mean nothing here; consolidation reads it anew.
        row.extracted_at = None
    return Item(index, line, ready, row, hanging)


def _by_meaning(line: Record) -> tuple[str, ...]:
    """Give the kinds of personal data that a model has found there, which no pattern finds here."""
    kinds = line.get("pii_kinds")
    return meaning.kinds_in(one for one in kinds if isinstance(one, str)) if isinstance(kinds, list) else ()


def _is_id(value: object) -> bool:
    try:
        return isinstance(value, str) and str(UUID(value)) == value
    except ValueError:
        return False


_FIELDS: Final = (
    "kind", "tier", "category", "summary_level", "importance", "confidence", "source", "metadata",
    "occurred_at", "valid_from", "valid_until", "expires_at", "role", "speaker", "tool_name", "call_id",
)  # fmt: skip


def _draft(line: Record) -> Draft:
    values = {name: line[name] for name in _FIELDS if line.get(name) is not None}
    return Draft(text=line.get("text"), tags=line.get("tags") or (), topics=line.get("topics") or (), **values)


def _row(under_way: Restoring, line: Record, ready: Ready, place: Place, agent_id: UUID | None) -> Memory:
    """Make the unsaved row, with everything that only an archive can say of it."""
    moment, session = now(), line.get("session_id")
    if session is not None:
        ready.position = count_of(line, "position")
    row = build_row(
        ready,
        actor=under_way.places.actor,
        target=place.target,
        now=moment,
        session_id=None if session is None else under_way.sessions[session],
    )
    row.agent_id = agent_id
    row.salience = checked_unit(line.get("salience", row.salience), field="salience")
    for name in ("created_at", "updated_at", "recorded_at"):
        setattr(row, name, moment_of(line, name, latest=moment))
    for name in ("retracted_at", "archived_at", "extracted_at", "slept_at", "classified_at"):
        setattr(row, name, optional_moment(line, name, latest=moment))
    row.occurred_at = ready.moments["occurred_at"] or row.created_at
    row.version = count_of(line, "version", least=1)
    row.status = line["status"]
    if row.status == Status.LIVE:
        row.archived_at, row.archive_reason = None, ""
    else:
        row.archived_at = row.archived_at or moment
        row.archive_reason = word_of(line.get("archive_reason"), otherwise="imported")
    return row
