"""What an import brings and is here already: by its id, by its place in a conversation, or by its words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.crypto.keyring import OwnerRing, keyring
from memory.errors import InvalidInput
from memory.models import Memory, Status, owner_scope
from memory.services.actors import Actor, Target
from memory.services.drafts import content_hash
from memory.services.turns import TurnDraft
from memory.text import limits

HERE: Final = (Status.LIVE, Status.SUPERSEDED, Status.ARCHIVED)
COLUMNS: Final = (
    "pk", "content_hash", "status", "scope", "session__agent_id", "session__label_hash", "position", "role",
    "occurred_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """An item of an import. `turn` and `session` are those of a turn; `status` is what it was where it came from."""

    id: Any
    text: Any
    status: str
    turn: TurnDraft | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class _Row:
    """A memory that is here; `label` is the hash of its conversation's name, None for a statement."""

    pk: UUID
    content_hash: bytes
    status: str
    scope: UUID
    agent_id: UUID | None
    label: int | None
    position: int | None
    role: str
    occurred_at: datetime


def known_memories(*, actor: Actor, target: Target, items: Mapping[int, Brought], own: bool) -> dict[int, UUID]:
    """Find the memories that items of an import are already, of those that the importer may read.

    An item is the memory of its id if that says the same. Else a turn is the one of the same text, role and position
    that was said at the same time or in a conversation of the same name, whichever agent's. A statement is the one of
    the same words that was put away here since, or was put away where it comes from too. In another format, which has
    no turns, any memory of the same words that the import's readers have is the same.

    Left out are live statements of the import's scope and turns of the importer's own conversation of that name: they
    are reinforced and linked where they are stored.

    Args:
        actor: who imports.
        target: where the import goes.
        items: by their places.
        own: whether they are of our own format.
    """
    ring = keyring().of(actor.owner_id)
    hashes = {index: content_hash(one.text, ring=ring) for index, one in items.items() if _hashable(one.text)}
    search = _Search(actor, target, ring, own, _rows(actor, set(hashes.values())))
    by_id = {index: pk for index, digest in hashes.items() if (pk := search.of_id(items[index], digest)) is not None}
    search.taken.update(by_id.values())
    found = dict(by_id)
    for index, digest in hashes.items():
        if index not in by_id and (pk := search.of_words(items[index], digest)) is not None:
            search.taken.add(pk)
            found[index] = pk
    return found


def _hashable(text: Any) -> bool:
    return isinstance(text, str) and not any("\ud800" <= character <= "\udfff" for character in text)


def _rows(actor: Actor, hashes: set[bytes]) -> Mapping[bytes, Sequence[_Row]]:
    found: dict[bytes, list[_Row]] = defaultdict(list)
    with owner_scope(actor.owner_id):
        rows = Memory.objects.filter(status__in=HERE, content_hash__in=list(hashes))
        if actor.readable is not None:
            rows = rows.filter(scope__in=actor.readable)
        for pk, digest, *others in rows.order_by("pk").values_list(*COLUMNS):
            found[bytes(digest)].append(_Row(pk, bytes(digest), *others))
    return found


@dataclass(slots=True)
class _Search:
    """A search among the memories that say the same as some item; what is `taken` is no other turn as well."""

    actor: Actor
    target: Target
    ring: OwnerRing
    own: bool
    rows: Mapping[bytes, Sequence[_Row]]
    taken: set[UUID] = field(default_factory=set)

    def of_id(self, item: Brought, digest: bytes) -> UUID | None:
        """Give the memory of an item's id that says the same."""
        row = next((row for row in self.rows.get(digest, ()) if str(row.pk) == item.id), None)
        return None if row is None or self._linked_later(item, row) else row.pk

    def of_words(self, item: Brought, digest: bytes) -> UUID | None:
        """Give a memory of the same words that an item is."""
        if item.status == Status.SUPERSEDED:
            return None
        rows = self.rows.get(digest, ())
        if item.turn is not None:
            return self._turn(item, item.turn, [row for row in rows if row.pk not in self.taken])
        return self._statement(item, rows) if self.own else self._any(rows)

    def _turn(self, item: Brought, turn: TurnDraft, rows: Sequence[_Row]) -> UUID | None:
        label, said = self._label(item.session), _moment(turn.draft.occurred_at)
        place = (turn.position, turn.draft.role)
        here = [row for row in rows if row.label is not None and (row.position, row.role) == place]
        same = [row for row in here if row.label == label] or [row for row in here if row.occurred_at == said]
        return same[0].pk if same and not any(self._linked_later(item, row) for row in same) else None

    def _statement(self, item: Brought, rows: Sequence[_Row]) -> UUID | None:
        rows = [row for row in rows if row.label is None]
        if item.status == Status.ARCHIVED:
            archived = next((row.pk for row in rows if row.status == Status.ARCHIVED), None)
            if archived is not None:
                return archived
        return self._any([row for row in rows if row.scope == self.target.scope])

    def _any(self, rows: Sequence[_Row]) -> UUID | None:
        rows = [row for row in rows if row.scope in (self.target.scope, self.actor.owner_id)]
        if any(row.label is None and row.status == Status.LIVE and row.scope == self.target.scope for row in rows):
            return None
        return rows[0].pk if rows else None

    def _linked_later(self, item: Brought, row: _Row) -> bool:
        """Tell whether a turn stands in the conversation that the import would put it into."""
        return item.turn is not None and row.agent_id == self.actor.agent_id and row.label == self._label(item.session)

    def _label(self, session: str | None) -> int | None:
        return self.ring.name(session.strip()) if session is not None and _hashable(session) else None


def _moment(value: Any) -> datetime | None:
    with suppress(InvalidInput):
        return limits.checked_moment(value)
    return None
