"""Agents, their groups and their keys."""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.db.models import Q

from memory.crypto.keyring import keyring
from memory.errors import Conflict, InvalidInput, NotAuthenticated, NotFound
from memory.models import Agent, AgentGroup, AgentKey, GroupKind, GroupMembership, Visibility, owner_scope
from memory.ports.live import announce_access
from memory.services.actors import AGENT_DEFAULT, UNSET, Actor, Permission, write_target
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.text import limits

logger = logging.getLogger(__name__)

KEY_PREFIX: Final = "loci"
# Writing the time of use on every request would write a row per read.
USE_GRAIN: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made; `secret` is shown once and cannot be read again."""

    key_id: UUID
    secret: str


def create_agent(*, actor: Actor, name: str) -> Agent:
    """Create an agent of the actor's owner; raises Conflict when the name is taken, InvalidInput when unusable."""
    actor.require(Permission.AGENTS)
    name, name_hash = _name(actor, name)
    with owner_scope(actor.owner_id):
        try:
            with transaction.atomic():
                agent: Agent = Agent.objects.create(name=name, name_hash=name_hash)
                _record(actor, "create", "agent", agent.pk)
                return agent
        except IntegrityError as error:
            raise Conflict("An agent of this name exists already.", code="agent.taken") from error


def list_agents(*, actor: Actor) -> list[Agent]:
    """List the owner's agents, oldest first."""
    actor.require(Permission.AGENTS)
    with owner_scope(actor.owner_id):
        return list(Agent.objects.order_by("created_at", "pk"))


def rename_agent(*, actor: Actor, agent_id: UUID, name: str) -> Agent:
    """Give an agent another name; raises Conflict when it is taken, NotFound, InvalidInput when unusable."""
    actor.require(Permission.AGENTS)
    name, name_hash = _name(actor, name)
    with owner_scope(actor.owner_id):
        agent = _agent(agent_id)
        agent.name, agent.name_hash = name, name_hash
        try:
            with transaction.atomic():
                agent.save(update_fields=["name", "name_hash"])
        except IntegrityError as error:
            raise Conflict("An agent of this name exists already.", code="agent.taken") from error
        _record(actor, "change", "agent", agent.pk, reason="name")
        return agent


def pause_agent(*, actor: Actor, agent_id: UUID, paused: bool) -> Agent:
    """Stop an agent's keys from working, or let them work again."""
    actor.require(Permission.AGENTS)
    with owner_scope(actor.owner_id):
        agent = _agent(agent_id)
        agent.paused_at = now() if paused else None
        agent.save(update_fields=["paused_at"])
        announce_access(actor.owner_id)
        _record(actor, "pause" if paused else "resume", "agent", agent.pk)
        return agent


def create_group(*, actor: Actor, kind: str, name: str) -> AgentGroup:
    """Create a project or squad; raises Conflict when one of this kind and name exists."""
    actor.require(Permission.AGENTS)
    if kind not in GroupKind.values:
        raise InvalidInput("kind is project or squad.", code="kind.invalid", field="kind")
    name, name_hash = _name(actor, name)
    with owner_scope(actor.owner_id):
        try:
            with transaction.atomic():
                group: AgentGroup = AgentGroup.objects.create(kind=kind, name=name, name_hash=name_hash)
                return group
        except IntegrityError as error:
            raise Conflict("A group of this kind and name exists already.", code="group.taken") from error


def list_groups(*, actor: Actor) -> list[tuple[AgentGroup, list[UUID]]]:
    """List the owner's projects and squads with the ids of their agents."""
    actor.require(Permission.AGENTS)
    with owner_scope(actor.owner_id):
        members: dict[UUID, list[UUID]] = {}
        for group_id, agent_id in GroupMembership.objects.order_by("created_at").values_list("group_id", "agent_id"):
            members.setdefault(group_id, []).append(agent_id)
        return [(group, members.get(group.pk, [])) for group in AgentGroup.objects.order_by("created_at", "pk")]


def set_membership(*, actor: Actor, group_id: UUID, agent_id: UUID, member: bool) -> None:
    """Put an agent into a group or take it out; without effect when it is so already."""
    actor.require(Permission.AGENTS)
    with owner_scope(actor.owner_id):
        _agent(agent_id)
        if not AgentGroup.objects.filter(pk=group_id).exists():
            raise NotFound("There is no such squad or project here.")
        if member:
            _, changed = GroupMembership.objects.get_or_create(
                owner_id=actor.owner_id, group_id=group_id, agent_id=agent_id
            )
        else:
            changed = GroupMembership.objects.filter(group_id=group_id, agent_id=agent_id).delete()[0] > 0
        if changed:
            _record(actor, "join" if member else "leave", "group", group_id, reason=f"agent:{agent_id}")


def create_key(
    *,
    actor: Actor,
    agent_id: UUID,
    label: str,
    scopes: Sequence[str] | None = None,
    default_scope: Any = UNSET,
    expires_at: Any = None,
) -> NewKey:
    """Make a key for an agent; only its digest is kept.

    Args:
        actor: who makes it.
        agent_id: for whom.
        label: a name for people.
        scopes: permissions; reading, writing and deleting memories when left out.
        default_scope: where rows go when a request names no scope: `owner` (the default), `agent`, `squad:<id>` …
        expires_at: when it stops working; a key made with a key never outlives that one.

    Raises:
        NotFound: no such agent or group.
        InvalidInput, InvalidScope: an unknown permission, an empty label, an unusable scope.
        PermissionRefused: a permission that the maker lacks, since a key must not raise itself.
    """
    permissions = _granted(actor, scopes)
    label = limits.checked_text(label, field="label", max_bytes=400).strip()
    expires = None if expires_at is None else limits.checked_moment(expires_at, field="expires_at")
    if actor.key_expires_at is not None:
        expires = min(expires or actor.key_expires_at, actor.key_expires_at)
    with owner_scope(actor.owner_id):
        agent = _agent(agent_id)
        groups = _groups(agent.pk)
    visibility, group_id = Visibility.OWNER.value, None
    if default_scope is not UNSET:
        visibility, group_id = _default_place(actor, agent.pk, groups, default_scope)
    prefix = secrets.token_hex(4)
    secret = f"{KEY_PREFIX}_{prefix}_{secrets.token_urlsafe(32)}"
    with owner_scope(actor.owner_id):
        key = AgentKey(
            owner_id=actor.owner_id,
            agent_id=agent.pk,
            label=label,
            prefix=prefix,
            digest=_digest(secret),
            scopes=sorted(permissions),
            default_visibility=visibility,
            default_group_id=group_id,
            expires_at=expires,
        )
        key.proof = _proof(key)
        key.save(force_insert=True)
        _record(actor, "create", "key", key.pk, reason=f"agent:{agent.pk}")
    return NewKey(key.pk, secret)


def change_key(
    *,
    actor: Actor,
    key_id: UUID,
    label: Any = UNSET,
    scopes: Any = UNSET,
    default_scope: Any = UNSET,
    expires_at: Any = UNSET,
) -> AgentKey:
    """Change what a key that works may do, from the agent's next request on; its secret stays.

    Args:
        actor: who changes it.
        key_id: which.
        label: another name for people.
        scopes: other permissions in the place of those that it has.
        default_scope: where rows go when a request names no scope.
        expires_at: when it stops working, None for never; a key changed with a key never outlives that one.

    Raises:
        NotFound: no such key or group.
        Conflict: `key.revoked`, it works no more.
        InvalidInput, InvalidScope: as for `create_key`.
        PermissionRefused: a permission that the changer lacks.
    """
    actor.require(Permission.AGENTS)
    granted = None if scopes is UNSET else _granted(actor, scopes)
    named = None if label is UNSET else limits.checked_text(label, field="label", max_bytes=400).strip()
    expires = None
    if expires_at is not UNSET and expires_at is not None:
        expires = limits.checked_moment(expires_at, field="expires_at")
    with owner_scope(actor.owner_id):
        key: AgentKey | None = AgentKey.objects.select_related(None).select_for_update().filter(pk=key_id).first()
        if key is None:
            raise NotFound("There is no key with this id here.")
        if key.revoked_at is not None:
            raise Conflict("This key was revoked and works no more. Make another one.", code="key.revoked")
        if not hmac.compare_digest(bytes(key.proof), _proof(key)):
            # A change must not make good what was forged.
            raise Conflict("This key was changed in the database. Revoke it.", code="key.forged")
        if granted is not None:
            key.scopes = sorted(granted)
        else:
            for permission in key.scopes:
                actor.require(Permission(permission))
        if named is not None:
            key.label = named
        if expires_at is not UNSET:
            key.expires_at = expires
        if actor.key_expires_at is not None:
            key.expires_at = min(key.expires_at or actor.key_expires_at, actor.key_expires_at)
        if default_scope is not UNSET:
            place = _default_place(actor, key.agent_id, _groups(key.agent_id), default_scope)
            key.default_visibility, key.default_group_id = place
        key.proof = _proof(key)
        key.save()
        announce_access(actor.owner_id)
        _record(actor, "change", "key", key.pk, reason=f"agent:{key.agent_id}")
        return key


def list_keys(*, actor: Actor, agent_id: UUID) -> list[AgentKey]:
    """List an agent's keys, newest first; raises NotFound when there is no such agent."""
    actor.require(Permission.AGENTS)
    with owner_scope(actor.owner_id):
        _agent(agent_id)
        return list(AgentKey.objects.filter(agent_id=agent_id).order_by("-created_at", "-pk"))


def revoke_key(*, actor: Actor, key_id: UUID) -> None:
    """Stop a key from working for good; without effect when it was revoked before."""
    actor.require(Permission.AGENTS)
    with owner_scope(actor.owner_id):
        if not AgentKey.objects.filter(pk=key_id).exists():
            raise NotFound("There is no key with this id here.")
        if AgentKey.objects.filter(pk=key_id, revoked_at=None).update(revoked_at=now()):
            announce_access(actor.owner_id)
            _record(actor, "revoke", "key", key_id)


def authenticate(secret: str) -> Actor:
    """Turn an agent's key into the actor that it stands for.

    Raises:
        NotAuthenticated: unknown, expired or revoked, or its agent is paused; all alike, so that nothing is told.
    """
    if not secret.startswith(f"{KEY_PREFIX}_") or len(secret) > 200 or not secret.isascii():
        raise NotAuthenticated("The agent key is not valid.")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT owner_id, key_id FROM loci_find_key(%s)", [_digest(secret)])
        found = cursor.fetchone()
    if found is None:
        raise NotAuthenticated("The agent key is not valid.")
    owner_id, key_id = found
    with owner_scope(owner_id):
        # It can go after it was found.
        key = AgentKey.objects.select_related(None).filter(pk=key_id).first()
        if key is None:
            raise NotAuthenticated("The agent key is not valid.")
        actor = _bearer(key)
        _note_use(key, now())
        return actor


def authenticate_again(actor: Actor) -> Actor:
    """Look anew at the key that an agent has shown before, for connections that stay open.

    Raises:
        NotAuthenticated: the key is gone, expired or revoked, or its agent is paused.
        OwnerPurging: everything of the owner is being erased.
    """
    with owner_scope(actor.owner_id):
        key = AgentKey.objects.select_related(None).filter(pk=actor.key_id).first()
        if key is None:
            raise NotAuthenticated("The agent key is not valid.")
        return _bearer(key)


def _bearer(key: AgentKey) -> Actor:
    agent = Agent.objects.only("id", "owner_id", "paused_at").get(pk=key.agent_id)
    if not hmac.compare_digest(bytes(key.proof), _proof(key)):
        logger.error("agent key %s was not made by this product, or was changed in the database", key.pk)
        raise NotAuthenticated("The agent key is not valid.")
    if key.revoked_at or (key.expires_at and key.expires_at <= now()) or agent.paused_at:
        raise NotAuthenticated("The agent key is not valid.")
    return Actor(
        owner_id=key.owner_id,
        kind="agent",
        agent_id=agent.pk,
        key_id=key.pk,
        key_expires_at=key.expires_at,
        permissions=frozenset(Permission(scope) for scope in key.scopes),
        default_visibility=key.default_visibility,
        default_group_id=key.default_group_id,
        groups=_groups(agent.pk),
    )


def _record(actor: Actor, verb: str, kind: str, object_id: UUID, *, reason: str = "") -> None:
    """Record who has changed what agents may do, within the owner's scope."""
    record(actor=actor.label, verb=verb, object_kind=kind, object_id=object_id, reason=reason, at=now())


def _proof(key: AgentKey) -> bytes:
    """Compute what shows that a key's row was made here, from everything that it grants."""
    granted = (
        key.pk,
        key.agent_id,
        bytes(key.digest).hex(),
        ",".join(key.scopes),
        key.default_visibility,
        key.default_group_id,
        key.expires_at.isoformat() if key.expires_at else None,
    )
    return keyring().of(key.owner_id).digest("agent key|" + "|".join(map(str, granted)))


def _note_use(key: AgentKey, moment: datetime) -> None:
    if key.last_used_at is None or moment - key.last_used_at > USE_GRAIN:
        AgentKey.objects.filter(Q(last_used_at=None) | Q(last_used_at__lt=moment - USE_GRAIN), pk=key.pk).update(
            last_used_at=moment
        )


def _groups(agent_id: UUID) -> dict[UUID, str]:
    ids = GroupMembership.objects.filter(agent_id=agent_id).values_list("group_id", flat=True)
    return dict(AgentGroup.objects.filter(pk__in=ids).values_list("pk", "kind"))


def _agent(agent_id: UUID) -> Agent:
    agent: Agent | None = Agent.objects.filter(pk=agent_id).first()
    if agent is None:
        raise NotFound("There is no agent with this id here.")
    return agent


def _name(actor: Actor, name: str) -> tuple[str, int]:
    text = limits.checked_text(name, field="name", max_bytes=400).strip()
    return text, keyring().of(actor.owner_id).name(text.casefold())


def _granted(actor: Actor, scopes: Iterable[str] | None) -> set[Permission]:
    """Read the permissions of a key, all of which its maker must have."""
    actor.require(Permission.AGENTS)
    permissions = _permissions(scopes)
    for permission in sorted(permissions):
        actor.require(permission)
    return permissions


def _default_place(actor: Actor, agent_id: UUID, groups: dict[UUID, str], scope: Any) -> tuple[str, UUID | None]:
    """Resolve a key's default scope as its agent would be refused or granted it."""
    bearer = Actor(owner_id=actor.owner_id, kind="agent", agent_id=agent_id, groups=groups)
    target = write_target(bearer, scope)
    return target.visibility, target.group_id


def _permissions(scopes: Iterable[str] | None) -> set[Permission]:
    if scopes is None:
        return set(AGENT_DEFAULT)
    try:
        permissions = {Permission(scope) for scope in scopes}
    except ValueError:
        raise InvalidInput(
            f"A key's scopes are among {', '.join(Permission)}.", code="scopes.invalid", field="scopes"
        ) from None
    if not permissions:
        raise InvalidInput("A key needs at least one scope.", code="scopes.too_few", field="scopes")
    return permissions


def _digest(secret: str) -> bytes:
    # The secret has 256 random bits, so a plain hash is as good as a slow one and costs nothing on each request.
    return hashlib.sha256(secret.encode()).digest()
