"""Bulk ingest: turns stored per second, as a share of what the embedder alone can do in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from bench.database import new_owner
from bench.synthetic import Generator
from memory.errors import InvalidInput
from memory.providers.composition import embedder
from memory.services.drafts import Draft
from memory.services.turns import CHUNK, MAX_TURNS, TurnDraft, ingest_turns


def measure(*, turns: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Embed texts alone, then store as many turns through the service, twice in turn, and compare the better rates.

    Raises:
        InvalidInput: fewer than one chunk of turns or more than one request takes.
    """
    if not CHUNK <= turns <= MAX_TURNS:
        raise InvalidInput(f"turns is a number from {CHUNK} to {MAX_TURNS}.", code="bench.range")
    generator = Generator()
    model = embedder()
    model.embed(["warm"])
    alone, stored = [], []
    for _ in range(2):
        texts = [" ".join(words) for words in generator.texts(turns)]
        begun = time.perf_counter()
        for start in range(0, turns, CHUNK):
            model.embed(texts[start : start + CHUNK])
        alone.append(turns / (time.perf_counter() - begun))
        tell(f"embedder alone: {alone[-1]:.1f} texts/s")
        drafts = [TurnDraft(draft=Draft(text=text, role="user")) for text in texts]
        actor = new_owner()
        begun = time.perf_counter()
        ingest_turns(actor=actor, session="bench", turns=drafts)
        stored.append(turns / (time.perf_counter() - begun))
        tell(f"turns stored: {stored[-1]:.1f} turns/s")
    return {
        "turns": turns,
        "embed_texts_per_s": round(max(alone), 1),
        "ingest_turns_per_s": round(max(stored), 1),
        "ratio": round(max(stored) / max(alone), 3),
    }
