"""Export and import: our own lossless format, and the JSON format of Engram's page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.errors import InvalidInput, LociError, TooLarge
from memory.models import Kind, Memory, Status, owner_scope
from memory.services.actors import UNSET, Actor, Permission, write_target
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.features import require_memory
from memory.services.opening import opened
from memory.services.remember import remember_many
from memory.services.sessions import own_sessions
from memory.services.turns import TurnDraft, ingest_turns

FORMAT: Final = "loci-export/1"
PAGE: Final = 500
BATCH: Final = 100
MOST_ITEMS: Final = 20_000
SEED_SOURCE: Final = "Loci — Memory Export"


def file_name(moment: datetime) -> str:
    """Name the file of an export by its day."""
    return f"loci-memories-{moment:%Y-%m-%d}.json"


def export_stream(*, actor: Actor, form: str = "loci") -> Iterator[str]:
    """Give an export as pieces of one JSON document, oldest memory first, opened page by page.

    Args:
        actor: who exports; only what it may read is in the document.
        form: `loci` (everything that an import needs) or `engram` (content, category, importance 1-10, created_at).

    Raises:
        PermissionRefused: the permission `transfer` is missing.
        InvalidInput: another form.
    """
    require_memory()
    actor.require(Permission.TRANSFER)
    if form not in ("loci", "engram"):
        raise InvalidInput("form is loci or engram.", code="export.form", field="form")
    return _pieces(actor, form)


def _pieces(actor: Actor, form: str) -> Iterator[str]:
    describe = _own_item if form == "loci" else _engram_item
    with owner_scope(actor.owner_id):
        total = _readable(actor).count()
        labels = {row.pk: row.label for row in own_sessions(actor)}
    head: dict[str, Any] = {"exportedAt": now().isoformat(), "source": SEED_SOURCE, "totalMemories": total}
    if form == "loci":
        head = {"format": FORMAT, **head}
    yield json.dumps(head, ensure_ascii=False)[:-1] + ', "memories": ['
    last: UUID | None = None
    first = True
    while True:
        with owner_scope(actor.owner_id):
            rows = _readable(actor).order_by("pk")
            page = opened(list((rows.filter(pk__gt=last) if last else rows)[:PAGE]))
            texts = [json.dumps(describe(row, labels), ensure_ascii=False) for row in page]
        if not page:
            break
        yield ("" if first else ",") + ",".join(texts)
        last, first = page[-1].pk, False
    yield "]}"


def _readable(actor: Actor) -> Any:
    rows = Memory.objects.filter(status__in=(Status.LIVE, Status.SUPERSEDED, Status.ARCHIVED))
    return rows if actor.readable is None else rows.filter(scope__in=actor.readable)


def _own_item(row: Memory, sessions: Mapping[UUID, str]) -> dict[str, Any]:
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
        "session": sessions.get(row.session_id, str(row.session_id)) if row.session_id else None,
        "position": row.position,
        "role": row.role or None,
        "speaker": row.speaker,
        "tool_name": row.tool_name,
        "call_id": row.call_id,
        **{name: value.isoformat() if (value := getattr(row, name)) else None for name in moments},
    }
    return {name: value for name, value in item.items() if value is not None}


def _engram_item(row: Memory, sessions: Mapping[UUID, str]) -> dict[str, Any]:
    return {
        "id": str(row.pk),
        "content": row.text,
        "category": row.category,
        "importance": to_ten(row.importance),
        "created_at": row.created_at.isoformat(),
    }


def to_ten(importance: float) -> int:
    """Show an importance from 0 to 1 on the scale from 1 to 10."""
    return max(1, round(importance * 10))


def from_ten(value: float) -> float:
    """Read an importance on the scale from 1 to 10; 0, which older files hold, counts as 0."""
    return min(max(value / 10, 0.0), 1.0)


@dataclass(slots=True)
class Imported:
    """What became of an import's items; `errors` names each refused one by its place in the file."""

    created: int = 0
    existing: int = 0
    skipped: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list)


def import_document(*, actor: Actor, document: Any, scope: Any = UNSET) -> Imported:
    """Store the memories of an export, of this product's format or of Engram's.

    Statements that are here already are reinforced and counted as existing; archived ones are skipped. Turns go
    back into sessions of the same names. A bad item is reported and the others are stored. Ids are never taken over.

    Raises:
        InvalidInput: no such document, or more than 20,000 items.
        PermissionRefused: one of the permissions `transfer` and `memory:write` is missing.
        InvalidScope, NotFound: the scope cannot be written; nothing was stored.
    """
    require_memory()
    actor.require(Permission.TRANSFER)
    actor.require(Permission.WRITE)
    write_target(actor, scope)
    items = document.get("memories") if isinstance(document, Mapping) else None
    if not isinstance(items, list):
        raise InvalidInput("The document has no list `memories`.", code="import.format")
    if len(items) > MOST_ITEMS:
        raise InvalidInput(f"An import holds at most {MOST_ITEMS} memories.", code="import.size")
    own = document.get("format") == FORMAT
    if "format" in document and not own:
        raise InvalidInput("The document's format is not known.", code="import.format")
    result = Imported()
    statements: list[tuple[int, Draft]] = []
    turns: dict[str, list[tuple[int, TurnDraft]]] = {}
    for index, item in enumerate(items):
        try:
            _sort_item(item, index, own, statements, turns, result)
        except LociError as error:
            result.errors.append(_error(index, error))
    for start in range(0, len(statements), BATCH):
        part = statements[start : start + BATCH]
        for one in remember_many(actor=actor, drafts=[draft for _, draft in part], scope=scope):
            _count(result, part[one.index][0], one.error, one.stored.created if one.stored else False)
    for session, placed in turns.items():
        for start in range(0, len(placed), PAGE):
            part_of = placed[start : start + PAGE]
            try:
                answer = ingest_turns(actor=actor, session=session, turns=[turn for _, turn in part_of], scope=scope)
            except (InvalidInput, TooLarge) as error:
                # The name of this one session cannot be used; the others are stored.
                result.errors += [_error(index, error) for index, _ in part_of]
                continue
            for turn in answer.turns:
                _count(result, part_of[turn.index][0], turn.error, turn.created)
    result.errors.sort(key=lambda error: error["index"])
    return result


def _sort_item(
    item: Any,
    index: int,
    own: bool,
    statements: list[tuple[int, Draft]],
    turns: dict[str, list[tuple[int, TurnDraft]]],
    result: Imported,
) -> None:
    if not isinstance(item, Mapping):
        raise InvalidInput("An item is not an object.", code="import.item")
    if item.get("status") in (Status.ARCHIVED, Status.SUPERSEDED):
        result.skipped += 1
        return
    draft = _draft(item, own)
    if draft.kind != Kind.TURN:
        statements.append((index, draft))
        return
    session, position = item.get("session"), item.get("position")
    if not isinstance(session, str):
        raise InvalidInput("A turn names no session.", code="import.item")
    turns.setdefault(session, []).append((index, TurnDraft(draft=draft, position=position)))


_OWN_FIELDS: Final = (
    "kind", "tier", "category", "summary_level", "importance", "confidence", "tags", "topics", "source", "metadata",
    "occurred_at", "valid_from", "valid_until", "expires_at", "role", "speaker", "tool_name", "call_id",
)  # fmt: skip


def _draft(item: Mapping[str, Any], own: bool) -> Draft:
    if own:
        return Draft(
            text=item.get("content"), **{name: item[name] for name in _OWN_FIELDS if item.get(name) is not None}
        )
    importance = item.get("importance", 5)
    if isinstance(importance, bool) or not isinstance(importance, int | float) or not 0 <= importance <= 10:
        raise InvalidInput("importance is a number from 1 to 10.", code="importance.out_of_range")
    category = item.get("category")
    return Draft(
        text=item.get("content"),
        category=category if isinstance(category, str) else None,
        importance=from_ten(importance),
        occurred_at=item.get("created_at"),
    )


def _count(result: Imported, index: int, error: LociError | None, created: bool) -> None:
    if error is not None:
        result.errors.append(_error(index, error))
    elif created:
        result.created += 1
    else:
        result.existing += 1


def _error(index: int, error: LociError) -> dict[str, Any]:
    return {"index": index, "code": error.machine_code, "message": error.message}
