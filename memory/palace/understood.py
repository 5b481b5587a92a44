"""What was understood of a statement, as a page shows it: plain values with personal data covered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from memory.palace.dates import day_words
from memory.palace.presenters import Card, card, label
from memory.privacy.masking import masked_value, values_of
from memory.services.understanding import Close, Understood
from memory.text.dates.spans import TimeSpan

PREVIEW_CHARACTERS = 140
MOST_SHOWN = 12


@dataclass(frozen=True, slots=True)
class CloseView:
    """A memory that says something like a statement; `percent` is written for machines and people alike."""

    card: Card
    percent: str


@dataclass(frozen=True, slots=True)
class UnderstoodView:
    """What was understood, in the order in which a page tells it."""

    same: UUID | None
    close: list[CloseView]
    by_words: bool
    entities: list[dict[str, str]]
    facts: list[dict[str, str]]
    dates: list[dict[str, str]]
    personal: list[str]
    injection: list[str]
    notes: list[str]

    @property
    def nothing(self) -> bool:
        """Tell whether the rules have found nothing in it."""
        return not (self.entities or self.facts or self.dates)


def understood_view(found: Understood, now: datetime) -> UnderstoodView:
    """Describe what was understood of a statement."""
    ready = found.ready
    covered: Any = partial(masked_value, known=values_of(ready.text, ready.pii_tier))
    return UnderstoodView(
        same=found.same,
        close=[_close(one, now) for one in found.close],
        by_words=found.by_words,
        entities=[{"name": covered(one.name), "sort": label(one.type)} for one in found.entities[:MOST_SHOWN]],
        facts=[{"text": covered(one.text), "kind": label(one.kind)} for one in found.facts[:MOST_SHOWN]],
        dates=[{"phrase": covered(one.phrase), "meant": _span(one)} for one in found.dates],
        personal=[label(kind.lower()) for kind in ready.pii_kinds],
        injection=[label(kind.lower()) for kind in ready.injection_kinds],
        notes=[_(note["message"]) for note in ready.notes],
    )


def _close(one: Close, now: datetime) -> CloseView:
    return CloseView(card(one.memory, now, characters=PREVIEW_CHARACTERS), str(round(one.likeness * 100)))


def _span(span: TimeSpan) -> str:
    """Write the days that a phrase names: one, or the first and the last of them."""
    first, last = span.starts_at, span.ends_at - timedelta(microseconds=1)
    shown = day_words(first)
    if first.date() == last.date():
        return shown
    return _("%(first)s to %(last)s") % {"first": shown, "last": day_words(last)}
