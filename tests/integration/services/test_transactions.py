"""No model and no network is asked while a transaction is open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from memory.providers import composition
from memory.providers.guarded_embedder import GuardedEmbedder
from memory.providers.stub_embedder import StubEmbedder
from memory.services.actors import Actor
from memory.services.changes import change_memory
from memory.services.context import build_context
from memory.services.drafts import Draft
from memory.services.importing import import_document
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.retirement import archive_memory, restore_memory
from memory.services.spaces import in_use


class Watchful(StubEmbedder):
    """Refuses to work inside a transaction of the calling thread."""

    calls = 0

    def embed(self, texts: Any) -> Any:
        assert not connection.in_atomic_block, "the model was asked inside a transaction"
        type(self).calls += 1
        return super().embed(texts)


@pytest.mark.django_db(transaction=True)
def test_the_embedder_is_asked_outside(make_owner: Callable[..., Actor], monkeypatch: pytest.MonkeyPatch) -> None:
    watchful = GuardedEmbedder(Watchful())
    for module in (composition, in_use):
        monkeypatch.setattr(module, "embedder", lambda: watchful)
    owner = make_owner("alice")
    memory_id = remember(actor=owner, draft=Draft(text="The kettle whistles.")).memory_id
    change_memory(actor=owner, memory_id=memory_id, changes={"text": "The kettle sings."})
    archive_memory(actor=owner, memory_id=memory_id)
    restore_memory(actor=owner, memory_id=memory_id)
    recall(actor=owner, request=RecallRequest(query="kettle"))
    build_context(actor=owner, request=RecallRequest(query="kettle"))
    import_document(actor=owner, document={"memories": [{"content": "one"}]})
    assert Watchful.calls == 6
