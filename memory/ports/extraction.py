"""What is drawn from texts, and who draws it: the shapes that every extractor gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One text to draw from.

    Attributes:
        key: names the passage among those of one call; what is drawn from it cites the key.
        text: what was said or stated.
        role: `user`, `assistant`, or empty for a statement that was stored as such.
        speaker: who said it, where that is known.
        occurred_at: when, aware; phrases such as "yesterday" count from it.
        before: what was said just before in the same conversation, for understanding only.
    """

    key: str
    text: str
    occurred_at: datetime
    role: str = ""
    speaker: str | None = None
    before: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedEntity:
    """Something that is spoken of; `type` is one of the seven entity types."""

    name: str
    type: str = "concept"
    aliases: tuple[str, ...] = ()
    properties: Mapping[str, Any] = field(default_factory=dict)
    importance: float = 0.5
    confidence: float = 1.0
    passages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedRelation:
    """How one entity stands to another.

    `ended` says that it no longer holds ("moved away from Whitefield"): what is open is closed at `valid_until`, or
    when the passage occurred.
    """

    source: str
    label: str
    target: str
    source_type: str = "concept"
    target_type: str = "concept"
    weight: float = 0.5
    confidence: float = 1.0
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    ended: bool = False
    evidence: str = ""
    passage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a fact claims, in normal form, so that one that says the opposite can be told.

    Attributes:
        subject: whose, the name of an entity; the speaker is `user` where no name is known.
        attribute: what of it, for example `likes`, `lives_in`, `birthday`.
        value: which, in normal form, for example `chinese food`.
        polarity: 1 where it holds, -1 where it does not ("hates" denies "likes").
        single: an attribute with one value at a time, so that another value contradicts.
    """

    subject: str
    attribute: str
    value: str
    polarity: int = 1
    single: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFact:
    """A statement that stands by itself.

    Attributes:
        text: the statement, at most 280 characters and an ellipsis.
        kind: `fact`, `preference`, `decision` or `instruction`.
        category: one of the product's categories.
        importance: by the three bands: 0.8-1.0 critical, 0.4-0.7 useful, 0.1-0.3 minor.
        confidence: how sure the extractor is, 0-1; missing counts as 1.
        occurred_at, valid_from, valid_until: where the text says so.
        claim: what it claims, where that can be told.
    """

    text: str
    kind: str = "fact"
    category: str = "general"
    importance: float = 0.5
    confidence: float = 1.0
    entities: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    claim: Claim | None = None
    evidence: str = ""
    passage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedEvent:
    """Something that happened; `occurred_at` is the passage's own time where the text names none."""

    text: str
    occurred_at: datetime
    participants: tuple[str, ...] = ()
    confidence: float = 1.0
    passage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedCause:
    """That one thing led to another, with the entities that both are about where these are known."""

    cause: str
    effect: str
    cause_entity: str | None = None
    effect_entity: str | None = None
    confidence: float = 1.0
    passage: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a model was used for: calls, those that failed, and tokens."""

    calls: int = 0
    failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Give both together."""
        return Usage(
            self.calls + other.calls,
            self.failures + other.failures,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )


@dataclass(frozen=True, slots=True)
class Extract:
    """What one call drew from its passages.

    `failed` maps the key of each passage from which nothing could be drawn to a code that says why: these are kept,
    listed and tried again. `left_out` counts by code the single items that could not be used.
    """

    entities: Sequence[ExtractedEntity] = ()
    relations: Sequence[ExtractedRelation] = ()
    facts: Sequence[ExtractedFact] = ()
    events: Sequence[ExtractedEvent] = ()
    causes: Sequence[ExtractedCause] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)


@runtime_checkable
class Extractor(Protocol):
    """Draws entities, relations, facts, events and causes from texts."""

    @property
    def name(self) -> str:
        """Name the extractor in reports, for example `rules` or `llm`."""

    @property
    def prompts(self) -> bool:
        """Tell whether texts become part of a prompt, so that a call costs and must be outside any transaction."""

    def extract(self, passages: Sequence[Passage]) -> Extract:
        """Draw from passages; never called inside a database transaction.

        Args:
            passages: at least one, with different keys, of one scope.

        Returns:
            What was drawn. An extractor that cannot use a passage says so in `failed` and goes on with the others; it
            raises nothing for what a text or a model's answer holds.
        """
