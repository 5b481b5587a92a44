"""What is to be remembered, checked and made ready: everything that needs no database and no model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.crypto.keyring import OwnerRing
from memory.errors import InvalidInput, TooLarge
from memory.models import Kind, LabelKind, Role, SummaryLevel, Tier
from memory.privacy import injection, pii
from memory.recall.metadata import entries as metadata_entries
from memory.text import limits
from memory.text.signals import TextSignals, text_signals
from memory.text.tokens import analyse

MAX_LABELS: Final = 50
MAX_LABEL_CHARACTERS: Final = 200
MAX_METADATA_BYTES: Final = 16 * 1024
MAX_SMALLINT: Final = 32767

TIER_OF_KIND: Final[Mapping[str, str]] = {
    Kind.TURN: Tier.EPISODIC,
    Kind.SUMMARY: Tier.EPISODIC,
    Kind.SKILL: Tier.PROCEDURAL,
    Kind.REFLECTION: Tier.REFLECTION,
    Kind.PATTERN: Tier.REFLECTION,
}
STORABLE_TIERS: Final = frozenset(Tier) - {Tier.WORKING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One memory as it came in, before any check.

    Only `text` is required. A blank `category` counts as `general`, as one left out does. `tier` follows from the kind
    when left out, the moments follow from the present. `importance` and `confidence` are numbers from 0 to 1.
    """

    text: Any
    kind: str = Kind.NOTE
    category: str | None = None
    tier: str | None = None
    summary_level: str = SummaryLevel.RAW
    importance: float | None = None
    confidence: float = 1.0
    tags: Sequence[str] = ()
    topics: Sequence[str] = ()
    source: str | None = None
    metadata: Mapping[str, Any] | None = None
    occurred_at: Any = None
    valid_from: Any = None
    valid_until: Any = None
    expires_at: Any = None
    role: str = ""
    speaker: str | None = None
    tool_name: str | None = None
    call_id: str | None = None


@dataclass(slots=True)
class Ready:
    """A checked memory with all that is derived from its text; `notes` tell the caller what was changed or noticed."""

    text: str
    redacted: str
    kind: str
    tier: str
    category: str
    summary_level: str
    importance: float
    confidence: float
    tags: list[str]
    topics: list[str]
    source: str | None
    metadata: dict[str, Any] | None
    moments: dict[str, datetime | None]
    role: str
    speaker: str | None
    tool_name: str | None
    call_id: str | None
    pii_kinds: list[str]
    pii_tier: int
    injection_kinds: list[str]
    signals: TextSignals
    terms: dict[int, int]
    length: int
    content_hash: bytes
    labels: list[tuple[int, int]]
    speaker_hashes: list[int]
    name_hashes: list[int]
    notes: list[dict[str, str]] = field(default_factory=list)
    position: int | None = None
    reply_to: UUID | None = None

    @property
    def embeddable(self) -> str:
        """Give the text that is embedded: redacted, with the speaker before it."""
        return f"{self.speaker}: {self.redacted}" if self.speaker else self.redacted


def make_ready(draft: Draft, *, ring: OwnerRing) -> Ready:
    """Check a draft and derive redaction, signals, keyed words and hashes from it.

    Raises:
        InvalidInput, TooLarge: with the code of the first thing that is wrong; nothing has been stored.
    """
    text = limits.checked_text(draft.text, field="text")
    kind = _choice(Kind, draft.kind, "kind")
    tier = _choice(Tier, draft.tier or TIER_OF_KIND.get(kind, Tier.SEMANTIC), "tier")
    if tier not in STORABLE_TIERS:
        raise InvalidInput("Working memory is not stored this way.", code="tier.invalid", field="tier")
    if draft.category is not None and not isinstance(draft.category, str):
        raise InvalidInput("category is a word.", code="field.type", field="category")
    category, known = limits.normalise_category(draft.category)
    notes = [] if known else [{"code": "category.unknown", "message": "Unknown category; stored as general."}]
    report = pii.scan(text)
    speaker, source = _line(draft.speaker, "speaker"), _line(draft.source, "source")
    tags, topics = _labels(draft.tags, "tags"), _labels(draft.topics, "topics")
    # Whatever may stand in a prompt one day is looked at, not the text alone.
    shown = "\n".join([text, speaker or "", source or "", *tags, *topics])
    kinds = list(injection.scan(shown, injection.Level.STANDARD))
    if kinds:
        notes.append(
            {"code": "injection.marked", "message": "The text reads like instructions to a model and is marked so."}
        )
    metadata = _metadata(draft.metadata)
    entries, more = metadata_entries(metadata)
    if more:
        message = f"Memories can be filtered by the first {len(entries)} values of their metadata; the others are kept."
        notes.append({"code": "metadata.many", "message": message})
    analysed = analyse(f"{speaker}: {text}" if speaker else text)
    signals = text_signals(text, speaker=speaker, analysis=analysed)
    return Ready(
        text=text,
        redacted=pii.redact(text, report),
        kind=kind,
        tier=tier,
        category=category,
        summary_level=_choice(SummaryLevel, draft.summary_level, "summary_level"),
        importance=_unit(0.5 if draft.importance is None else draft.importance, "importance"),
        confidence=_unit(draft.confidence, "confidence"),
        tags=tags,
        topics=topics,
        source=source,
        metadata=metadata,
        moments=_moments(draft),
        role=_choice(Role, draft.role, "role") if draft.role else "",
        speaker=speaker,
        tool_name=_line(draft.tool_name, "tool_name"),
        call_id=_line(draft.call_id, "call_id"),
        pii_kinds=list(report.kinds),
        pii_tier=int(report.tier),
        injection_kinds=kinds,
        signals=signals,
        terms={ring.word(term): min(count, MAX_SMALLINT) for term, count in analysed.frequencies.items()},
        length=min(analysed.length, MAX_SMALLINT),
        content_hash=content_hash(text, ring=ring),
        labels=_hashed_labels(
            ring, tags=tags, topics=topics, source=source, speaker=speaker, names=signals.names, entries=entries
        ),
        speaker_hashes=sorted(ring.name(word) for word in signals.speaker),
        name_hashes=sorted(ring.name(name) for name in signals.names),
        notes=notes,
    )


def refuse_expired(ready: Ready, *, now: datetime) -> None:
    """Raise InvalidInput for a memory whose time is over before it is stored: no recall could find it."""
    expires_at = ready.moments["expires_at"]
    if expires_at is not None and expires_at <= now:
        raise InvalidInput("expires_at lies in the past.", code="date.past", field="expires_at")


def content_hash(text: str, *, ring: OwnerRing) -> bytes:
    """Hash what a statement says, whatever its spacing."""
    return ring.digest(" ".join(text.split()))


def source_segments(source: str) -> list[str]:
    """List the path prefixes of a namespaced source, each of which can be filtered by: `user:al/chat` gives two."""
    parts = source.casefold().split("/")
    return ["/".join(parts[: index + 1]) for index in range(len(parts))]


def _hashed_labels(
    ring: OwnerRing,
    *,
    tags: Sequence[str],
    topics: Sequence[str],
    source: str | None,
    speaker: str | None,
    names: Sequence[str],
    entries: Sequence[str],
) -> list[tuple[int, int]]:
    found: dict[tuple[int, int], None] = {}
    for kind, words in (
        (LabelKind.TAG, [tag.casefold() for tag in tags]),
        (LabelKind.TOPIC, [topic.casefold() for topic in topics]),
        (LabelKind.SOURCE, source_segments(source) if source else []),
        (LabelKind.SPEAKER, [speaker.casefold()] if speaker else []),
        (LabelKind.NAME, names),
        (LabelKind.METADATA, entries),
    ):
        found.update(((int(kind), ring.name(word)), None) for word in words)
    return list(found)


def _choice(choices: Any, value: Any, name: str) -> str:
    if value not in choices.values:
        raise InvalidInput(f"{name} is one of {', '.join(choices.values)}.", code=f"{name}.invalid", field=name)
    return str(value)


def _unit(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{name} is a number.", code="field.type", field=name)
    if not 0 <= value <= 1:
        raise InvalidInput(f"{name} is a number from 0 to 1.", code=f"{name}.out_of_range", field=name)
    return float(value)


def _line(value: str | None, name: str) -> str | None:
    if value is None or value == "":
        return None
    text = limits.checked_text(value, field=name, max_bytes=4 * MAX_LABEL_CHARACTERS)
    if len(text) > MAX_LABEL_CHARACTERS:
        raise TooLarge(f"{name} may have {MAX_LABEL_CHARACTERS} characters.", code=f"{name}.too_long", field=name)
    return text.strip()


def _labels(values: Sequence[str], name: str) -> list[str]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise InvalidInput(f"{name} is a list of words.", code="field.type", field=name)
    if len(values) > MAX_LABELS:
        raise InvalidInput(f"{name} has at most {MAX_LABELS} words.", code=f"{name}.too_many", field=name)
    if any(isinstance(value, str) and limits.is_blank(value) for value in values):
        raise InvalidInput(f"A word of {name} is empty or shows nothing.", code=f"{name}.invalid", field=name)
    lines = [_line(value, name) for value in values]
    return list(dict.fromkeys(line for line in lines if line))


def _metadata(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if not value:
        return None
    if not isinstance(value, Mapping):
        raise InvalidInput("metadata is an object.", code="field.type", field="metadata")
    try:
        size = len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            "metadata must be plain JSON without half characters or infinite numbers.",
            code="metadata.invalid",
            field="metadata",
        ) from error
    if size > MAX_METADATA_BYTES:
        raise TooLarge(f"metadata may have {MAX_METADATA_BYTES} bytes.", code="metadata.too_large", field="metadata")
    if any("\x00" in text for text in _texts(value)):
        raise InvalidInput(
            "metadata holds a NUL character, which cannot be stored.", code="metadata.invalid", field="metadata"
        )
    return dict(value)


def _texts(value: Any) -> Iterator[str]:
    """Give every name and text of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def _moments(draft: Draft) -> dict[str, datetime | None]:
    names = ("occurred_at", "valid_from", "valid_until", "expires_at")
    moments = {
        name: None if (value := getattr(draft, name)) is None else limits.checked_moment(value, field=name)
        for name in names
    }
    start, end = moments["valid_from"], moments["valid_until"]
    if start and end and end < start:
        raise InvalidInput("valid_until lies before valid_from.", code="date.order", field="valid_until")
    return moments
