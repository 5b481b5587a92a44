"""Import: storing the memories of an export, of this product's format or of Engram's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from memory.errors import InvalidInput, LociError, TooLarge
from memory.models import Kind, Status, owner_scope
from memory.services.actors import UNSET, Actor, Permission, Target, write_target
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.exporting import FORMAT, FORMER, from_ten
from memory.services.features import require_memory
from memory.services.graph.importing import PARTS, import_graph, refuse_unusable
from memory.services.import_known import Brought, known_memories
from memory.services.remember import remember_many
from memory.services.retirement import archive_memory
from memory.services.skill_transfer import import_skills, refuse_unusable_skills
from memory.services.turns import TurnDraft, ingest_turns
from memory.text import limits

PAGE: Final = 500
BATCH: Final = 100
MOST_ITEMS: Final = 20_000
MOST_ERRORS: Final = 100


@dataclass(slots=True)
class Imported:
    """What became of an import's memories, of its graph by part, and of its skills.

    `errors` names the first 100 refused items by their part and their place in it, `further_errors` counts the others.
    """

    created: int = 0
    existing: int = 0
    skipped: int = 0
    graph: dict[str, dict[str, int]] = field(default_factory=dict)
    skills: dict[str, int] = field(default_factory=dict)
    errors: list[dict[str, Any]] = field(default_factory=list)
    further_errors: int = 0


@dataclass(slots=True)
class _Sorted:
    """The items of a document by how they are stored, each with its place in the file; and what they are here."""

    statements: list[tuple[int, Draft]] = field(default_factory=list)
    turns: dict[str, list[tuple[int, TurnDraft]]] = field(default_factory=dict)
    archived: set[int] = field(default_factory=set)
    superseded: set[int] = field(default_factory=set)
    brought: dict[int, Brought] = field(default_factory=dict)
    stored: dict[int, UUID] = field(default_factory=dict)


def import_document(*, actor: Actor, document: Any, scope: Any = UNSET) -> Imported:
    """Store the memories of an export, of this product's format or of Engram's.

    What is here already is counted as existing, see `known_memories`, and what was put away here since stays so; a live
    statement of the import's scope is reinforced, unless it is the very one that was exported. Archived ones are
    archived again, and superseded ones are skipped. Turns go back into sessions of the same names, with the turns that
    they answer. A bad item is reported and the others are stored. Ids, scopes and histories are never taken over, and
    the rows are new; the graph is joined to them, see `import_graph`, and skills get their numbers, see
    `import_skills`.

    Raises:
        InvalidInput: no such document, more than 20,000 memories, or a graph that cannot be used.
        TooLarge: `import.graph_size`, more than 20,000 items of a part of the graph; nothing was stored.
        PermissionRefused: one of the permissions `transfer` and `memory:write` is missing.
        InvalidScope, NotFound: the scope cannot be written; nothing was stored.
    """
    require_memory()
    actor.require(Permission.TRANSFER)
    actor.require(Permission.WRITE)
    target = write_target(actor, scope)
    items = _memories(document)
    form = document.get("format")
    own = isinstance(form, str) and form in {FORMAT, *FORMER}
    if "format" in document and not own:
        raise InvalidInput("The document's format is not known.", code="import.format")
    graph = {part: document[part] for part in PARTS if form == FORMAT and part in document}
    refuse_unusable(graph)
    skills = document.get("skills", []) if form == FORMAT else []
    refuse_unusable_skills(skills)
    with owner_scope(actor.owner_id):
        record(actor=actor.label, verb="import", object_kind="memories", count=len(items), at=now())
    result = Imported()
    found = _Sorted()
    for index, item in enumerate(items):
        try:
            _sort_item(item, index, own, found, result)
        except LociError as error:
            result.errors.append(_error(index, error))
    spoken = [index for placed in found.turns.values() for index, _ in placed]
    _recognise(actor, target, own, [*found.superseded, *spoken], found, result)
    # Archived ones last: what stands among the live ones too stays in use.
    found.statements.sort(key=lambda entry: entry[0] in found.archived)
    for start in range(0, len(found.statements), BATCH):
        part = found.statements[start : start + BATCH]
        _recognise(actor, target, own, [index for index, _ in part], found, result)
        _store_statements(actor, [entry for entry in part if entry[0] not in found.stored], scope, found, result)
    for session, placed in found.turns.items():
        _store_turns(actor, session, [entry for entry in placed if entry[0] not in found.stored], scope, found, result)
    result.errors.sort(key=lambda error: error["index"])
    local = [(items[index].get("id"), memory_id) for index, memory_id in found.stored.items()]
    memories = {known: memory_id for known, memory_id in local if isinstance(known, str)}
    if skills:
        taken = import_skills(actor=actor, items=skills, memories=memories, scope=scope)
        result.skills, result.errors = taken.counts, result.errors + taken.errors
    if graph:
        joined = import_graph(actor=actor, document=graph, memories=memories, scope=scope)
        result.graph, result.errors = joined.counts, result.errors + joined.errors
    result.further_errors = max(len(result.errors) - MOST_ERRORS, 0)
    result.errors = result.errors[:MOST_ERRORS]
    return result


def _memories(document: Any) -> list[Any]:
    items = document.get("memories") if isinstance(document, Mapping) else None
    if not isinstance(items, list):
        raise InvalidInput("The document has no list `memories`.", code="import.format")
    if len(items) > MOST_ITEMS:
        raise InvalidInput(f"An import holds at most {MOST_ITEMS} memories.", code="import.size")
    return items


def _recognise(
    actor: Actor, target: Target, own: bool, places: Iterable[int], found: _Sorted, result: Imported
) -> None:
    """Count those of some items that are here already, so that importing twice adds nothing."""
    brought = {index: found.brought[index] for index in places}
    known = known_memories(actor=actor, target=target, items=brought, own=own)
    found.stored |= known
    result.existing += len(known.keys() - found.superseded)


def _store_statements(
    actor: Actor, part: list[tuple[int, Draft]], scope: Any, found: _Sorted, result: Imported
) -> None:
    if not part:
        return
    for one in remember_many(actor=actor, drafts=[draft for _, draft in part], scope=scope):
        index, stored = part[one.index][0], one.stored
        _count(result, index, one.error, bool(stored and stored.created))
        if stored is not None:
            found.stored[index] = stored.memory_id
        if stored is not None and stored.created:
            _archive(actor, found, index, stored.memory_id)


def _store_turns(
    actor: Actor,
    session: str,
    placed: list[tuple[int, TurnDraft]],
    scope: Any,
    found: _Sorted,
    result: Imported,
) -> None:
    placed = _in_order(placed)
    for start in range(0, len(placed), PAGE):
        part = placed[start : start + PAGE]
        try:
            answer = ingest_turns(actor=actor, session=session, turns=[turn for _, turn in part], scope=scope)
        except (InvalidInput, TooLarge) as error:
            # The name of this one session cannot be used; the others are stored.
            result.errors += [_error(index, error) for index, _ in part]
            continue
        for turn in answer.turns:
            index = part[turn.index][0]
            _count(result, index, turn.error, turn.created)
            if turn.error is None and turn.memory_id is not None:
                found.stored[index] = turn.memory_id
            if turn.created and turn.memory_id is not None:
                _archive(actor, found, index, turn.memory_id)


def _in_order(placed: list[tuple[int, TurnDraft]]) -> list[tuple[int, TurnDraft]]:
    """Order a session's turns by position and drop references to turns that the file does not hold."""
    known = {_whole(turn.position) for _, turn in placed}

    def place(entry: tuple[int, TurnDraft]) -> tuple[bool, int, int]:
        position = _whole(entry[1].position)
        return (position is None, position or 0, entry[0])

    kept = [(index, turn if turn.reply_to in known else replace(turn, reply_to=None)) for index, turn in placed]
    return sorted(kept, key=place)


def _archive(actor: Actor, found: _Sorted, index: int, memory_id: UUID) -> None:
    """Archive what was archived where it came from.

    Nothing that stood here is taken away by that, so it needs no permission to delete.
    """
    if index in found.archived:
        importer = replace(actor, permissions=actor.permissions | {Permission.DELETE})
        archive_memory(actor=importer, memory_id=memory_id, reason="archived before import")


def _sort_item(item: Any, index: int, own: bool, found: _Sorted, result: Imported) -> None:
    if not isinstance(item, Mapping):
        raise InvalidInput("An item is not an object.", code="import.item")
    if item.get("status") == Status.SUPERSEDED:
        result.skipped += 1
        found.superseded.add(index)
        found.brought[index] = Brought(id=item.get("id"), text=item.get("content"), status=Status.SUPERSEDED)
        return
    archived = item.get("status") == Status.ARCHIVED
    draft = _at_rest(_draft(item, own)) if archived else _draft(item, own)
    turn, session = None, None
    if draft.kind != Kind.TURN:
        found.statements.append((index, draft))
    else:
        session = item.get("session")
        if not isinstance(session, str):
            raise InvalidInput("A turn names no session.", code="import.item")
        turn = TurnDraft(draft=draft, position=item.get("position"), reply_to=_whole(item.get("reply_to")))
        found.turns.setdefault(session, []).append((index, turn))
    if archived:
        found.archived.add(index)
    status = Status.ARCHIVED if archived else Status.LIVE
    found.brought[index] = Brought(id=item.get("id"), text=draft.text, status=status, turn=turn, session=session)


def _at_rest(draft: Draft) -> Draft:
    """Give an archived statement without an expiry that has passed, with which none can be stored."""
    with suppress(InvalidInput):
        if draft.expires_at is not None and limits.checked_moment(draft.expires_at) <= now():
            return replace(draft, expires_at=None)
    return draft


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


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
    return {"part": "memories", "index": index, "code": error.machine_code, "message": error.message}
