"""Where the rows of an archive go here: its agents and groups made anew by their names, its scopes as ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from memory.crypto.keyring import keyring
from memory.errors import InvalidInput, LociError
from memory.models import Agent, AgentGroup, GroupKind, GroupMembership, Visibility, owner_scope
from memory.services.actors import UNSET, Actor, Target, write_target, written_scope
from memory.services.agents import create_agent, create_group, set_membership
from memory.services.archive.outcome import ArchiveImported
from memory.services.archive.reading import Archive, Record
from memory.text import limits


@dataclass(frozen=True, slots=True)
class Place:
    """Where one row goes: who writes it, for whom, and how its scope is written for services that ask for it."""

    actor: Actor
    target: Target

    @property
    def scope(self) -> str:
        """Give the scope in its written form."""
        return written_scope(self.target.visibility, self.target.group_id)


@dataclass(slots=True)
class Places:
    """What the archive's agents, groups and scopes are here.

    A person's import gives every row the scope that it had. An agent's import puts everything into one scope that the
    agent may write, as its own.
    """

    actor: Actor
    only: Target | None = None
    agents: dict[str, UUID] = field(default_factory=dict)
    groups: dict[str, tuple[UUID, str]] = field(default_factory=dict)
    members: dict[UUID, dict[UUID, str]] = field(default_factory=dict)
    made: set[UUID] = field(default_factory=set)
    """Agents and groups that were not here before."""
    owner: str = ""

    def agent(self, value: Any) -> UUID | None:
        """Give what an agent of the archive is here; None for one that the archive does not hold."""
        if self.only is not None:
            return self.actor.agent_id
        return self.agents.get(value) if isinstance(value, str) else None

    def writer(self, agent_id: UUID | None) -> Actor:
        """Give the actor as which a row of an agent is written."""
        if self.only is not None or agent_id is None:
            return self.actor
        return replace(self.actor, kind="agent", agent_id=agent_id, groups=self.members.get(agent_id, {}))

    def place(self, scope: Any, visibility: Any, agent_id: UUID | None = None) -> Place | None:
        """Say where a row of a scope goes; None where its agent or group is not here.

        Args:
            scope: the id of its scope in the archive.
            visibility: what that is.
            agent_id: who stored it, here.
        """
        if self.only is not None:
            return Place(self.actor, self.only)
        if visibility == Visibility.OWNER and scope == self.owner:
            return Place(self.writer(agent_id), Target(Visibility.OWNER, self.actor.owner_id))
        if visibility == Visibility.AGENT and (private := self.agent(scope)) is not None:
            return Place(self.writer(private), Target(Visibility.AGENT, private))
        if visibility in (Visibility.SQUAD, Visibility.PROJECT) and isinstance(scope, str):
            group_id, kind = self.groups.get(scope, (None, ""))
            if group_id is not None and kind == visibility:
                return Place(self.writer(agent_id), Target(visibility, group_id, group_id))
        return None

    def scope(self, value: Any) -> UUID | None:
        """Give the id here of a scope of the archive, whatever it is; None where it is not here."""
        if self.only is not None:
            return self.only.scope
        if value == self.owner:
            return self.actor.owner_id
        if not isinstance(value, str):
            return None
        group = self.groups.get(value)
        return group[0] if group else self.agents.get(value)


def take_places(actor: Actor, archive: Archive, scope: Any, result: ArchiveImported) -> Places:
    """Make the agents and groups of an archive that are not here by name, without keys, and put agents in their groups.

    Who is in which group decides who reads what, so that it is left as it is between agents and groups that are here.

    Raises:
        InvalidScope, NotFound, PermissionRefused: the scope that an agent's import goes to cannot be written.
        InvalidInput: a person names a scope, although every row keeps its own.
    """
    if actor.agent_id is not None:
        for part in ("agents", "groups", "memberships"):
            result.leave(part, archive.manifest.rows(part))
        return Places(actor, only=write_target(actor, scope), owner=archive.manifest.owner)
    if scope is not UNSET:
        raise InvalidInput("A person's import keeps every row's own scope.", code="archive.scope", field="scope")
    places = Places(actor, owner=archive.manifest.owner)
    standing = _standing(actor)
    for index, line in enumerate(archive.lines("agents")):
        _take(line, index, "agents", places, standing, result)
    for index, line in enumerate(archive.lines("groups")):
        _take(line, index, "groups", places, standing, result)
    with owner_scope(actor.owner_id):
        joined = set(GroupMembership.objects.values_list("agent_id", "group_id"))
    for line in archive.lines("memberships"):
        _join(line, places, joined, result)
    return places


def _standing(actor: Actor) -> dict[tuple[str, int], UUID]:
    with owner_scope(actor.owner_id):
        agents = {("agents", hashed): pk for pk, hashed in Agent.objects.values_list("pk", "name_hash")}
        groups = AgentGroup.objects.values_list("pk", "kind", "name_hash")
        return {**agents, **{(kind, hashed): pk for pk, kind, hashed in groups}}


def _take(
    line: Record,
    index: int,
    part: str,
    places: Places,
    standing: Mapping[tuple[str, int], UUID],
    result: ArchiveImported,
) -> None:
    actor = places.actor
    try:
        name = limits.checked_text(line.get("name"), field="name", max_bytes=400).strip()
        kind = "agents" if part == "agents" else str(line.get("kind"))
        if part == "groups" and kind not in GroupKind.values:
            raise InvalidInput("kind is project or squad.", code="kind.invalid", field="kind")
        make: Callable[[], Agent | AgentGroup] = (
            (lambda: create_agent(actor=actor, name=name))
            if part == "agents"
            else (lambda: create_group(actor=actor, kind=kind, name=name))
        )
        found = standing.get((kind, keyring().of(actor.owner_id).name(name.casefold())))
        counts = result.agents if part == "agents" else result.groups
        counts["created" if found is None else "existing"] += 1
        here = make().pk if found is None else found
        if found is None:
            places.made.add(here)
        known = line.get("id")
        if not isinstance(known, str):
            return
        if part == "agents":
            places.agents[known] = here
        else:
            places.groups[known] = here, kind
    except LociError as error:
        result.refuse(part, index, error)


def _join(line: Record, places: Places, joined: Set[tuple[UUID, UUID]], result: ArchiveImported) -> None:
    """Put an agent into a group, unless both were here before.

    Whoever made the archive may name an agent and a group of ours, and would so let one read the other.
    """
    agent_id = places.agent(line.get("agent_id"))
    group_id, kind = places.groups.get(str(line.get("group_id")), (None, ""))
    if agent_id is None or group_id is None:
        result.leave("memberships")
        return
    if (agent_id, group_id) not in joined:
        if not {agent_id, group_id} & places.made:
            result.leave("memberships")
            return
        set_membership(actor=places.actor, group_id=group_id, agent_id=agent_id, member=True)
    places.members.setdefault(agent_id, {})[group_id] = kind
