"""The context block: recalled memories as text for a prompt, within a token budget and cleaned of instructions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from memory.errors import InvalidInput
from memory.models import Memory, owner_scope
from memory.privacy import injection
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.questions import RecallRequest
from memory.services.recall import Recalled, recall
from memory.services.settings import current_settings

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
LEVELS: Final[Mapping[str, injection.Level]] = {level.name.lower(): level for level in injection.Level}


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """Text for a prompt; empty when nothing was found. `memory_ids` stand in it, in its order."""

    text: str
    tokens: int
    memory_ids: list[UUID]
    omitted: int
    recalled: Recalled


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


def build_context(
    *,
    actor: Actor,
    request: RecallRequest,
    form: str | None = None,
    max_tokens: int | None = None,
    cleaning: str | None = None,
    context_window: int | None = None,
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

    Raises:
        InvalidInput: an unknown form or level, a budget or window out of bounds; and what `recall` raises.
    """
    with owner_scope(actor.owner_id):
        settings = current_settings()["values"]
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
    answer = recall(
        actor=actor,
        request=replace(
            request,
            sort="context",
            limit=limit,
            threshold=settings["recall_threshold"] if request.threshold is None else request.threshold,
        ),
    )
    return _write(answer, FORMATS[form], characters, level)


def _checked_window(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not SMALLEST_WINDOW <= value <= LARGEST_WINDOW:
        raise InvalidInput(
            f"context_window is a number from {SMALLEST_WINDOW} to {LARGEST_WINDOW}.",
            code="context_window.out_of_range",
            field="context_window",
        )
    return value


def _write(answer: Recalled, form: BlockFormat, characters: int, level: injection.Level) -> ContextBlock:
    room = characters - len(form.head) - len(form.foot) - 2
    lines: list[str] = []
    for hit in answer.hits:
        # The whole line once more: what a source or speaker adds could address a model together with the text.
        line = injection.clean(form.line(hit.memory) + _flat(hit.memory, level), level)
        if len(line) + 1 > room:
            break
        room -= len(line) + 1
        lines.append(line)
    if not lines:
        return ContextBlock("", 0, [], len(answer.hits), answer)
    text = "\n".join([form.head, *lines, *([form.foot] if form.foot else [])])
    used = -(-len(text) // CHARACTERS_A_TOKEN)
    ids = [hit.memory.pk for hit in answer.hits[: len(lines)]]
    return ContextBlock(text, used, ids, len(answer.hits) - len(lines), answer)


def _flat(row: Memory, level: injection.Level) -> str:
    spoken = f"{row.speaker}: {row.text}" if row.speaker else row.text
    # Cleaned before the line breaks go, since some of the phrases are told by where a line begins.
    flat = " ".join(injection.clean(spoken, level).split())
    cut = flat if len(flat) <= LONGEST_LINE else flat[: LONGEST_LINE - 1].rstrip() + "…"
    return cut + _validity(row)


def _validity(row: Memory) -> str:
    """Say when a memory ceased to hold or begins to: a model would take it for true now."""
    moment = now()
    if row.valid_until is not None and row.valid_until <= moment:
        return f" (until {row.valid_until:%Y-%m-%d})"
    if row.valid_from is not None and row.valid_from > moment:
        return f" (from {row.valid_from:%Y-%m-%d})"
    return ""
