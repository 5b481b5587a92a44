"""What cannot be written is said: the row is listed, the run counts it, and the others of its batch are stored."""

from __future__ import annotations

from typing import Any

import pytest

from memory.errors import Conflict
from memory.models import ExtractionFailure, Memory, owner_scope
from memory.services.actors import Actor
from memory.services.consolidation import facts
from tests.integration.consolidation.scripted import MAY, Everything, consolidate, texts_of
from tests.integration.consolidation.stage import say

pytestmark = pytest.mark.django_db

STORE = "memory.services.consolidation.knowledge.store"


def test_one_row_that_cannot_be_written(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    store = facts.store

    def refusing(context: Any, prepared: Any, rows: Any, *rest: Any) -> Any:
        if any(row.text == "This one is refused." for row in rows.values()):
            raise Conflict("It cannot be written.", code="graph.full")
        return store(context, prepared, rows, *rest)

    monkeypatch.setattr(STORE, refusing)
    _, (_, refused, _) = say(
        alice, "chat", *[("user", f"This one is {word}.") for word in ("stored", "refused", "kept")], at=MAY
    )
    reports, context = consolidate(alice, Everything())
    assert texts_of(alice) == ["This one is kept.", "This one is stored."]
    assert (context.totals.failed_writes, reports["extraction"].counts["failed_writes"]) == (1, 1)
    assert context.totals.rows_seen == 3
    with owner_scope(alice.owner_id):
        assert ExtractionFailure.objects.values_list("memory_id", "code").get() == (refused, "graph.full")
        assert Memory.objects.get(pk=refused).extracted_at is None
    monkeypatch.setattr(STORE, store)
    with owner_scope(alice.owner_id):
        again = ExtractionFailure.objects.get().next_at
    assert again is not None
    consolidate(alice, Everything(), at=again)
    assert "This one is refused." in texts_of(alice)
    with owner_scope(alice.owner_id):
        assert not ExtractionFailure.objects.exists()
