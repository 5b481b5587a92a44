"""Reading the bus: four checks, then what is for the reader, oldest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import Q, QuerySet

from memory.crypto.capabilities import Capability
from memory.crypto.keyring import keyring
from memory.errors import NotFound, PermissionRefused
from memory.models import BusMessage, GroupKind, Visibility, owner_scope
from memory.services.actors import UNSET, Actor, Permission, parse_scope, read_scopes
from memory.services.audit.reading import reads
from memory.services.bus.capabilities import exceeded, presented
from memory.services.bus.publishing import topic_hash, with_current_groups
from memory.services.bus.weighing import Weighed, opens, weigh_messages
from memory.services.clock import now
from memory.services.features import require_memory

LIMIT: Final = 20
MAX_LIMIT: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """Which messages to read; what is left out does not limit.

    Attributes:
        scope: only those for one scope: `owner`, `project:<id>`, `squad:<id>`, or `agent` for the reader itself.
        topics: with any of these topics.
        least_importance: at least so important, 0 to 1.
        source_agent: published by this agent.
    """

    scope: Any = UNSET
    topics: Sequence[str] = ()
    least_importance: float = 0.0
    source_agent: UUID | None = None


@dataclass(frozen=True, slots=True)
class Delivered:
    """A message as it is delivered, with how far its agent is trusted and what it repeats or contradicts."""

    message: BusMessage
    weighed: Weighed


@reads("messages")
def read_messages(
    *,
    actor: Actor,
    token: str | None,
    request: ReadRequest,
    after: tuple[datetime, UUID] | None = None,
    size: int = LIMIT,
) -> list[Delivered]:
    """Read messages for the actor, oldest first, each compared with what it remembers.

    For agents, in order: the token's signature, whose it is, its ceiling of scope (owner-wide messages need `owner`,
    those of projects `project`, of squads `squad`), and whether the agent belongs to the squad or project at this
    moment. Its own messages are passed over. A person needs no token and reads all of the owner's.

    Args:
        actor: who reads.
        token: its capability token.
        request: which messages.
        after: when the last message that was seen was published, and its id.
        size: most messages.

    Raises:
        CapabilityRefused: the token is not valid.
        PermissionRefused: no token; a named scope above its ceiling (`capability.exceeded`) or of a group that the
            agent does not belong to.
        InvalidScope, NotFound: the named scope cannot be used or is not there.
    """
    require_memory()
    actor.require(Permission.READ)
    moment = now()
    with owner_scope(actor.owner_id):
        reader, rows = _readable(actor, token, moment, request.scope)
        rows = _narrowed(reader, rows, request)
        if after is not None:
            rows = rows.filter(Q(published_at__gt=after[0]) | Q(published_at=after[0], pk__gt=after[1]))
        found = [message for message in rows.order_by("published_at", "pk")[:size] if opens(message)]
        return [Delivered(*pair) for pair in zip(found, weigh_messages(reader, found, at=moment), strict=True)]


def readable_message(*, actor: Actor, token: str | None, message_id: UUID, at: datetime) -> tuple[Actor, BusMessage]:
    """Give a message that is delivered to the agent that presents the token, and the agent with its groups of now.

    Call it within the owner's scope; raises NotFound for every other message, and PermissionRefused for a person.
    """
    reader, rows = _readable(actor, token, at, UNSET)
    message = rows.filter(pk=message_id).first()
    if message is None:
        raise NotFound("There is no message with this id here.")
    if actor.agent_id is None:
        raise PermissionRefused("A person reads messages and accepts none. Nothing was stored.", code="bus.agents_only")
    return reader, message


def _readable(actor: Actor, token: str | None, moment: datetime, scope: Any) -> tuple[Actor, QuerySet[BusMessage]]:
    rows: QuerySet[BusMessage] = BusMessage.objects.filter(expires_at__gt=moment)
    if actor.human:
        scopes = read_scopes(actor, scope)
        return actor, rows if scopes is None else rows.filter(scope__in=scopes)
    capability = presented(actor=actor, token=token, moment=moment)
    reader = with_current_groups(actor)
    rows = rows.exclude(publisher_id=actor.agent_id)
    if scope is UNSET:
        return reader, rows.filter(scope__in=_within(capability, reader))
    visibility, _ = parse_scope(scope)
    if not capability.reaches(visibility):
        raise exceeded("max_scope", f"This token reaches no further than {capability.max_scope}. Nothing was read.")
    return reader, rows.filter(scope__in=read_scopes(reader, scope) or ())


def _within(capability: Capability, reader: Actor) -> list[UUID]:
    """List the scopes that a reader belongs to, as far as the token reaches."""
    assert reader.agent_id is not None
    found = [reader.agent_id]
    for kind in (GroupKind.SQUAD, GroupKind.PROJECT):
        if capability.reaches(kind):
            found += [group for group, is_kind in reader.groups.items() if is_kind == kind]
    if capability.reaches(Visibility.OWNER):
        found.append(reader.owner_id)
    return found


def _narrowed(reader: Actor, rows: QuerySet[BusMessage], request: ReadRequest) -> QuerySet[BusMessage]:
    if request.topics:
        ring = keyring().of(reader.owner_id)
        rows = rows.filter(topic_hashes__overlap=[topic_hash(ring, topic) for topic in request.topics])
    if request.least_importance > 0:
        rows = rows.filter(importance__gte=request.least_importance)
    if request.source_agent is not None:
        rows = rows.filter(publisher_id=request.source_agent)
    return rows
