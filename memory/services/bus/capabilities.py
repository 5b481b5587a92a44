"""Issuing capability tokens, checking those that agents present, and ending all of an agent's."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.db.models import F

from memory.crypto.capabilities import NONCE_BYTES, PURPOSE, RANKS, Capability, sign, verify
from memory.crypto.keyring import keyring
from memory.errors import CapabilityRefused, InvalidInput, NotFound, PermissionRefused
from memory.models import Agent, Visibility, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.text import limits

LIFETIME: Final = timedelta(hours=24)
LONGEST_LIFETIME: Final = timedelta(days=30)
PUBLISH_RATE: Final = 50
MAX_PUBLISH_RATE: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a token is to allow; what is None is as wide as the issuer may grant, and at most the usual.

    Attributes:
        max_scope: the widest scope: `agent`, `squad`, `project` or `owner`, which is the usual.
        max_importance: the highest importance of a message, 0 to 1; usually 1.
        can_publish: whether it is for more than reading; usually it is.
        publish_rate: messages within an hour, 1 to 1,000; usually 50.
        expires_at: when it ends, at most 30 days from now; usually in 24 hours.
    """

    max_scope: str | None = None
    max_importance: float | None = None
    can_publish: bool | None = None
    publish_rate: int | None = None
    expires_at: Any = None


@dataclass(frozen=True, slots=True)
class Issued:
    """A token just issued; it is shown once and kept nowhere."""

    token: str
    capability: Capability


@dataclass(frozen=True, slots=True)
class _Ceiling:
    max_scope: str
    max_importance: float
    can_publish: bool
    publish_rate: int
    expires_at: datetime


def issue_capability(*, actor: Actor, agent_id: UUID, grant: Grant | None = None, own: str | None = None) -> Issued:
    """Issue a token by which an agent may use the bus.

    Args:
        actor: who issues it: a person, or an agent whose key may manage agents. An agent grants nothing that its own
            token does not allow, nor anything beyond that token's or its key's end.
        agent_id: for whom.
        grant: what it allows.
        own: the token of an agent that issues.

    Raises:
        PermissionRefused: without the permission, without a token of its own (`capability.required`), or for more than
            that one allows (`capability.above_issuer`).
        CapabilityRefused: the issuer's own token is not valid.
        NotFound: no such agent.
        InvalidInput: a value out of its range.
    """
    actor.require(Permission.AGENTS)
    asked, moment = grant or Grant(), now()
    _check(asked)
    expires = None if asked.expires_at is None else limits.checked_moment(asked.expires_at, field="expires_at")
    _check_end(expires, moment)
    ring = keyring().of(actor.owner_id)
    with owner_scope(actor.owner_id):
        ceiling = _ceiling(actor, own, moment)
        _refuse_more(asked, expires, ceiling)
        agent = Agent.objects.filter(pk=agent_id).only("id", "owner_id", "capability_epoch").first()
        if agent is None:
            raise NotFound("There is no agent with this id here.")
        capability = Capability(
            owner_id=actor.owner_id,
            agent_id=agent.pk,
            epoch=agent.capability_epoch,
            max_scope=asked.max_scope or ceiling.max_scope,
            max_importance=ceiling.max_importance if asked.max_importance is None else float(asked.max_importance),
            can_publish=ceiling.can_publish if asked.can_publish is None else asked.can_publish,
            publish_rate=asked.publish_rate or min(ceiling.publish_rate, PUBLISH_RATE),
            issued_at=moment,
            expires_at=expires or min(ceiling.expires_at, moment + LIFETIME),
            nonce=os.urandom(NONCE_BYTES),
        )
        record(actor=actor.label, verb="token", object_kind="agent", object_id=agent.pk, reason="issued", at=moment)
    return Issued(sign(capability, mac=partial(ring.mac, purpose=PURPOSE)), capability)


def end_capabilities(*, actor: Actor, agent_id: UUID) -> None:
    """End every token of an agent at once, whoever issued it; raises NotFound when there is no such agent.

    Tokens that the agent has issued to others go on, until theirs are ended too.
    """
    actor.require(Permission.AGENTS)
    with owner_scope(actor.owner_id):
        if not Agent.objects.filter(pk=agent_id).update(capability_epoch=F("capability_epoch") + 1):
            raise NotFound("There is no agent with this id here.")
        record(actor=actor.label, verb="token", object_kind="agent", object_id=agent_id, reason="ended", at=now())


def presented(*, actor: Actor, token: str | None, moment: datetime, lock: bool = False) -> Capability:
    """Check the token that an agent presents, within its owner's scope.

    A token counts for the agent that it was issued to and for no other. Whatever is wrong with it is refused alike, so
    that nothing is told about tokens.

    Args:
        actor: who presents it.
        token: the token, None where none came.
        moment: the moment that counts as now.
        lock: whether the agent's tokens must not be ended before the transaction is over.

    Raises:
        PermissionRefused: `bus.agents_only`, not an agent; `capability.required`, no token came.
        CapabilityRefused: forged, changed, expired, ended, or of another owner or agent.
    """
    if actor.agent_id is None:
        raise PermissionRefused("Only agents speak on the bus. Nothing was stored.", code="bus.agents_only")
    if token is None:
        raise PermissionRefused(
            "A capability token has to come with this, in the header X-Loci-Capability. Nothing was read or stored.",
            code="capability.required",
        )
    capability = verify(token, mac=partial(keyring().of(actor.owner_id).mac, purpose=PURPOSE))
    agents = Agent.objects.select_for_update(no_key=True) if lock else Agent.objects.all()
    agent = agents.filter(pk=actor.agent_id).only("id", "owner_id", "capability_epoch", "paused_at").first()
    valid = (
        agent is not None
        and agent.paused_at is None
        and capability.owner_id == actor.owner_id
        and capability.agent_id == actor.agent_id
        and capability.epoch == agent.capability_epoch
        and capability.expires_at > moment
    )
    if not valid:
        raise CapabilityRefused
    return capability


def exceeded(limit: str, message: str) -> PermissionRefused:
    """Make the error of a valid token that does not allow this; `limit` names which of its fields."""
    return PermissionRefused(message, code="capability.exceeded", limit=limit)


def _ceiling(actor: Actor, own: str | None, moment: datetime) -> _Ceiling:
    latest = moment + LONGEST_LIFETIME
    if actor.key_expires_at is not None:
        latest = min(latest, actor.key_expires_at)
    if actor.agent_id is None:
        return _Ceiling(Visibility.OWNER.value, 1.0, True, MAX_PUBLISH_RATE, latest)
    mine = presented(actor=actor, token=own, moment=moment)
    return _Ceiling(
        mine.max_scope, mine.max_importance, mine.can_publish, mine.publish_rate, min(latest, mine.expires_at)
    )


def _refuse_more(asked: Grant, expires: datetime | None, ceiling: _Ceiling) -> None:
    above = (
        (asked.max_scope is not None and RANKS[asked.max_scope] > RANKS[ceiling.max_scope], "max_scope"),
        (asked.max_importance is not None and asked.max_importance > ceiling.max_importance, "max_importance"),
        (bool(asked.can_publish) and not ceiling.can_publish, "can_publish"),
        (asked.publish_rate is not None and asked.publish_rate > ceiling.publish_rate, "publish_rate"),
        (expires is not None and expires > ceiling.expires_at, "expires_at"),
    )
    for refused, name in above:
        if refused:
            raise PermissionRefused(
                f"An agent can grant no more than its own token and key allow, which {name} exceeds. "
                "Nothing was issued.",
                code="capability.above_issuer",
                field=name,
            )


def _check(asked: Grant) -> None:
    if asked.max_scope is not None and asked.max_scope not in RANKS:
        raise InvalidInput(f"max_scope is one of {', '.join(RANKS)}.", code="max_scope.invalid", field="max_scope")
    if asked.max_importance is not None and not 0 <= asked.max_importance <= 1:
        raise InvalidInput(
            "max_importance is a number from 0 to 1.", code="max_importance.out_of_range", field="max_importance"
        )
    if asked.publish_rate is not None and not 1 <= asked.publish_rate <= MAX_PUBLISH_RATE:
        raise InvalidInput(
            f"publish_rate is a whole number from 1 to {MAX_PUBLISH_RATE}.",
            code="publish_rate.out_of_range",
            field="publish_rate",
        )


def _check_end(expires: datetime | None, moment: datetime) -> None:
    if expires is not None and expires <= moment:
        raise InvalidInput("expires_at lies in the past.", code="date.past", field="expires_at")
    if expires is not None and expires > moment + LONGEST_LIFETIME:
        raise InvalidInput(
            f"A token lives {LONGEST_LIFETIME.days} days at most.", code="expires_at.out_of_range", field="expires_at"
        )
