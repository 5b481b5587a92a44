"""Rows and hits as plain values for templates: everything is opened and decided before a template runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils.functional import Promise, lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy

from memory.models import Kind, Memory, Status
from memory.palace.covering import cover, coverer
from memory.palace.dates import Moment, day_words, moment, optional_moment
from memory.palace.marking import Piece, excerpt
from memory.palace.numbers import local
from memory.palace.setting_words import LABELS
from memory.palace.vocabulary import WORDS
from memory.services.recall import Hit
from memory.text.limits import CATEGORIES

PREVIEW_CHARACTERS: Final = 60
HUES: Final = 8
_HUE_OF: Final = {name: place % HUES for place, name in enumerate(sorted(CATEGORIES))}
ARM_NAMES: Final[Mapping[str, str | Promise]] = {
    "dense": pgettext_lazy("a way of searching", "meaning"),
    "lexical": pgettext_lazy("a way of searching", "words"),
    "graph": pgettext_lazy("a way of searching", "links"),
    "time": pgettext_lazy("a way of searching", "time"),
}


def ten(value: float) -> int:
    """Give a number from 0 to 1 on the scale from 1 to 10 that people see."""
    return min(10, max(1, round(value * 10)))


def label(word: str) -> str:
    """Write a name of a vocabulary as words in the language of the page: `task_result` becomes `task result`."""
    words = word.replace("_", " ")
    return _(words) if words in WORDS else words


def object_word(kind: str) -> str:
    """Write what something was done to; `archive` is an act elsewhere."""
    return pgettext("noun", "archive") if kind == "archive" else label(kind)


def reason_words(reason: str) -> str:
    """Write a reason in the language of the page, if it is one of ours; others stand as they were written."""
    if reason in LABELS:
        return str(LABELS[reason])
    return label(reason) if reason.replace("_", " ") in WORDS else reason


lazy_label = lazy(label, str)
"""The same for tables, which are made before there is a page."""


@dataclass(frozen=True, slots=True)
class Tag:
    """A category as a coloured word; the hue repeats, the word does not."""

    name: str
    value: str
    hue: int


def tag(category: str) -> Tag:
    """Make the tag of a category."""
    return Tag(label(category), category, _HUE_OF.get(category, 0))


@dataclass(frozen=True, slots=True)
class Card:
    """A memory in a list: a preview and the few things that tell it from others."""

    id: UUID
    preview: str
    tag: Tag
    kind: str
    importance: int
    created: Moment
    masked: bool
    status: str = Status.LIVE
    reason: str = ""
    retired: Moment | None = None


def card(row: Memory, now: datetime, *, characters: int = PREVIEW_CHARACTERS) -> Card:
    """Describe a memory for a list."""
    shown = cover(row)
    flat = " ".join(shown.text.split())
    preview = flat if len(flat) <= characters else flat[: characters - 1].rstrip() + "…"
    return Card(
        id=row.pk,
        preview=preview,
        tag=tag(row.category),
        kind=label(row.kind),
        importance=ten(row.importance),
        created=moment(row.created_at, now),
        masked=shown.hidden,
        status=row.status,
        reason=reason_words(row.archive_reason),
        retired=optional_moment(row.archived_at, now),
    )


def cards_with(rows: Sequence[Memory], word: str, now: datetime) -> list[Card]:
    """Describe the memories that hold a word in what a list shows of them; all of them when the word is blank."""
    wanted = word.casefold().split()

    def holds(row: Memory) -> bool:
        seen = f"{cover(row).text} {label(row.category)} {label(row.kind)} {' '.join(row.tags or ())}".casefold()
        return all(part in seen for part in wanted)

    return [card(row, now) for row in rows if holds(row)]


@dataclass(frozen=True, slots=True)
class ArmLine:
    """What one way of searching said about a hit."""

    name: str
    rank: str
    score: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The numbers that placed a hit; `terms` are name and value, without those that changed nothing."""

    arms: list[ArmLine]
    terms: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Bond:
    """What links a hit with the question: an entity by its name, or another hit by its place and id."""

    name: str = ""
    place: int = 0
    memory_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """Who told a memory and where it came from; what holds personal data is covered and has no value to search by."""

    agent_id: UUID | None
    source: str
    source_value: str


@dataclass(frozen=True, slots=True)
class HitView:
    """A hit with the reasons that a person can check.

    `words` are the matched ones; of a masked hit only those that are shown, since the others would tell what it hides.
    `percent` is written as numbers are in markup, and empty for what was listed and not searched for.
    """

    place: int
    id: UUID
    pieces: list[Piece]
    words: list[str]
    why: list[str]
    percent: str
    tag: Tag
    kind: str
    importance: int
    occurred: Moment
    masked: bool
    origin: Origin
    explanation: Explanation | None = None
    bond: Bond | None = None
    linked: bool = False


def listed_view(row: Memory, place: int, now: datetime) -> HitView:
    """Describe a memory that was listed by its filters, without a question."""
    covering = cover(row)
    return HitView(
        place=place,
        id=row.pk,
        pieces=excerpt(covering.text, ()).pieces,
        words=[],
        why=_validity(row, now),
        percent="",
        tag=tag(row.category),
        kind=label(row.kind),
        importance=ten(row.importance),
        occurred=moment(row.occurred_at, now),
        masked=covering.hidden,
        origin=_origin(row),
    )


def _origin(row: Memory) -> Origin:
    shown = coverer(row)(row.source) if row.source else ""
    return Origin(row.agent_id, shown, shown if shown == row.source else "")


def hit_view(hit: Hit, place: int, now: datetime, *, bond: Bond | None = None) -> HitView:
    """Describe a hit: the surroundings of its matched words, why it is there, and the numbers behind that.

    Args:
        hit: what was found.
        place: its place in the list, counted from 1.
        now: the present.
        bond: what links it with the question, where that is known.
    """
    row = hit.memory
    covering = cover(row)
    shown = excerpt(covering.text, set(hit.matched))
    return HitView(
        place=place,
        id=row.pk,
        pieces=shown.pieces,
        words=shown.words or ([] if covering.hidden else list(hit.matched[:6])),
        why=[*_why(hit.reasons), *_validity(row, now)],
        percent=str(round(hit.relevance * 100)),
        tag=tag(row.category),
        kind=label(row.kind),
        importance=ten(row.importance),
        occurred=moment(row.occurred_at, now),
        masked=covering.hidden,
        origin=_origin(row),
        bond=bond,
        linked=is_linked(hit),
        explanation=_explanation(hit),
    )


def is_linked(hit: Hit) -> bool:
    """Tell whether links between memories, and what they mention, have led to a hit."""
    return hit.reasons.get("arms", {}).get("graph", {}).get("rank") is not None


def _why(reasons: Mapping[str, Any]) -> list[str]:
    if reasons.get("fallback"):
        return [_("the letters stand in the text")]
    arms = reasons.get("arms", {})
    why = []
    if "dense" in arms:
        why.append(_("similar meaning %(score)s") % {"score": local(f"{max(arms['dense']['score'], 0.0):.2f}")})
    if arms.get("lexical", {}).get("rank") is not None:
        why.append(_("words: place %(place)s") % {"place": arms["lexical"]["rank"]})
    if arms.get("time", {}).get("rank") is not None:
        why.append(_("fits the time asked about"))
    return why


def _validity(row: Memory, now: datetime) -> list[str]:
    """Say that a memory does not hold now."""
    if row.valid_until is not None and row.valid_until <= now:
        return [_("no longer holds, since %(day)s") % {"day": day_words(row.valid_until)}]
    if row.valid_from is not None and row.valid_from > now:
        return [_("does not hold before %(day)s") % {"day": day_words(row.valid_from)}]
    return []


EVIDENCE_NAMES: Final[Mapping[str, str | Promise]] = {
    "spread_rank": gettext_lazy("rank together with the turns beside"),
    "second_before": gettext_lazy("the turn before the one before"),
    "conversation": gettext_lazy("best of its conversation"),
    "window": gettext_lazy("your words here and in the turns beside"),
    "subject": gettext_lazy("your words in its conversation"),
    "length": gettext_lazy("length"),
    "question": gettext_lazy("is a question itself"),
    "answers": gettext_lazy("follows a question"),
    "timely": gettext_lazy("fits the time asked about"),
    "time": gettext_lazy("names a time"),
    "number": gettext_lazy("holds a number"),
    "other_speaker": gettext_lazy("said by another one"),
    "late": gettext_lazy("words of like meaning"),
    "late_window": gettext_lazy("words of like meaning, turns beside included"),
}


ADJUSTMENTS: Final[Sequence[tuple[str, float, str | Promise]]] = (
    ("decay", 1.0, gettext_lazy("faded by age, ×")),
    ("importance", 1.0, gettext_lazy("importance, ×")),
    ("salience", 0.0, gettext_lazy("weight in use, +")),
    ("accesses", 0.0, gettext_lazy("recalled before, +")),
    ("freshness", 0.0, gettext_lazy("fresh, +")),
)
"""What changed a score after the arms, the value at which each changes nothing, and what people are told."""


def _explanation(hit: Hit) -> Explanation:
    reasons = hit.reasons
    arms = [
        ArmLine(
            str(ARM_NAMES.get(name, name)),
            _("not in its list") if arm["rank"] is None else str(arm["rank"]),
            local(f"{arm['score']:.3f}"),
        )
        for name, arm in reasons.get("arms", {}).items()
    ]
    terms = [(_("relevance"), local(f"{hit.relevance:.3f}")), (_("score"), local(f"{hit.score:.3f}"))]
    if "fused" in reasons:
        terms.append((_("together, before adjustments"), local(f"{reasons['fused']:.3f}")))
    for name, neutral, words in ADJUSTMENTS:
        if reasons.get(name, neutral) != neutral:
            terms.append((str(words), local(f"{reasons[name]:.3f}")))
    if shared := reasons.get("community", 0.0):
        sign = "+" if "evidence" in reasons else "× 1 +"
        terms.append((_("of a community asked about, %(sign)s") % {"sign": sign}, local(f"{shared:.3f}")))
    terms += [
        (
            _("evidence: %(name)s, +") % {"name": EVIDENCE_NAMES.get(name, name)},
            local(f"{term['weight']:g} × {term['value']:.3f} = {term['added']:.3f}"),
        )
        for name, term in reasons.get("evidence", {}).items()
    ]
    if rerank := reasons.get("rerank"):
        said = _("put here by %(name)s, before it stood at") % {"name": rerank["name"]}
        terms.append((said, str(rerank["from_rank"])))
    if hit.also:
        terms.append((_("memories that say the same and are not shown"), str(len(hit.also))))
    return Explanation(arms, terms)


KIND_CHOICES: Final = [(kind.value, lazy_label(kind.value)) for kind in Kind if kind != Kind.TURN]
CATEGORY_CHOICES: Final = [
    (name, lazy_label(name)) for name in sorted(CATEGORIES, key=lambda name: (name != "general", name))
]
