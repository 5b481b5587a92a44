"""What a memory is tied to, as plain values: links, names, conversations, and what stands against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext

from memory.models import EdgeKind, Memory, ReviewKind, ReviewState
from memory.palace.covering import cover, former_text
from memory.palace.dates import Moment, moment
from memory.palace.memory_view import BEFORE
from memory.palace.numbers import local
from memory.palace.presenters import Card, card
from memory.services.conversations import Beside
from memory.services.graph.edges import Linked
from memory.services.reviews import Reviewed
from memory.services.ties import Spoken

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

PREVIEWED: Final = 140
QUOTED: Final = 400

OUTGOING: Final[Mapping[str, StrOrPromise]] = {
    EdgeKind.RELATED_TO: lazy("belongs with"),
    EdgeKind.CAUSED_BY: lazy("was caused by"),
    EdgeKind.SUPPORTS: lazy("supports"),
    EdgeKind.CONTRADICTS: lazy("contradicts"),
    EdgeKind.PART_OF: lazy("is part of"),
    EdgeKind.FOLLOWED_BY: lazy("was followed by"),
    EdgeKind.DERIVED_FROM: lazy("was drawn from"),
    EdgeKind.SIMILAR_TO: lazy("is like"),
}
INCOMING: Final[Mapping[str, StrOrPromise]] = {
    EdgeKind.RELATED_TO: lazy("belongs with"),
    EdgeKind.CAUSED_BY: lazy("caused"),
    EdgeKind.SUPPORTS: lazy("is supported by"),
    EdgeKind.CONTRADICTS: lazy("is contradicted by"),
    EdgeKind.PART_OF: lazy("has as a part"),
    EdgeKind.FOLLOWED_BY: lazy("followed"),
    EdgeKind.DERIVED_FROM: lazy("led to"),
    EdgeKind.SIMILAR_TO: lazy("is like"),
}
RULES: Final[Mapping[str, StrOrPromise]] = {
    "contested": lazy(
        "The later statement would stand, but the older one is weighty or yours, and the later one was only read out "
        "of a text. So you decide."
    ),
    "partly": lazy("The later statement contradicts only a part of what the older one says. So you decide."),
    "bus.contested": lazy("One agent told another something that stands against what was known. So you decide."),
}
LATER_STANDS: Final = lazy("The rule is that the statement made last stands, and the other becomes history.")


@dataclass(frozen=True, slots=True)
class LinkView:
    """A link as it reads from this memory; `card` is the other end."""

    id: UUID
    words: str
    relationship: str
    percent: str
    insight: UUID | None
    card: Card


@dataclass(frozen=True, slots=True)
class NameView:
    """Somebody or something that is spoken of."""

    id: UUID
    name: str
    type: str
    mentions: str


@dataclass(frozen=True, slots=True)
class QuotedTurn:
    """A turn that a memory rests on, with what was said before and after."""

    id: UUID
    session_id: UUID
    number: str
    since: str
    before: str
    text: str
    after: str


@dataclass(frozen=True, slots=True)
class Side:
    """One of two statements that cannot both hold; `card` is None where it is gone."""

    role: str
    card: Card | None
    here: bool
    said: Moment | None
    facts: list[str]


@dataclass(frozen=True, slots=True)
class PairView:
    """A contradiction as a pair, with the rule that decides it and where it stands."""

    item_id: UUID
    version: int
    sides: list[Side]
    rule: str
    verdict: str
    waits: bool
    can_undo: bool


@dataclass(frozen=True, slots=True)
class DisputeView:
    """A dispute of a memory."""

    item_id: UUID
    words: str
    when: Moment
    state: str
    waits: bool


def link_view(linked: Linked, now: datetime) -> LinkView:
    """Describe a link."""
    edge = linked.edge
    words = (OUTGOING if linked.outgoing else INCOMING)[edge.kind]
    return LinkView(
        id=edge.pk,
        words=str(words),
        relationship=former_text(edge.relationship, ()) if edge.relationship else "",
        percent=local(f"{edge.weight:.0%}"),
        insight=edge.insight_id,
        card=card(linked.memory, now, characters=PREVIEWED),
    )


def name_view(spoken: Spoken) -> NameView:
    """Describe somebody or something that is spoken of."""
    mentions = ngettext("spoken of %(count)s time", "spoken of %(count)s times", spoken.mentions)
    name = _("a name that cannot be read") if spoken.name is None else former_text(spoken.name, ())
    return NameView(spoken.id, name, type_word(spoken.type), mentions % {"count": spoken.mentions})


def quoted_turn(found: Beside) -> QuotedTurn | None:
    """Describe a turn that a memory rests on; None where it is in no conversation."""
    turn = found.turn
    if turn.session_id is None:
        return None
    return QuotedTurn(
        turn.pk,
        turn.session_id,
        str((turn.position or 0) + 1),
        str(max(0, (turn.position or 0) - BEFORE)),
        _quoted(found.before),
        _quoted(turn),
        _quoted(found.after),
    )


def pair_view(reviewed: Reviewed, rows: Mapping[UUID, Memory], here: UUID, now: datetime) -> PairView:
    """Describe a contradiction.

    Args:
        reviewed: its item of the review queue.
        rows: the memories on both sides that are there, by their ids.
        here: the memory whose page it is.
        now: the present moment.
    """
    item = reviewed.item
    verdicts = {
        ReviewState.APPROVED: _("Decided: the newer one stands."),
        ReviewState.REJECTED: _("Decided: both stand."),
    }
    return PairView(
        item_id=item.pk,
        version=item.version,
        sides=[
            _side(role, rows.get(UUID(str(item.payload[end]))), here, now)
            for end, role in (("older", _("The older")), ("newer", _("The newer")))
        ],
        rule=f"{LATER_STANDS} {RULES.get(item.reason, '')}".strip(),
        verdict=str(verdicts.get(ReviewState(item.state), _("Nobody has decided yet."))),
        waits=reviewed.state in (ReviewState.OPEN, ReviewState.SNOOZED),
        can_undo=item.state in (ReviewState.APPROVED, ReviewState.REJECTED),
    )


def dispute_view(reviewed: Reviewed, now: datetime) -> DisputeView:
    """Describe a dispute; personal data in its words is masked."""
    item = reviewed.item
    states = {
        ReviewState.APPROVED: _("found right"),
        ReviewState.REJECTED: _("found wrong"),
        ReviewState.SNOOZED: _("put off"),
    }
    return DisputeView(
        item_id=item.pk,
        words=former_text(str(item.payload.get("words", "")), ()),
        when=moment(item.created_at, now),
        state=states.get(ReviewState(reviewed.state), _("waiting for a decision")),
        waits=reviewed.state in (ReviewState.OPEN, ReviewState.SNOOZED),
    )


def sides_of(doubts: Sequence[Reviewed]) -> list[UUID]:
    """List the memories on the sides of contradictions."""
    payloads = [one.item.payload for one in doubts if one.item.kind == ReviewKind.CONTRADICTION]
    return [UUID(str(payload[end])) for payload in payloads for end in ("older", "newer")]


def type_word(value: str) -> str:
    """Name the type of somebody or something that is spoken of."""
    words = {
        "person": _("person"),
        "topic": _("topic"),
        "project": _("project"),
        "tool": _("tool"),
        "url": _("address"),
        "concept": _("thing"),
        "organization": _("organisation"),
    }
    return words.get(value, value)


def _side(role: str, row: Memory | None, here: UUID, now: datetime) -> Side:
    if row is None:
        return Side(role, None, False, None, [])
    facts = [
        _("importance %(number)s") % {"number": local(f"{row.importance:.2f}")},
        _("certainty %(number)s") % {"number": local(f"{row.confidence:.0%}")},
        _("stated by you") if row.agent_id is None else _("stated by an agent"),
    ]
    return Side(role, card(row, now, characters=QUOTED), row.pk == here, moment(row.occurred_at, now), facts)


def _quoted(row: Memory | None) -> str:
    if row is None:
        return ""
    flat = " ".join(cover(row).text.split())
    return flat if len(flat) <= QUOTED else flat[: QUOTED - 1].rstrip() + "…"
