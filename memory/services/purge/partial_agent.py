"""What goes with an agent besides its memories: keys, sessions, messages, reads, files, its own graph, what apps keep
of it, and its row.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from django.apps import apps
from django.db import models
from django.db.models import Q

from memory.models import (
    Agent,
    AgentFile,
    AgentKey,
    BusMessage,
    GroupMembership,
    IdempotencyRecord,
    LexPosting,
    Memory,
    MemoryRead,
    MemoryVector,
    RecallRecord,
    Session,
)
from memory.models.tenancy import OwnedRow, current_owner
from memory.ports.live import announce_access
from memory.services.purge.agent_parts import agent_parts
from memory.services.remains import close_answers

# What hangs on memories goes with them; the rest of what stands for one scope is the agent's own.
WITH_MEMORIES: Final = (Memory, MemoryVector, LexPosting)


def silence_agent(agent_id: UUID, *, at: datetime) -> dict[str, int]:
    """Take an agent's keys away and pause it, so that nothing more comes from it; gives what went by kind.

    Call it within the owner's scope.
    """
    keys = AgentKey.objects.filter(agent_id=agent_id).delete()[0]
    Agent.objects.filter(pk=agent_id, paused_at=None).update(paused_at=at)
    announce_access(current_owner())
    return {"keys": keys}


def erase_agent(agent_id: UUID) -> dict[str, int]:
    """Erase an agent whose memories are gone, with everything of its own; gives what went by kind.

    Call it within the owner's scope, after `take_turn`.
    """
    named = {agent_id}
    for rows in (
        BusMessage.objects.filter(of_agent(agent_id)),
        Session.objects.filter(agent_id=agent_id),
        AgentFile.objects.filter(agent_id=agent_id),
    ):
        named.update(rows.values_list("pk", flat=True))
    close_answers(named)
    gone = {
        "messages": BusMessage.objects.filter(of_agent(agent_id)).delete()[0],
        "reads": MemoryRead.objects.filter(reader=agent_id).delete()[0],
        "answers": IdempotencyRecord.objects.filter(caller=agent_id).delete()[0],
        "explanations": RecallRecord.objects.filter(caller=agent_id).delete()[0],
    }
    for part in agent_parts():
        gone[part.name] = part.erase(agent_id)
    for model in private_tables():
        gone[model._meta.db_table] = model.objects.filter(scope=agent_id).delete()[0]
    gone["sessions"] = Session.objects.filter(agent_id=agent_id).delete()[0]
    gone["memberships"] = GroupMembership.objects.filter(agent_id=agent_id).delete()[0]
    gone["keys"] = AgentKey.objects.filter(agent_id=agent_id).delete()[0]
    gone["agents"] = Agent.objects.filter(pk=agent_id).delete()[0]
    return gone


def of_agent(agent_id: UUID) -> Q:
    """Tell which messages of the bus go with an agent: what it published, and what was meant for it alone."""
    return Q(publisher_id=agent_id) | Q(scope=agent_id)


def private_tables() -> list[type[OwnedRow]]:
    """List the owned tables whose rows stand for one scope and are not part of a memory's row or indexes."""
    return [
        model
        for model in apps.get_models()
        if issubclass(model, OwnedRow)
        and model not in WITH_MEMORIES
        and any(isinstance(field, models.UUIDField) and field.name == "scope" for field in model._meta.concrete_fields)
    ]
