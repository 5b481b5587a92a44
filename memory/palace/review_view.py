"""Review items as plain values: what is in doubt, what it was drawn from, what it touches, and what deciding does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.models import Memory, ReviewKind, ReviewState
from memory.palace import review_words as words
from memory.palace.covering import coverer
from memory.palace.dates import Moment, moment, optional_moment
from memory.palace.presenters import Card, card
from memory.palace.review_contents import CONTENTS, Cover, Line, Material, Side
from memory.privacy import meaning
from memory.privacy.masking import masked, masked_value, values_of
from memory.privacy.pii import PiiTier
from memory.services.review_context import Touched
from memory.services.review_evidence import Evidence
from memory.services.review_payloads import EDITABLE
from memory.services.reviews import Reviewed

PREVIEW_CHARACTERS: Final = 160
IN_SIDES: Final = (ReviewKind.CONTRADICTION, "dispute")
"""Kinds whose memories stand in their sides already."""
SIMILAR_CHARACTERS: Final = 160


@dataclass(frozen=True, slots=True)
class Quotation:
    """Words that an item was drawn from, and whose they are."""

    memory_id: UUID
    text: str
    by: str
    source: str
    occurred: Moment


@dataclass(frozen=True, slots=True)
class TouchedView:
    """What stands already that an item touches.

    `known` are lines about names that are known, `new` names that are not, `relations` ties that stand, `similar`
    memories that say something like it.
    """

    known: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    ends: bool = False
    similar: tuple[Card, ...] = ()

    @property
    def nothing(self) -> bool:
        """Tell whether there is nothing to show."""
        return not (self.known or self.new or self.relations or self.similar)


@dataclass(frozen=True, slots=True)
class ItemView:
    """An item as its page, and with less of it a list, shows it. `masked` says that something is hidden."""

    id: UUID
    version: int
    kind: str
    kind_label: str
    question: str
    statement: str
    sides: tuple[Side, ...]
    lines: tuple[Line, ...]
    percent: int
    sureness: str
    reason: str
    approving: str
    rejecting: str
    readers: str
    created: Moment
    state: str
    state_label: str
    snoozed_until: Moment | None
    decided: Moment | None
    decided_by: str
    evidence: tuple[Quotation, ...]
    touched: TouchedView | None
    editable: bool
    waits: bool
    masked: bool
    revealed: bool


def item_view(
    reviewed: Reviewed,
    *,
    behind: Mapping[UUID, Memory],
    agents: Mapping[UUID, str],
    now: datetime,
    touched: Touched | None = None,
    revealed: bool = False,
    own: bool = True,
) -> ItemView:
    """Describe an item.

    Args:
        reviewed: the item with its evidence.
        behind: the memories behind it, see `memories_behind`; others in it do not matter.
        agents: names of the owner's agents.
        now: the present moment.
        touched: what it touches; None where that is not shown.
        revealed: show personal data, which is masked otherwise.
        own: whether the reader is the owner, who is spoken to then.
    """
    shown = _described(reviewed, behind, agents, now, touched, revealed=revealed, own=own)
    if revealed:
        return shown
    plain = _described(reviewed, behind, agents, now, touched, revealed=True, own=own)
    return replace(shown, masked=shown != replace(plain, revealed=False))


def preview(view: ItemView) -> str:
    """Give an item in one line, for lists."""
    said = view.statement or " · ".join(side.text for side in view.sides if side.text)
    return said if len(said) <= PREVIEW_CHARACTERS else f"{said[: PREVIEW_CHARACTERS - 1].rstrip()}…"


def _described(
    reviewed: Reviewed,
    behind: Mapping[UUID, Memory],
    agents: Mapping[UUID, str],
    now: datetime,
    touched: Touched | None,
    *,
    revealed: bool,
    own: bool,
) -> ItemView:
    item = reviewed.item
    cover = _plainly if revealed else _coverer(reviewed, behind)
    statement, sides, lines = CONTENTS[item.kind](
        Material(item.payload, cover, behind, touched, now, revealed=revealed)
    )
    waits = reviewed.state in (ReviewState.OPEN, ReviewState.SNOOZED)
    names = [cover(str(one)) for one in item.payload.get("names") or ()]
    return ItemView(
        id=item.pk,
        version=item.version,
        kind=item.kind,
        kind_label=str(words.KINDS[item.kind]),
        question=str(words.QUESTIONS[item.kind]),
        statement=statement,
        sides=tuple(sides),
        lines=tuple(Line(name, value) for name, value in lines if value),
        percent=round(item.confidence * 100),
        sureness=words.sureness(item.confidence),
        reason=words.reason(item.reason, names),
        approving=str(words.APPROVING[item.kind]),
        rejecting=str(words.REJECTING.get(item.kind, words.NOTHING_HAPPENS)),
        readers=words.readers(item.visibility, agents.get(item.scope), own=own),
        created=moment(item.created_at, now),
        state=reviewed.state,
        state_label=str(words.STATES[reviewed.state]),
        snoozed_until=optional_moment(item.snoozed_until if reviewed.state == ReviewState.SNOOZED else None, now),
        decided=optional_moment(None if waits else item.decided_at, now),
        decided_by="" if waits else _decider(item.decided_by, agents, own=own),
        evidence=tuple(
            _quotation(one, behind[one.memory_id], agents, now, revealed=revealed, own=own)
            for one in reviewed.evidence
            if one.memory_id in behind and item.kind not in IN_SIDES
        ),
        touched=None if touched is None else _touched(touched, item.kind, cover, now),
        editable=bool(EDITABLE[item.kind]),
        waits=waits,
        masked=False,
        revealed=revealed,
    )


def _plainly(value: str) -> str:
    return value


def _coverer(reviewed: Reviewed, behind: Mapping[UUID, Memory]) -> Cover:
    """Make what covers personal data in a proposal: what patterns find, and what the memories behind it hide."""
    rows = [behind[one.memory_id] for one in reviewed.evidence if one.memory_id in behind]
    kinds = sorted({kind for row in rows for kind in meaning.kinds_in(row.pii_kinds)})
    if kinds:
        return lambda value: masked(value, kinds, PiiTier.SENSITIVE).text if value else value
    known = {value: kind for row in rows for value, kind in values_of(row.text, row.pii_tier).items()}
    return lambda value: str(masked_value(value, known))


def _quotation(
    one: Evidence, row: Memory, agents: Mapping[UUID, str], now: datetime, *, revealed: bool, own: bool
) -> Quotation:
    covered = _plainly if revealed else coverer(row)
    by = str(covered(row.speaker or "")) or (
        agents.get(row.agent_id, _("an agent")) if row.agent_id else words.you(own=own)
    )
    return Quotation(
        memory_id=one.memory_id,
        text=one.text if revealed else masked(one.text, row.pii_kinds, row.pii_tier).text,
        by=by,
        source=str(covered(row.source or "")),
        occurred=moment(one.occurred_at, now),
    )


def _touched(found: Touched, kind: str, cover: Cover, now: datetime) -> TouchedView:
    if kind == ReviewKind.MERGE:
        return TouchedView()
    known: dict[str, None] = {}
    for standing in [one for every in found.entities.values() for one in every]:
        row = standing.entity
        times = ngettext("spoken of %(count)s time", "spoken of %(count)s times", row.mention_count)
        said = times % {"count": row.mention_count}
        known[f"{cover(row.name)} ({words.type_word(row.type)}), {said}"] = None
        known.update(dict.fromkeys(cover(line) for line in standing.relations))
    return TouchedView(
        known=tuple(known),
        new=tuple(cover(name) for name in found.new),
        relations=tuple(cover(line) for line in found.relations),
        ends=found.ends,
        similar=tuple(card(row, now, characters=SIMILAR_CHARACTERS) for row in found.similar),
    )


def _decider(written: str, agents: Mapping[UUID, str], *, own: bool) -> str:
    kind, _colon, agent_id = written.partition(":")
    if kind == "agent" and agent_id:
        return agents.get(UUID(agent_id), _("an agent"))
    known = {
        "person": words.you(own=own),
        "operator": _("whoever runs this server"),
        "staff": _("staff of this server"),
    }
    return known.get(kind, _("Loci"))
