"""Looking at what an agent would be given: the block that it gets for a prompt, and what of it was left out and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from memory.errors import NotFound, PermissionRefused
from memory.models import Agent, AgentGroup, GroupMembership, owner_scope
from memory.recall.gate import Verdict
from memory.services.actors import Actor, Permission
from memory.services.audit.reading import recorded_otherwise
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.context import CHARACTERS_A_TOKEN, ContextBlock, build_context, lines_of, tokens_of
from memory.services.features import require_memory
from memory.services.questions import RecallRequest
from memory.services.recall import MAX_LIMIT, Hit, recall

# Memories beyond those asked for that are named with the reason why they were left out.
BEYOND: Final = 10
REASON: Final = "as_agent"


class Fate(StrEnum):
    """What became of a memory that was found."""

    WRITTEN = "written"
    BUDGET = "budget"
    THRESHOLD = "threshold"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class Seen:
    """A memory that was found, in order: what became of it, and its line, which one left out by recall has not."""

    hit: Hit
    fate: Fate
    text: str = ""
    tokens: int = 0
    cleaned: bool = False
    shortened: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """What an agent would get: the block, the memories in order, and the budget in tokens.

    `paused` tells that its keys do not work at present; None of an agent stands for the person.
    """

    block: ContextBlock
    seen: Sequence[Seen]
    budget: int
    paused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LookRequest:
    """What is asked, as `build_context` takes it; `beyond` names memories that recall left out too."""

    prompt: Any
    profile: str | None = None
    form: str | None = None
    max_tokens: int | None = None
    context_window: int | None = None
    cleaning: str | None = None
    beyond: bool = False


def look_as(*, actor: Actor, agent_id: UUID | None, request: LookRequest) -> Look:
    """Build the context block that an agent would get, by the very service that answers it.

    The agent reads nothing: no use is counted, no explanation is kept, and the audit says that a person looked.

    Args:
        actor: a person or an operator.
        agent_id: as which agent; the person's own view of everything when None.
        request: what the agent would ask.

    Raises:
        PermissionRefused: `auth.person_only`, an agent asks.
        NotFound: no such agent or profile.
        InvalidInput: as `build_context`.
    """
    require_memory()
    actor.require(Permission.READ)
    if not actor.human:
        raise PermissionRefused("Only a person looks at what an agent sees.", code="auth.person_only")
    with owner_scope(actor.owner_id):
        asking, paused = (actor, False) if agent_id is None else _as_agent(actor, agent_id)
        record(actor=actor.label, verb="look", object_kind="context", object_id=agent_id, reason=REASON, at=now())
    asked = RecallRequest(query=request.prompt, profile=request.profile, reinforce=False, record=False)
    with recorded_otherwise():
        block = build_context(
            actor=asking,
            request=asked,
            form=request.form,
            max_tokens=request.max_tokens,
            context_window=request.context_window,
            cleaning=request.cleaning,
        )
        seen = _written(block)
        if request.beyond and block.recalled.gate == Verdict.RECALL:
            seen += _left_out(asking, asked, block)
    return Look(block, seen, block.shape.characters // CHARACTERS_A_TOKEN, paused)


def _as_agent(actor: Actor, agent_id: UUID) -> tuple[Actor, bool]:
    """Make an actor that reads what an agent may read, and nothing else; and tell whether the agent is paused."""
    agent = Agent.objects.filter(pk=agent_id).first()
    if agent is None:
        raise NotFound("There is no agent with this id here.")
    joined = GroupMembership.objects.filter(agent_id=agent_id).values("group_id")
    groups = dict(AgentGroup.objects.filter(pk__in=joined).values_list("pk", "kind"))
    reader = Actor(
        owner_id=actor.owner_id,
        kind="agent",
        agent_id=agent_id,
        permissions=frozenset({Permission.READ}),
        groups=groups,
        via=actor.via,
    )
    return reader, agent.paused_at is not None


def _written(block: ContextBlock) -> list[Seen]:
    """Say of each hit whether its line stands in the block."""
    places = set(block.memory_ids)
    return [
        Seen(
            hit=line.hit,
            fate=Fate.WRITTEN if line.hit.memory.pk in places else Fate.BUDGET,
            text=line.text,
            tokens=tokens_of(line.text + "\n"),
            cleaned=line.cleaned,
            shortened=line.shortened,
        )
        for line in lines_of(block.recalled, block.shape)
    ]


def _left_out(asking: Actor, asked: RecallRequest, block: ContextBlock) -> list[Seen]:
    """Find the next memories that recall itself left out, and say whether the threshold or the limit did that."""
    shape = block.shape
    wider = replace(asked, sort="context", limit=min(shape.limit + BEYOND, MAX_LIMIT), threshold=0.0)
    shown = {hit.memory.pk for hit in block.recalled.hits}
    return [
        Seen(hit, Fate.THRESHOLD if hit.relevance < shape.threshold else Fate.LIMIT)
        for hit in recall(actor=asking, request=wider).hits
        if hit.memory.pk not in shown
    ]
