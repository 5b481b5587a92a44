"""A chat server that judges texts, and short ways to look at what a judgement leaves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import numpy as np
from django.test import override_settings

from memory.models import DueWork, Memory, MemoryVector, owner_scope
from memory.providers.composition import embedder, language_model
from memory.providers.language_model import ChatLanguageModel
from memory.services.actors import Actor
from memory.services.classifying import Looked, look
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.remember import remember
from memory.services.settings import change_settings
from tests.contract.providers.loopback_server import Received
from tests.unit.consolidation.chat import Chat, Says, chatting

NOTHING: Says = {"has_pii": False, "types": [], "confidence": 0.95, "phrases": []}


def verdict(*types: str, confidence: float = 0.9, phrases: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"has_pii": True, "types": list(types), "confidence": confidence, "phrases": list(phrases)}


def shown_in(request: Received) -> str:
    """Give the text that a request shows."""
    parts: list[str] = json.loads(request.body["messages"][1]["content"])
    return "\n".join(parts)


@contextmanager
def judging(answers: Mapping[str, Says] | Callable[[Received], Says]) -> Iterator[Chat]:
    """Let a chat server be the installation's language model; it answers by a word that the text holds."""

    def answer(request: Received) -> Says:
        if callable(answers):
            return answers(request)
        return next((said for word, said in answers.items() if word in shown_in(request)), NOTHING)

    with chatting(answer) as chat, override_settings(LLM_BASE_URL=chat.server.address, LLM_MODEL="m"):
        model = language_model()
        assert isinstance(model, ChatLanguageModel)
        try:
            yield chat
        finally:
            model.close()


def state(owner: Actor, text: str, **fields: Any) -> UUID:
    return remember(actor=owner, draft=Draft(text=text, **fields)).memory_id


def wish(owner: Actor, which: str) -> None:
    """Choose the setting, and take away what it has called for."""
    change_settings(actor=owner, changes={"privacy_model": which})
    DueWork.objects.filter(owner_id=owner.owner_id).delete()


def looked(owner: Actor, chat: Chat, *, rest: bool = True) -> Looked:
    return look(owner_id=owner.owner_id, model=chat.model, at=now(), rest=rest)


def stored(owner: Actor, memory_id: UUID) -> Memory:
    with owner_scope(owner.owner_id):
        row: Memory = Memory.objects.get(pk=memory_id)
        _ = row.text, row.speaker
        return row


def kinds(owner: Actor, memory_id: UUID) -> tuple[list[str], int, bool]:
    """Give kinds and tier, and whether the text was judged."""
    row = stored(owner, memory_id)
    return row.pii_kinds, row.pii_tier, row.classified_at is not None


def stands_for(owner: Actor, memory_id: UUID, text: str) -> bool:
    """Tell whether the stored vector is that of a text."""
    with owner_scope(owner.owner_id):
        vector = MemoryVector.objects.filter(memory_id=memory_id).values_list("vec", flat=True).first()
    return vector is not None and np.allclose(np.asarray(vector), embedder().embed([text])[0], atol=2e-3)


def called(owner: Actor) -> bool:
    return bool(DueWork.objects.filter(owner_id=owner.owner_id, job=DueWork.CLASSIFY).exists())
