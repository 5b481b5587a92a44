"""Looking for personal data by meaning: a language model reads stored texts, and what it is sure of raises their tier.

It is asked outside of transactions, and sees placeholders in place of what the patterns know, wherever it runs.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings as installation
from django.db.models import F, Func, IntegerField, Q

from memory.consolidation.asking import Asking, Unanswered
from memory.errors import KeysUnavailable
from memory.models import Memory, Status, owner_scope
from memory.ports import LanguageModel, Usage
from memory.privacy import injection, meaning, pii
from memory.privacy.meaning import Place, Verdict
from memory.privacy.placeholders import Placeholders
from memory.providers.composition import PRIVACY, language_model
from memory.recall.vocabulary import vocabularies
from memory.services.embedding import embed_texts
from memory.services.hidden_places import keep_places, spoken
from memory.services.settings import current_settings
from memory.services.writing import LONG_SEALED, Embedded, insert_vectors, remove_vectors

logger = logging.getLogger(__name__)

OFF, FLAGGED, ALL = "off", "flagged", "all"
MOST_TEXTS: Final = 40
"""Texts of one look; each costs a question, and a second one where its answer cannot be used."""
MOST_SECONDS: Final = 20.0
MOST_ERRORS: Final = 3
"""Answers that do not come or cannot be used, after which a look ends."""
AFTER_ERRORS: Final = timedelta(hours=1)


@dataclass(slots=True)
class Looked:
    """What came of a look.

    Attributes:
        looked: texts that were judged; `raised` of them got kinds or a higher tier, `reembedded` a vector without the
            phrases that tell it.
        changed: texts that were changed or retired while the model read them; they are left for another look.
        unreadable: texts that do not open.
        errors: answers that did not come or could not be used.
        given_up: texts whose answer could not be used although the model answered about others; they are not asked
            about again until they change.
        aborted: whether there were too many errors to go on.
        more: whether there are texts left.
        codes: of the errors, each once.
    """

    looked: int = 0
    raised: int = 0
    reembedded: int = 0
    changed: int = 0
    unreadable: int = 0
    errors: int = 0
    given_up: int = 0
    aborted: bool = False
    more: bool = False
    usage: Usage = field(default_factory=Usage)
    codes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Text:
    """A stored text as it was when the model was asked about it."""

    row: Memory
    text: str


def classify_flagged(*, owner_id: UUID, at: datetime) -> tuple[int, datetime | None]:
    """Look at an owner's texts that the patterns have flagged, and at long ones; the job `classify`.

    Returns:
        How many were judged, and when to go on: at once while there are more, in an hour after too many errors. Nothing
        happens where the owner has not switched it on or no language model is configured.
    """
    with owner_scope(owner_id):
        wished = current_settings()["values"]["privacy_model"]
    if wished == OFF or not installation.LLM_BASE_URL:
        return 0, None
    found = look(owner_id=owner_id, model=language_model(), at=at)
    if found.aborted:
        logger.warning("looking for personal data of owner %s ended after %s errors", owner_id, found.errors)
        return found.looked, at + AFTER_ERRORS
    return found.looked, at if found.more else None


def look(
    *,
    owner_id: UUID,
    model: LanguageModel,
    at: datetime,
    rest: bool = False,
    beat: Callable[[], None] = lambda: None,
) -> Looked:
    """Let a model judge texts that none has judged yet, the newest first, at most 40 and for some 20 seconds.

    Args:
        owner_id: whose texts.
        model: who is asked.
        at: the moment that is noted.
        rest: all live texts, and not only those that are flagged or have 999 bytes and more.
        beat: called before each question.

    Returns:
        What came of it. Errors are counted and end the look at the third; what was found until then is stored.
    """
    with owner_scope(owner_id):
        waiting = list(_waiting(rest).values_list("pk", flat=True)[: MOST_TEXTS + 1])
    found = Looked(more=len(waiting) > MOST_TEXTS)
    chosen = waiting[:MOST_TEXTS]
    # A text that no answer can be had about must not stand before the others every time.
    random.shuffle(chosen)
    _Look(owner_id, model, at, found).over(chosen, beat)
    return found


def _waiting(rest: bool) -> Any:
    rows = Memory.objects.filter(status=Status.LIVE, classified_at=None)
    if not rest:
        # Stored texts are ASCII; their bytes are known without fetching those that the database keeps apart.
        sealed = Func(F("text"), function="octet_length", output_field=IntegerField())
        rows = rows.alias(sealed=sealed).filter(Q(pii_tier__gt=0) | Q(sealed__gte=LONG_SEALED))
    return rows.order_by("-created_at", "-pk")


class _Look:
    """One look at an owner's texts."""

    def __init__(self, owner_id: UUID, model: LanguageModel, at: datetime, found: Looked) -> None:
        # Placeholders stand in for known values also where the model runs here: it does not need them.
        self._asking = Asking(model, component=PRIVACY, local=False)
        self._owner_id, self._at, self._found = owner_id, at, found
        self._unanswered: list[_Text] = []

    def over(self, memory_ids: list[UUID], beat: Callable[[], None]) -> None:
        """Go through texts until there are too many errors or the time is up."""
        found, deadline = self._found, time.monotonic() + MOST_SECONDS
        for memory_id in memory_ids:
            if found.errors >= MOST_ERRORS:
                found.aborted = True
                break
            if time.monotonic() >= deadline:
                found.more = True
                break
            beat()
            seen = self._open(memory_id)
            if seen is not None:
                self._judge(seen)
        found.aborted = found.aborted or found.errors >= MOST_ERRORS
        self._give_up()

    def _open(self, memory_id: UUID) -> _Text | None:
        with owner_scope(self._owner_id):
            row = Memory.objects.filter(pk=memory_id, status=Status.LIVE, classified_at=None).first()
            try:
                if row is not None:
                    _ = row.speaker
                    return _Text(row, row.text)
            except KeysUnavailable:
                self._found.unreadable += 1
                return None
        self._found.changed += 1
        return None

    def _judge(self, seen: _Text) -> None:
        found = self._found
        try:
            verdict = self._ask(seen.text)
        except Unanswered as error:
            found.usage += error.usage
            found.errors += 1
            if error.machine_code not in found.codes:
                found.codes.append(error.machine_code)
            if error.machine_code == "llm.unusable":
                self._unanswered.append(seen)
            return
        places: tuple[Place, ...] = ()
        embedded = None
        if verdict.counts:
            places = meaning.places_of(seen.text, verdict.phrases, kind=meaning.leading(verdict.kinds))
            if places:
                embedded = embed_texts([spoken(seen.row, meaning.without(seen.text, places))], owner_id=self._owner_id)
        self._store(seen, verdict if verdict.counts else Verdict(), places, embedded)

    def _ask(self, text: str) -> Verdict:
        placeholders = Placeholders()
        shown = meaning.windows(injection.clean(placeholders.conceal(text)))
        answer = self._asking.json(meaning.INSTRUCTION, shown, schema=meaning.SCHEMA, check=meaning.read)
        self._found.usage += answer.usage
        verdict = answer.value
        phrases = tuple(placeholders.restore(phrase) for phrase in verdict.phrases)
        return Verdict(verdict.kinds, verdict.confidence, phrases)

    def _store(self, seen: _Text, verdict: Verdict, places: tuple[Place, ...], embedded: Embedded | None) -> None:
        """Store a verdict, unless the memory says something else by now or somebody else has judged it."""
        found = self._found
        with owner_scope(self._owner_id):
            row = self._locked(seen)
            if row is None:
                found.changed += 1
                return
            kinds, tier = judged(row, verdict)
            raised = sorted(kinds) != sorted(row.pii_kinds) or tier != row.pii_tier
            Memory.objects.filter(pk=row.pk).update(pii_kinds=kinds, pii_tier=tier, classified_at=self._at)
            keep_places(row, places)
            if places:
                # The vector of the whole text goes in any case; where there is no other yet, words find the memory.
                remove_vectors(row, now=self._at, queued=embedded is None)
                if embedded is not None:
                    insert_vectors([row], embedded)
                found.reembedded += 1
        found.looked += 1
        found.raised += raised
        if raised:
            vocabularies.forget(self._owner_id)

    def _locked(self, seen: _Text) -> Memory | None:
        rows = Memory.objects.select_for_update(no_key=True).filter(pk=seen.row.pk, status=Status.LIVE)
        row: Memory | None = rows.filter(version=seen.row.version, classified_at=None).first()
        return row

    def _give_up(self) -> None:
        """Let go of texts that alone were the trouble; where no answer could be used, the model is, and all wait."""
        if not self._found.looked:
            return
        for seen in self._unanswered:
            with owner_scope(self._owner_id):
                row = self._locked(seen)
                if row is not None:
                    Memory.objects.filter(pk=row.pk).update(classified_at=self._at)
                    self._found.given_up += 1


def judged(row: Memory, verdict: Verdict) -> tuple[list[str], int]:
    """Give the kinds and the tier of a memory with a verdict about its present text.

    What the patterns found stays, so that no verdict lowers it. Kinds by meaning that are there already were kept from
    the text before a change, until this verdict.
    """
    by_pattern = [kind for kind in row.pii_kinds if kind in pii.KINDS]
    tier = max((pii.KINDS[kind] for kind in by_pattern), default=pii.PiiTier.CLEAR)
    return sorted({*by_pattern, *verdict.kinds}), int(max(tier, meaning.tier_of(verdict.kinds)))
