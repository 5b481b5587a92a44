"""Whose files: of one agent, or of all of an owner's agents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from memory.errors import InvalidScope, NotFound
from memory.models import Agent, AgentFile, owner_scope
from memory.models.tenancy import TenantQuerySet
from memory.services.actors import UNSET, Actor

FORM: Final = "owner, agent or agent:<id>"


@dataclass(frozen=True, slots=True)
class Whose:
    """The files of an agent, or of all agents where it is None."""

    owner_id: UUID
    agent_id: UUID | None

    @property
    def scope(self) -> UUID:
        """Give the id of who may read them."""
        return self.agent_id or self.owner_id


def whose_files(actor: Actor, scope: Any = UNSET) -> Whose:
    """Resolve whose files are meant.

    Args:
        actor: who asks.
        scope: `owner` for the files of all agents, `agent` for the asking agent's own, `agent:<id>`. Left out, an
            agent's own, and for a person those of all agents.

    Raises:
        InvalidScope: another word, or `agent` without an agent.
        NotFound: no such agent, or, to an agent, another one.
    """
    if scope is UNSET:
        return Whose(actor.owner_id, actor.agent_id)
    if scope == "owner":
        return Whose(actor.owner_id, None)
    if scope == "agent" and actor.agent_id is not None:
        return Whose(actor.owner_id, actor.agent_id)
    word, _, rest = scope.partition(":") if isinstance(scope, str) else ("", "", "")
    try:
        agent_id = UUID(rest) if word == "agent" else None
    except ValueError:
        agent_id = None
    if agent_id is None:
        raise InvalidScope(f"The scope of files is {FORM}.", field="scope")
    if actor.agent_id not in (None, agent_id):
        raise NotFound("There is no agent with this id here.")
    with owner_scope(actor.owner_id):
        if not Agent.objects.filter(pk=agent_id).exists():
            raise NotFound("There is no agent with this id here.")
    return Whose(actor.owner_id, agent_id)


def written_place(file: AgentFile) -> str:
    """Write whose file it is in the form that `whose_files` takes."""
    return f"agent:{file.agent_id}" if file.agent_id else "owner"


def visible_files(actor: Actor) -> TenantQuerySet[AgentFile]:
    """Give the files that an actor may see, within the owner's scope: an agent its own and those of all agents."""
    rows: TenantQuerySet[AgentFile] = AgentFile.objects.all()
    return rows if actor.agent_id is None else rows.filter(scope__in=(actor.owner_id, actor.agent_id))


def visible_file(actor: Actor, file_id: UUID, *, lock: bool = False) -> AgentFile:
    """Give one file, deleted ones too; raises NotFound where it is not there or hidden."""
    rows = visible_files(actor)
    found: AgentFile | None = (rows.select_for_update() if lock else rows).filter(pk=file_id).first()
    if found is None:
        raise NotFound("There is no file with this id here.")
    return found
