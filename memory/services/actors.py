"""Who asks: an agent with its key, a person, an operator, or the system itself; and what it may read and write."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from memory.errors import InvalidScope, NotFound, PermissionRefused
from memory.models import AgentGroup, GroupKind, Visibility, owner_scope


class Permission(StrEnum):
    """What a key may be allowed to do."""

    READ = "memory:read"
    WRITE = "memory:write"
    DELETE = "memory:delete"
    SETTINGS = "settings:write"
    TRANSFER = "transfer"
    AGENTS = "agents:manage"
    REVIEW = "review:decide"
    PRIVACY = "privacy:manage"
    FILES_READ = "files:read"
    FILES_WRITE = "files:write"
    TELEMETRY_READ = "telemetry:read"
    TELEMETRY_WRITE = "telemetry:write"


ALL_PERMISSIONS: Final = frozenset(Permission)
# What a file says steers whoever reads it, so that an agent may change its files only where its key says so.
AGENT_DEFAULT: Final = frozenset(
    {Permission.READ, Permission.WRITE, Permission.DELETE, Permission.FILES_READ, Permission.TELEMETRY_WRITE}
)


# Who is no agent and decides for the owner: a person who is logged in, or whoever runs the installation.
STAFF: Final = "staff"
HUMAN: Final = frozenset({"person", "operator", STAFF})


class _Unset:
    """The mark of an argument that was left out, which differs from null."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = _Unset()


@dataclass(frozen=True, slots=True)
class Actor:
    """One who asks.

    `groups` maps the ids of the squads and projects that an agent belongs to, to their kind. A person sees everything
    of the owner; an agent sees what is its own, its groups' and the owner-wide.
    """

    owner_id: UUID
    kind: str
    agent_id: UUID | None = None
    key_id: UUID | None = None
    key_expires_at: datetime | None = None
    permissions: frozenset[Permission] = ALL_PERMISSIONS
    default_visibility: str = Visibility.OWNER
    default_group_id: UUID | None = None
    groups: dict[UUID, str] = field(default_factory=dict)
    # The way that the request came, for the audit: `rest` …
    via: str = ""
    # Who of the staff looks at another's memories: the name that this one has in audits.
    staff_id: UUID | None = None

    @property
    def caller_id(self) -> UUID:
        """Give the id under which this one's recalls and idempotency keys are kept."""
        return self.agent_id or self.staff_id or self.owner_id

    @property
    def label(self) -> str:
        """Name this one in audits and histories, by id and not by name."""
        if self.staff_id:
            return f"{STAFF}:{self.staff_id}"
        return f"agent:{self.agent_id}" if self.agent_id else self.kind

    @property
    def human(self) -> bool:
        """Tell whether a person or an operator asks, and neither an agent nor the system."""
        return self.agent_id is None and self.kind in HUMAN

    @property
    def readable(self) -> tuple[UUID, ...] | None:
        """List the scopes this one may read; None where nothing of the owner is hidden."""
        if self.agent_id is None:
            return None
        return (self.owner_id, self.agent_id, *self.groups)

    def require(self, permission: Permission) -> None:
        """Raise PermissionRefused when this one lacks a permission."""
        if permission not in self.permissions:
            raise PermissionRefused(f"This key lacks the permission {permission.value}.", permission=permission.value)

    def may_read(self, scope: UUID) -> bool:
        """Tell whether rows of a scope are visible to this one."""
        return self.readable is None or scope in self.readable


def person(owner_id: UUID) -> Actor:
    """Make the actor of a person who is logged in as the owner."""
    return Actor(owner_id=owner_id, kind="person")


def operator(owner_id: UUID) -> Actor:
    """Make the actor of whoever runs this installation and types its commands, for one owner.

    May what a person may, but for what asks for a login; audits and histories tell the two apart.
    """
    return Actor(owner_id=owner_id, kind="operator")


def staff(owner_id: UUID, *, pseudonym: UUID) -> Actor:
    """Make the actor of staff that looks after another owner in the admin.

    May what a person may. Whatever it reads is recorded in that owner's audit, as an agent's reads are.

    Args:
        owner_id: whose memories.
        pseudonym: the name that the audit of the staff's own owner has, which outlives it and names nobody then.
    """
    return Actor(owner_id=owner_id, kind=STAFF, staff_id=pseudonym)


def system(owner_id: UUID) -> Actor:
    """Make the actor of a background job for one owner."""
    return Actor(owner_id=owner_id, kind="system")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a new row goes: who may read it."""

    visibility: str
    scope: UUID
    group_id: UUID | None = None


def write_target(actor: Actor, scope: Any = UNSET) -> Target:
    """Resolve the scope that a row is written for.

    Args:
        actor: who writes.
        scope: `owner`, `agent`, `squad:<id>` or `project:<id>`; the key's default when left out.

    Raises:
        InvalidScope: empty, null, a list, `*`, or another word.
        NotFound: a group that this owner does not have.
        PermissionRefused: a group that the agent does not belong to, or `agent` without an agent.
    """
    if scope is UNSET:
        return _target(actor, actor.default_visibility, actor.default_group_id)
    visibility, group_id = parse_scope(scope)
    return _target(actor, visibility, group_id)


def read_scopes(actor: Actor, scope: Any = UNSET) -> tuple[UUID, ...] | None:
    """Resolve the scopes that a read is limited to; the actor's own when left out, and never more than those.

    Args:
        actor: who reads.
        scope: one scope, or a list of them, in the form that `write_target` takes.

    Raises:
        InvalidScope, NotFound, PermissionRefused: as `write_target`.
    """
    if scope is UNSET:
        return actor.readable
    entries = scope if isinstance(scope, list) else [scope]
    if not entries or len(entries) > 50:
        raise InvalidScope("Name between one and fifty scopes, or leave the scope out.", field="scope")
    return tuple(dict.fromkeys(_target(actor, *parse_scope(entry)).scope for entry in entries))


def parse_scope(scope: Any) -> tuple[str, UUID | None]:
    """Split a scope's written form into visibility and group id; raises InvalidScope for anything else."""
    if not isinstance(scope, str):
        raise InvalidScope(field="scope")
    word, _, rest = scope.partition(":")
    if word in (Visibility.OWNER, Visibility.AGENT) and not rest and ":" not in scope:
        return word, None
    if word in (Visibility.SQUAD, Visibility.PROJECT):
        try:
            return word, UUID(rest)
        except ValueError:
            raise InvalidScope(field="scope") from None
    raise InvalidScope(field="scope")


def written_scope(visibility: str, group_id: UUID | None) -> str:
    """Write a scope the way it is read: `owner`, `agent`, `squad:<id>` or `project:<id>`."""
    return f"{visibility}:{group_id}" if visibility in (Visibility.SQUAD, Visibility.PROJECT) else str(visibility)


def _target(actor: Actor, visibility: str, group_id: UUID | None) -> Target:
    if visibility == Visibility.OWNER:
        return Target(visibility, actor.owner_id)
    if visibility == Visibility.AGENT:
        if actor.agent_id is None:
            raise InvalidScope("Only an agent can use the scope `agent`.", field="scope")
        return Target(visibility, actor.agent_id)
    if group_id is None:
        raise InvalidScope(field="scope")
    if actor.agent_id is not None and actor.groups.get(group_id) == visibility:
        return Target(visibility, group_id, group_id)
    with owner_scope(actor.owner_id):
        exists = AgentGroup.objects.filter(pk=group_id, kind=GroupKind(visibility)).exists()
    if not exists:
        raise NotFound("There is no such squad or project here.")
    if actor.agent_id is not None:
        raise PermissionRefused("This agent does not belong to that squad or project.")
    return Target(visibility, group_id, group_id)
