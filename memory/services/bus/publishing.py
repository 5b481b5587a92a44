"""Publishing on the bus: what is checked, in which order, and how much is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.crypto.capabilities import Capability
from memory.crypto.keyring import OwnerRing, keyring
from memory.errors import InvalidInput, InvalidScope, NotFound, RateLimited, TooLarge
from memory.ids import new_id
from memory.models import (
    Agent,
    AgentGroup,
    AuditEvent,
    BusMessage,
    GroupMembership,
    Visibility,
    current_owner,
    owner_scope,
)
from memory.privacy import injection, pii
from memory.services.actors import Actor, Permission, Target, parse_scope, write_target
from memory.services.audit.recording import record
from memory.services.bus.capabilities import exceeded, presented
from memory.services.clock import now
from memory.services.features import require_memory
from memory.text import limits

LIFE: Final = timedelta(hours=24)
MOST_MESSAGES: Final = 1_000
LEAST_IMPORTANCE: Final = 0.2
MAX_TEXT_BYTES: Final = 16 * 1024
MAX_TOPICS: Final = 20
MAX_TOPIC_CHARACTERS: Final = 100
RATE_WINDOW: Final = timedelta(hours=1)

# Publishers of one owner wait for one another, so that neither limit can be passed by coming at once.
TAKE_TURN: Final = "SELECT pg_advisory_xact_lock(hashtextextended('loci.bus:' || %s, 0))"
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A message as it came in: its text, whom it is for, and its importance from 0 to 1.

    `target` is `owner`, `project:<id>`, `squad:<id>` or `agent:<id>`.
    """

    text: Any
    target: Any
    topics: Sequence[Any] = ()
    importance: float = 0.5


@dataclass(frozen=True, slots=True)
class _Checked:
    text: str
    topics: list[str]
    visibility: str
    named: UUID | None
    importance: float
    pii_kinds: list[str]
    injected: bool


def publish(*, actor: Actor, token: str | None, publication: Publication) -> BusMessage:
    """Publish a message of the agent that presents the token; nobody can publish in another one's name.

    In order: the token's signature and whose it is, whether it may publish, its ceiling of scope, whether the target is
    there and the agent belongs to it, its ceiling of importance, the least importance, phrases that address a model,
    and the rate. Only accepted messages count against the rate: they are counted in the audit, where nobody can take
    them back.

    Raises:
        CapabilityRefused: the token is not valid.
        PermissionRefused: no token, or one that does not allow this (`capability.exceeded`); not a member of the group.
        NotFound: no such agent or group.
        InvalidInput, TooLarge: the message cannot be used, is not important enough (`importance.too_low`), or would
            give a model instructions (`injection.blocked`).
        RateLimited: `bus.rate`, too many messages within an hour.
    """
    require_memory()
    actor.require(Permission.WRITE)
    checked = _check(publication)
    ring = keyring().of(actor.owner_id)
    with owner_scope(actor.owner_id):
        _take_turn()
        moment = now()
        capability = presented(actor=actor, token=token, moment=moment, lock=True)
        assert actor.agent_id is not None
        target = _allowed_target(with_current_groups(actor), capability, checked)
        _judge(capability, checked)
        _refuse_above_rate(actor, capability, moment)
        message = _insert(actor.agent_id, target, checked, ring, moment)
        _keep_newest(moment)
        record(actor=actor.label, verb="publish", object_kind="bus_message", object_id=message.pk, at=moment)
        return message


def remove_expired(*, at: datetime) -> int:
    """Delete the current owner's messages whose day is over, and give how many there were."""
    return int(BusMessage.objects.filter(expires_at__lte=at).delete()[0])


def with_current_groups(actor: Actor) -> Actor:
    """Give an agent with the groups that it belongs to at this moment, within its owner's scope.

    The actor may be older than the last change: whoever leaves a group reads and writes nothing of it from then on.
    """
    ids = GroupMembership.objects.filter(agent_id=actor.agent_id).values("group_id")
    return replace(actor, groups=dict(AgentGroup.objects.filter(pk__in=ids).values_list("pk", "kind")))


def topic_hash(ring: OwnerRing, topic: str) -> int:
    """Hash a topic, in any case, with a key of its owner."""
    return ring.name(f"bus topic\0{topic.strip().casefold()}")


def _check(publication: Publication) -> _Checked:
    text = limits.checked_text(publication.text, field="text", max_bytes=MAX_TEXT_BYTES)
    topics = _topics(publication.topics)
    visibility, named = _parsed(publication.target)
    importance = publication.importance
    if isinstance(importance, bool) or not isinstance(importance, int | float):
        raise InvalidInput("importance is a number.", code="field.type", field="importance")
    if not 0 <= importance <= 1:
        raise InvalidInput("importance is a number from 0 to 1.", code="importance.out_of_range", field="importance")
    shown = "\n".join([text, *topics])
    return _Checked(
        text=text,
        topics=topics,
        visibility=visibility,
        named=named,
        importance=float(importance),
        pii_kinds=list(pii.scan(shown).kinds),
        injected=bool(injection.scan(shown, injection.Level.STANDARD)),
    )


def _topics(given: Sequence[Any]) -> list[str]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidInput("topics is a list of words.", code="field.type", field="topics")
    if len(given) > MAX_TOPICS:
        raise InvalidInput(f"topics has at most {MAX_TOPICS} words.", code="topics.too_many", field="topics")
    found: dict[str, None] = {}
    for one in given:
        topic = limits.checked_text(one, field="topics", max_bytes=4 * MAX_TOPIC_CHARACTERS).strip()
        if len(topic) > MAX_TOPIC_CHARACTERS:
            raise TooLarge(
                f"A topic may have {MAX_TOPIC_CHARACTERS} characters.", code="topics.too_long", field="topics"
            )
        found[topic] = None
    return list(found)


def _parsed(target: Any) -> tuple[str, UUID | None]:
    word, _, rest = target.partition(":") if isinstance(target, str) else ("", "", "")
    if word == Visibility.AGENT:
        try:
            return word, UUID(rest)
        except ValueError:
            raise _unusable_target() from None
    if word not in Visibility.values:
        raise _unusable_target()
    try:
        return parse_scope(target)
    except InvalidScope:
        raise _unusable_target() from None


def _unusable_target() -> InvalidInput:
    return InvalidInput(
        "target is owner, project:<id>, squad:<id> or agent:<id>.", code="target.invalid", field="target"
    )


def _allowed_target(actor: Actor, capability: Capability, checked: _Checked) -> Target:
    """Resolve whom a message is for, once the token allows to publish that far."""
    if not capability.can_publish:
        raise exceeded("can_publish", "This token is for reading only. Nothing was published.")
    if not capability.reaches(checked.visibility):
        raise exceeded(
            "max_scope", f"This token reaches no further than {capability.max_scope}. Nothing was published."
        )
    if checked.visibility != Visibility.AGENT:
        written = checked.visibility if checked.named is None else f"{checked.visibility}:{checked.named}"
        return write_target(actor, written)
    assert checked.named is not None
    if checked.named == actor.agent_id:
        raise InvalidInput("An agent does not write to itself.", code="target.invalid", field="target")
    if not Agent.objects.filter(pk=checked.named).exists():
        raise NotFound("There is no agent with this id here.")
    return Target(Visibility.AGENT, checked.named)


def _judge(capability: Capability, checked: _Checked) -> None:
    if checked.importance > capability.max_importance:
        raise exceeded(
            "max_importance",
            f"This token allows an importance of {capability.max_importance} at most. Nothing was published.",
        )
    if checked.importance < LEAST_IMPORTANCE:
        raise InvalidInput(
            f"A message has an importance of {LEAST_IMPORTANCE} at least.",
            code="importance.too_low",
            field="importance",
        )
    if checked.injected:
        raise InvalidInput("The message reads like instructions to a model.", code="injection.blocked", field="text")


def _refuse_above_rate(actor: Actor, capability: Capability, moment: datetime) -> None:
    """Count what the agent has published within the hour, under whichever of its tokens."""
    since = moment - RATE_WINDOW
    accepted = AuditEvent.objects.filter(verb="publish", actor=actor.label, created_at__gt=since)
    counted = list(accepted.order_by("-created_at").values_list("created_at", flat=True)[: capability.publish_rate])
    if len(counted) < capability.publish_rate:
        return
    wait = max(1, -((moment - counted[-1] - RATE_WINDOW) // timedelta(seconds=1)))
    raise RateLimited(
        f"This token allows {capability.publish_rate} messages within an hour. Nothing was published; "
        f"wait {wait} seconds and try again.",
        code="bus.rate",
        retry_after=wait,
    )


def _insert(publisher_id: UUID, target: Target, checked: _Checked, ring: OwnerRing, moment: datetime) -> BusMessage:
    newest = BusMessage.objects.order_by("-published_at").values_list("published_at", flat=True).first()
    # Readers go on after the last message that they saw, so no message may come before one that is there.
    published_at = moment if newest is None or newest < moment else newest + _MICROSECOND
    message: BusMessage = BusMessage.objects.create(
        id=new_id(),
        owner_id=current_owner(),
        publisher_id=publisher_id,
        visibility=target.visibility,
        group_id=target.group_id,
        scope=target.scope,
        text=checked.text,
        topics=checked.topics,
        topic_hashes=sorted({topic_hash(ring, topic) for topic in checked.topics}),
        importance=checked.importance,
        pii_kinds=checked.pii_kinds,
        published_at=published_at,
        expires_at=moment + LIFE,
    )
    return message


def _keep_newest(moment: datetime) -> None:
    remove_expired(at=moment)
    oldest = BusMessage.objects.order_by("-published_at", "-pk").values_list("pk", flat=True)[MOST_MESSAGES:]
    surplus = list(oldest)
    if surplus:
        BusMessage.objects.filter(pk__in=surplus).delete()


def _take_turn() -> None:
    with connection.cursor() as cursor:
        cursor.execute(TAKE_TURN, [str(current_owner())])
