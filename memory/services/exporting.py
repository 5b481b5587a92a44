"""Export: our own format, with everything that an import can use, and the JSON format of Engram's page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.errors import InvalidInput
from memory.models import Memory, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit.bulk_reading import Reader
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.graph.exporting import graph_parts, readable_memories
from memory.services.opening import opened
from memory.services.sessions import own_sessions
from memory.services.skill_transfer import exported_skills

FORMAT: Final = "loci-export/2"
FORMER: Final = frozenset({"loci-export/1"})
"""Formats that an import takes besides: the first one had no graph."""

PAGE: Final = 500
BATCH: Final = 100
MOST_ITEMS: Final = 20_000
SEED_SOURCE: Final = "Loci — Memory Export"


def file_name(moment: datetime, *, form: str = "loci") -> str:
    """Name the file of an export by what it holds, everything or the words only, and by its day."""
    return f"loci-{'memories' if form == 'loci' else 'words'}-{moment:%Y-%m-%d}.json"


def export_stream(*, actor: Actor, form: str = "loci") -> Iterator[str]:
    """Give an export as pieces of one JSON document, oldest memory first, opened page by page.

    Args:
        actor: who exports; only what it may read is in the document.
        form: `loci` (everything that an import needs, the graph too) or `engram` (content, category, importance 1-10,
            created_at).

    Raises:
        PermissionRefused: one of `transfer` and `memory:read` is missing.
        InvalidInput: another form.
    """
    require_memory()
    for needed in (Permission.TRANSFER, Permission.READ):
        actor.require(needed)
    if form not in ("loci", "engram"):
        raise InvalidInput("form is loci or engram.", code="form.invalid", field="form")
    return _pieces(actor, form)


def _pieces(actor: Actor, form: str) -> Iterator[str]:
    describe = _own_item if form == "loci" else _engram_item
    with owner_scope(actor.owner_id):
        total = readable_memories(actor).count()
        labels = _told_apart({row.pk: row.label for row in own_sessions(actor).order_by("pk")})
        # Before the first piece goes out; how far the caller reads, nobody knows.
        record(actor=actor.label, verb="export", object_kind="memories", reason=form, count=total, at=now())
    head: dict[str, Any] = {"exportedAt": _moment(now()), "source": SEED_SOURCE, "totalMemories": total}
    if form == "loci":
        head = {"format": FORMAT, **head}
    yield json.dumps(head, ensure_ascii=False)[:-1] + ', "memories": ['
    last: UUID | None = None
    first, reader = True, Reader(actor)
    while True:
        with owner_scope(actor.owner_id):
            rows = readable_memories(actor).order_by("pk")
            page = opened(list((rows.filter(pk__gt=last) if last else rows)[:PAGE]))
            names = Names(labels, _positions(page))
            texts = [json.dumps(describe(row, names), ensure_ascii=False) for row in page]
        if not page:
            break
        for row in page:
            reader.read(row.pk)
        reader.finish()
        yield ("" if first else ",") + ",".join(texts)
        last, first = page[-1].pk, False
    yield "]"
    if form == "loci":
        yield from _graph_pieces(actor)
    yield "}"


def _told_apart(labels: Mapping[UUID, str]) -> dict[UUID, str]:
    """Number conversations of one name, as two agents may have them: an import would take them as one."""
    names: dict[UUID, str] = {}
    borne, given = set(labels.values()), set[str]()
    for session_id, label in labels.items():
        name, number = label, 1
        while name in (given if number == 1 else borne):
            number += 1
            name = f"{label} ({number})"
        borne.add(name)
        given.add(name)
        names[session_id] = name
    return names


def _graph_pieces(actor: Actor) -> Iterator[str]:
    for name, items in (*graph_parts(actor), ("skills", exported_skills(actor))):
        yield f', "{name}": ['
        for place, item in enumerate(items):
            yield ("," if place else "") + json.dumps(item, ensure_ascii=False)
        yield "]"


@dataclass(frozen=True, slots=True)
class Names:
    """What rows refer to by id, said so that an import understands it: sessions' names and turns' positions."""

    sessions: Mapping[UUID, str]
    positions: Mapping[UUID, int | None]


def _positions(page: list[Memory]) -> dict[UUID, int | None]:
    answered = [row.reply_to_id for row in page if row.reply_to_id]
    return dict(Memory.objects.filter(pk__in=answered).values_list("pk", "position"))


def _moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat().replace("+00:00", "Z")


def _own_item(row: Memory, names: Names) -> dict[str, Any]:
    moments = ("created_at", "occurred_at", "valid_from", "valid_until", "expires_at")
    item = {
        "id": str(row.pk),
        "content": row.text,
        "kind": row.kind,
        "tier": row.tier,
        "category": row.category,
        "summary_level": row.summary_level,
        "status": row.status,
        "importance": row.importance,
        "confidence": row.confidence,
        "tags": row.tags,
        "topics": row.topics,
        "source": row.source,
        "metadata": row.metadata,
        # Another agent's name for its conversation is not told; the turns still belong together.
        "session": names.sessions.get(row.session_id, str(row.session_id)) if row.session_id else None,
        "position": row.position,
        "reply_to": names.positions.get(row.reply_to_id) if row.reply_to_id else None,
        "role": row.role or None,
        "speaker": row.speaker,
        "tool_name": row.tool_name,
        "call_id": row.call_id,
        **{name: _moment(getattr(row, name)) for name in moments},
    }
    return {name: value for name, value in item.items() if value is not None}


def _engram_item(row: Memory, names: Names) -> dict[str, Any]:
    return {
        "id": str(row.pk),
        "content": row.text,
        "category": row.category,
        "importance": to_ten(row.importance),
        "created_at": _moment(row.created_at),
    }


def to_ten(importance: float) -> int:
    """Show an importance from 0 to 1 on the scale from 1 to 10."""
    return max(1, round(importance * 10))


def from_ten(value: float) -> float:
    """Read an importance on the scale from 1 to 10; 0, which older files hold, counts as 0."""
    return min(max(value / 10, 0.0), 1.0)
