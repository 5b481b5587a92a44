"""Rows and hits as plain values for templates: everything is opened and decided before a template runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.models import Kind, Memory, Status
from memory.palace.covering import cover
from memory.palace.dates import Moment, moment, optional_moment
from memory.palace.marking import Piece, excerpt
from memory.services.recall import Hit
from memory.text.limits import CATEGORIES

PREVIEW_CHARACTERS: Final = 60
HUES: Final = 8
_HUE_OF: Final = {name: place % HUES for place, name in enumerate(sorted(CATEGORIES))}
ARM_NAMES: Final = {"dense": "meaning", "lexical": "words", "graph": "links", "time": "time"}


def ten(value: float) -> int:
    """Give a number from 0 to 1 on the scale from 1 to 10 that people see."""
    return min(10, max(1, round(value * 10)))


def label(word: str) -> str:
    """Write a name of a vocabulary as words: `task_result` becomes `task result`."""
    return word.replace("_", " ")


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
        kind=row.kind,
        importance=ten(row.importance),
        created=moment(row.created_at, now),
        masked=shown.hidden,
        status=row.status,
        reason=row.archive_reason,
        retired=optional_moment(row.archived_at, now),
    )


def cards_with(rows: Sequence[Memory], word: str, now: datetime) -> list[Card]:
    """Describe the memories that hold a word in what a list shows of them; all of them when the word is blank."""
    wanted = word.casefold().split()

    def holds(row: Memory) -> bool:
        seen = f"{cover(row).text} {label(row.category)} {row.kind} {' '.join(row.tags or ())}".casefold()
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
class HitView:
    """A hit with the reasons that a person can check.

    `words` are the matched ones; of a masked hit only those that are shown, since the others would tell what it hides.
    """

    place: int
    id: UUID
    pieces: list[Piece]
    words: list[str]
    why: list[str]
    percent: int
    tag: Tag
    kind: str
    importance: int
    occurred: Moment
    masked: bool
    explanation: Explanation


def hit_view(hit: Hit, place: int, now: datetime) -> HitView:
    """Describe a hit: the surroundings of its matched words, why it is there, and the numbers behind that."""
    row = hit.memory
    covering = cover(row)
    shown = excerpt(covering.text, set(hit.matched))
    return HitView(
        place=place,
        id=row.pk,
        pieces=shown.pieces,
        words=shown.words or ([] if covering.hidden else list(hit.matched[:6])),
        why=[*_why(hit.reasons), *_validity(row, now)],
        percent=round(hit.relevance * 100),
        tag=tag(row.category),
        kind=row.kind,
        importance=ten(row.importance),
        occurred=moment(row.occurred_at, now),
        masked=covering.hidden,
        explanation=_explanation(hit),
    )


def _why(reasons: Mapping[str, Any]) -> list[str]:
    if reasons.get("fallback"):
        return ["the letters stand in the text"]
    arms = reasons.get("arms", {})
    why = []
    if "dense" in arms:
        why.append(f"similar meaning {max(arms['dense']['score'], 0.0):.2f}")
    if arms.get("lexical", {}).get("rank") is not None:
        why.append(f"words: place {arms['lexical']['rank']}")
    if arms.get("time", {}).get("rank") is not None:
        why.append("fits the time asked about")
    return why


def _validity(row: Memory, now: datetime) -> list[str]:
    """Say that a memory does not hold now."""
    if row.valid_until is not None and row.valid_until <= now:
        return [f"no longer holds, since {row.valid_until:%d %B %Y}"]
    if row.valid_from is not None and row.valid_from > now:
        return [f"does not hold before {row.valid_from:%d %B %Y}"]
    return []


EVIDENCE_NAMES: Final = {
    "spread_rank": "rank together with the turns beside",
    "second_before": "the turn before the one before",
    "conversation": "best of its conversation",
    "window": "your words here and in the turns beside",
    "subject": "your words in its conversation",
    "length": "length",
    "question": "is a question itself",
    "answers": "follows a question",
    "timely": "fits the time asked about",
    "time": "names a time",
    "number": "holds a number",
    "other_speaker": "said by another one",
    "late": "words of like meaning",
    "late_window": "words of like meaning, turns beside included",
}


def _explanation(hit: Hit) -> Explanation:
    reasons = hit.reasons
    arms = [
        ArmLine(
            ARM_NAMES.get(name, name),
            "not in its list" if arm["rank"] is None else str(arm["rank"]),
            f"{arm['score']:.3f}",
        )
        for name, arm in reasons.get("arms", {}).items()
    ]
    terms = [("relevance", f"{hit.relevance:.3f}"), ("score", f"{hit.score:.3f}")]
    if "fused" in reasons:
        terms.append(("together, before adjustments", f"{reasons['fused']:.3f}"))
    for name, words in (("decay", "faded by age, ×"), ("importance", "importance, ×")):
        if reasons.get(name, 1.0) != 1.0:
            terms.append((words, f"{reasons[name]:.3f}"))
    for name, words in (
        ("salience", "weight in use, +"),
        ("accesses", "recalled before, +"),
        ("freshness", "fresh, +"),
    ):
        if reasons.get(name, 0.0):
            terms.append((words, f"{reasons[name]:.3f}"))
    if shared := reasons.get("community", 0.0):
        sign = "+" if "evidence" in reasons else "× 1 +"
        terms.append((f"of a community asked about, {sign}", f"{shared:.3f}"))
    terms += [
        (
            f"evidence: {EVIDENCE_NAMES.get(name, name)}, +",
            f"{term['weight']:g} × {term['value']:.3f} = {term['added']:.3f}",
        )
        for name, term in reasons.get("evidence", {}).items()
    ]
    if rerank := reasons.get("rerank"):
        terms.append((f"put here by {rerank['name']}, before it stood at", str(rerank["from_rank"])))
    if hit.also:
        terms.append(("memories that say the same and are not shown", str(len(hit.also))))
    return Explanation(arms, terms)


KIND_CHOICES: Final = [(kind.value, label(kind.value)) for kind in Kind if kind != Kind.TURN]
CATEGORY_CHOICES: Final = [
    (name, label(name)) for name in sorted(CATEGORIES, key=lambda name: (name != "general", name))
]
