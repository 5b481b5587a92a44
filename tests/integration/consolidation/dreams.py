"""A model for the sleep pass that answers each step as a test says, and short ways to run the pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from memory.ids import new_id
from memory.models import EntityMention, LabelKind, Memory, MemoryEdge, MemoryLabel, owner_scope
from memory.ports import ChatMessage, Completion, Extract, Extractor, LanguageModel, Passage
from memory.services.actors import UNSET, Actor, system
from memory.services.consolidation import connections, described, insight
from memory.services.consolidation.sleep import sleep_over
from memory.services.consolidation.stages import StageContext, StageReport
from memory.services.drafts import Draft
from memory.services.remember import remember
from memory.services.settings_table import OWNER_SETTINGS
from tests.contract.providers.loopback_server import Received
from tests.unit.consolidation.chat import Chat, Says, chatting

STEPS = {
    "metadata": described.INSTRUCTION[:60],
    "connections": connections.INSTRUCTION[:90],
    "insight": insight.INSTRUCTION[:90],
}
THREE = ("The roof waits for slates.", "Oslo Slate delivers late.", "The cellar floor waits for slates.")
INSIGHT = "The supplier's delay threatens both the roof and the cellar."


class Silent:
    """An extractor that finds nothing."""

    name = "none"
    prompts = False

    def extract(self, passages: Sequence[Passage]) -> Extract:
        return Extract()


class Outside:
    """A model that must not be asked inside a transaction, and does what a test wants before it is."""

    def __init__(self, model: LanguageModel, before: Callable[[], object] | None = None) -> None:
        self._model = model
        self._before = before

    def complete(self, messages: Sequence[ChatMessage], **options: Any) -> Completion:
        assert not connection.in_atomic_block, "the model was asked inside a transaction"
        if self._before is not None:
            self._before()
        return self._model.complete(messages, **options)


def step_of(request: Received) -> str:
    """Name the step that a request belongs to."""
    system_text = request.body["messages"][0]["content"]
    (found,) = [name for name, beginning in STEPS.items() if system_text.startswith(beginning)]
    return found


@contextmanager
def dreaming(**answers: Says) -> Iterator[Chat]:
    """Serve an answer for each step; what is left out is answered with nothing."""
    nothing: dict[str, Says] = {"metadata": {"memories": []}, "connections": {"connections": []}, "insight": "NONE"}
    with chatting(lambda request: {**nothing, **answers}[step_of(request)]) as chat:
        yield chat


def told_of(number: int, *topics: str, **entities: str) -> dict[str, Any]:
    return {
        "id": number,
        "topics": list(topics),
        "entities": [{"name": name.replace("_", " "), "type": type_} for name, type_ in entities.items()],
    }


def link(source: Any, target: Any, relationship: Any = "waits for the same supplier", kind: Any = "related_to") -> Any:
    return {"from": source, "to": target, "kind": kind, "relationship": relationship}


def links(*given: Any) -> dict[str, Any]:
    return {"connections": list(given)}


def sleep(
    owner: Actor,
    at: datetime,
    *,
    model: LanguageModel | None = None,
    local: bool = True,
    extractor: Extractor | None = None,
    again_before: datetime | None = None,
    **settings: Any,
) -> tuple[StageReport, StageReport, StageContext]:
    """Run a pass as a run would; gives both reports and the context, which holds what was spent."""
    values = {name: one.default for name, one in OWNER_SETTINGS.items()} | settings
    context = StageContext(
        actor=system(owner.owner_id),
        run_id=new_id(),
        moment=at,
        settings=values,
        extractor=extractor or Silent(),
        model=model,
        local=local,
    )
    report, rerating = sleep_over(context, again_before=again_before)
    return report, rerating, context


def store(owner: Actor, *texts: str, scope: Any = UNSET, **fields: Any) -> list[UUID]:
    """Remember statements, the newest last; a prompt numbers them from the newest."""
    return [remember(actor=owner, draft=Draft(text=text, **fields), scope=scope).memory_id for text in texts]


def row(owner: Actor, memory_id: UUID) -> Memory:
    """Load a memory with its texts opened."""
    with owner_scope(owner.owner_id):
        found: Memory = Memory.objects.get(pk=memory_id)
        _ = found.text, found.topics, found.source
        return found


def edges(owner: Actor) -> list[tuple[UUID, UUID, str, str | None, UUID | None]]:
    """List the links that the pass made between memories, without those of the insight itself."""
    with owner_scope(owner.owner_id):
        rows = MemoryEdge.objects.exclude(kind="derived_from").order_by("source_id", "target_id", "kind")
        return [(one.source_id, one.target_id, one.kind, one.relationship, one.insight_id) for one in rows]


def unslept(owner: Actor) -> int:
    """Count the memories that no pass has looked at."""
    with owner_scope(owner.owner_id):
        return int(Memory.objects.filter(slept_at=None).count())


def entities_of(owner: Actor, memory_id: UUID) -> set[str]:
    """Give the names of the entities that a memory speaks of."""
    with owner_scope(owner.owner_id):
        return {one.entity.name for one in EntityMention.objects.filter(memory_id=memory_id).select_related("entity")}


def topic_labels(owner: Actor, memory_id: UUID) -> int:
    """Count the topics by which a memory can be filtered."""
    with owner_scope(owner.owner_id):
        return int(MemoryLabel.objects.filter(memory_id=memory_id, kind=LabelKind.TOPIC).count())
