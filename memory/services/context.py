"""The context block: recalled memories as text for a prompt, within a token budget and cleaned of instructions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from memory.errors import InvalidInput
from memory.ids import new_id
from memory.models import Memory, owner_scope
from memory.privacy import injection
from memory.recall.gate import Verdict
from memory.services.actors import Actor, Permission
from memory.services.agent_settings import settings_for
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.questions import RecallRequest
from memory.services.recall import Hit, Recalled, recall
from memory.text import limits

# Prax counts four characters a token; exact counts would need the tokeniser of a model that is not known here.
CHARACTERS_A_TOKEN: Final = 4
LONGEST_LINE: Final = 600
LONGEST_ORIGIN: Final = 40
ORDINARY: Final = re.compile(r"[\w:.@-]+")
# What a block may have for a model with a context window of at least so many tokens (Engram).
LARGEST_IN_CHARACTERS: Final = ((100_000, 8_000), (32_000, 6_000), (8_000, 4_000), (0, 2_000))
SHARE_OF_WINDOW: Final = 0.15
TOKENS_OF_A_MEMORY: Final = 60
FEWEST, MOST = 2, 250
SMALLEST_WINDOW, LARGEST_WINDOW = 256, 100_000_000
AUTO_RECALL_OFF: Final = "auto_recall.off"
"""Why a block is empty that nobody has asked for."""
LEVELS: Final[Mapping[str, injection.Level]] = {level.name.lower(): level for level in injection.Level}


@dataclass(frozen=True, slots=True)
class BlockFormat:
    """One published form of the block: its first and last line, and how a memory's line begins."""

    head: str
    line: Callable[[Memory], str]
    foot: str = ""


def _day(row: Memory) -> str:
    return f"{row.occurred_at:%Y-%m-%d}"


def _origin(row: Memory) -> str:
    """Name where a memory comes from, in one word that cannot end its bracket."""
    source = "".join(ORDINARY.findall(row.source.split("/")[0]))[:LONGEST_ORIGIN] if row.source else ""
    return source or ("conversation" if row.session_id else row.kind)


def _kind_beside_origin(row: Memory) -> str:
    """Name the kind, unless the origin says it already."""
    return "" if _origin(row) == row.kind else f"({row.kind}) "


FORMATS: Final[Mapping[str, BlockFormat]] = {
    "prax": BlockFormat(
        "## Relevant Memories", lambda row: f"- [{_origin(row)}, {_day(row)}] {_kind_beside_origin(row)}"
    ),
    "praxis": BlockFormat("Relevant memory:", lambda row: f"- ({row.kind}) {_day(row)}: "),
    "cortex": BlockFormat("--- Relevant Memory ---", lambda row: f"[{row.tier}] {_day(row)}: ", "---"),
}


@dataclass(frozen=True, slots=True)
class Shape:
    """How a block is written, and what was asked of recall for it.

    `characters` is the room for all of the block, `limit` the most memories and `threshold` the least relevance.
    """

    form: BlockFormat
    characters: int
    level: injection.Level
    limit: int
    threshold: float


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a block: the hit that it is made of, and whether its text was cleaned of instructions or cut."""

    hit: Hit
    text: str
    cleaned: bool
    shortened: bool


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """Text for a prompt; empty when nothing was found. `memory_ids` stand in it, in its order."""

    text: str
    tokens: int
    memory_ids: list[UUID]
    omitted: int
    recalled: Recalled
    shape: Shape


def build_context(
    *,
    actor: Actor,
    request: RecallRequest,
    form: str | None = None,
    max_tokens: int | None = None,
    cleaning: str | None = None,
    context_window: int | None = None,
    asked: bool = False,
) -> ContextBlock:
    """Recall and write a block of at most `max_tokens` tokens, in whole lines, best memory first.

    Every line shows the kind and day of its memory. Line breaks inside a memory become spaces and phrases that address
    a model are replaced, so that a stored text can neither end the block nor give orders.

    Args:
        actor: who asks.
        request: what is recalled; limit and threshold are the owner's settings when left out.
        form: `prax`, `praxis` or `cortex`; the owner's setting when left out.
        max_tokens: between 50 and 32,000; the owner's setting when left out.
        cleaning: `standard`, `strict` or `paranoid`; by the window when left out, `standard` where none is named.
        context_window: tokens of the model's context window. The smaller it is the stricter the cleaning and the
            smaller the block: at most 8,000, 6,000, 4,000 or 2,000 characters, and as many memories as 15 % of the
            window hold, between 2 and 250.
        asked: whether somebody has asked for it. A block that a program adds to a prompt by itself is empty, with
            `auto_recall.off` among what could not be done, where an agent asks for which auto-recall is switched off.

    Raises:
        InvalidInput: an unknown form or level, a budget or window out of bounds; and what `recall` raises.
    """
    with owner_scope(actor.owner_id):
        settings = settings_for(actor)
    form = form or settings["context_format"]
    budget = settings["context_tokens"] if max_tokens is None else max_tokens
    if form not in FORMATS:
        raise InvalidInput(f"format is one of {', '.join(FORMATS)}.", code="format.invalid", field="format")
    if cleaning is not None and cleaning not in LEVELS:
        raise InvalidInput(f"cleaning is one of {', '.join(LEVELS)}.", code="cleaning.invalid", field="cleaning")
    if isinstance(budget, bool) or not 50 <= budget <= 32_000:
        raise InvalidInput(
            "max_tokens is a number from 50 to 32000.", code="max_tokens.out_of_range", field="max_tokens"
        )
    limit = settings["recall_limit"] if request.limit is None else request.limit
    characters = budget * CHARACTERS_A_TOKEN
    level = LEVELS[cleaning or "standard"]
    if context_window is not None:
        window = _checked_window(context_window)
        limit = min(limit, max(FEWEST, min(int(window * SHARE_OF_WINDOW / TOKENS_OF_A_MEMORY), MOST)))
        characters = min(characters, next(most for least, most in LARGEST_IN_CHARACTERS if window >= least))
        level = LEVELS[cleaning] if cleaning else injection.level_for_window(window)
    threshold = settings["recall_threshold"] if request.threshold is None else request.threshold
    shape = Shape(FORMATS[form], characters, level, limit, threshold)
    if actor.agent_id is not None and not settings["auto_recall"] and not asked:
        return _nothing(actor, request, shape, profile=settings["recall_profile"])
    answer = recall(actor=actor, request=replace(request, sort="context", limit=limit, threshold=threshold))
    return _write(answer, shape)


def _nothing(actor: Actor, request: RecallRequest, shape: Shape, *, profile: str) -> ContextBlock:
    """Answer without a look at any memory, after the checks that every request is put to."""
    require_memory()
    actor.require(Permission.READ)
    limits.checked_query(request.query)
    recalled = Recalled(new_id(), request.profile or profile, [], gate=Verdict.SKIP, degraded=[AUTO_RECALL_OFF])
    return ContextBlock("", 0, [], 0, recalled, shape)


def _checked_window(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not SMALLEST_WINDOW <= value <= LARGEST_WINDOW:
        raise InvalidInput(
            f"context_window is a number from {SMALLEST_WINDOW} to {LARGEST_WINDOW}.",
            code="context_window.out_of_range",
            field="context_window",
        )
    return value


def lines_of(answer: Recalled, shape: Shape) -> Iterator[Line]:
    """Write the line of each hit, in order, whether or not there is room for it."""
    for hit in answer.hits:
        row = hit.memory
        spoken = f"{row.speaker}: {row.text}" if row.speaker else row.text
        # Cleaned before the line breaks go, since some of the phrases are told by where a line begins.
        clean = injection.clean(spoken, shape.level)
        flat = " ".join(clean.split())
        cut = flat if len(flat) <= LONGEST_LINE else flat[: LONGEST_LINE - 1].rstrip() + "…"
        whole = shape.form.line(row) + cut + _validity(row)
        # The whole line once more: what a source or speaker adds could address a model together with the text.
        text = injection.clean(whole, shape.level)
        yield Line(hit, text, cleaned=clean != spoken or text != whole, shortened=cut != flat)


def block_of(shape: Shape, lines: list[str]) -> str:
    """Put lines between the first and the last line of a block; nothing where there are none."""
    if not lines:
        return ""
    return "\n".join([shape.form.head, *lines, *([shape.form.foot] if shape.form.foot else [])])


def tokens_of(text: str) -> int:
    """Count the tokens of a text, four characters each."""
    return -(-len(text) // CHARACTERS_A_TOKEN)


def _write(answer: Recalled, shape: Shape) -> ContextBlock:
    room = shape.characters - len(shape.form.head) - len(shape.form.foot) - 2
    lines: list[str] = []
    for line in lines_of(answer, shape):
        if len(line.text) + 1 > room:
            break
        room -= len(line.text) + 1
        lines.append(line.text)
    text = block_of(shape, lines)
    ids = [hit.memory.pk for hit in answer.hits[: len(lines)]]
    return ContextBlock(text, tokens_of(text), ids, len(answer.hits) - len(lines), answer, shape)


def _validity(row: Memory) -> str:
    """Say when a memory ceased to hold or begins to: a model would take it for true now."""
    moment = now()
    if row.valid_until is not None and row.valid_until <= moment:
        return f" (until {row.valid_until:%Y-%m-%d})"
    if row.valid_from is not None and row.valid_from > moment:
        return f" (from {row.valid_from:%Y-%m-%d})"
    return ""
