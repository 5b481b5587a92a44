"""Short ways to say what the tests of the graph say often."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from memory.services import clock
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.graph.entities import EntityDraft, merge_entity
from memory.services.graph.relations import AddedRelation, RelationDraft, add_relation
from memory.services.graph.writing import Reference
from memory.services.remember import remember
from tests.integration.graph.moments import FixedClock


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> FixedClock:
    """A clock that stands still until a test moves it."""
    fixed = FixedClock()
    monkeypatch.setattr(clock, "_clock", fixed)
    return fixed


def entity(actor: Actor, name: str, type_: str = "person", **options: Any) -> UUID:
    """Merge an entity and give its id."""
    passed = {key: options.pop(key) for key in ("scope", "memory_id") if key in options}
    return merge_entity(actor=actor, draft=EntityDraft(name=name, type=type_, **options), **passed).entity_id


def relate(actor: Actor, source: str | UUID, label: str, target: str | UUID, **options: Any) -> AddedRelation:
    """State a relation between two entities, by names or ids."""
    passed = {key: options.pop(key) for key in ("scope", "memory_id") if key in options}
    draft = RelationDraft(source=_named(source), label=label, target=_named(target), **options)
    return add_relation(actor=actor, draft=draft, **passed)


def memory(actor: Actor, text: str, **options: Any) -> UUID:
    """Remember a statement and give its id."""
    scope = {"scope": options.pop("scope")} if "scope" in options else {}
    return remember(actor=actor, draft=Draft(text=text, **options), **scope).memory_id


def _named(end: str | UUID) -> Reference:
    return Reference(entity_id=end) if isinstance(end, UUID) else Reference(name=end)
