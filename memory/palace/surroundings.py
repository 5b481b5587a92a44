"""What stands round every page: the newest memories, the numbers and the state of the embedder."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from django.http import HttpRequest

from memory.errors import KeysUnavailable
from memory.palace.notices import notices
from memory.palace.presenters import Card, cards_with
from memory.providers.composition import embedder
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.health import embedder_finding
from memory.services.memories import ListRequest, list_memories
from memory.services.stats import totals

logger = logging.getLogger(__name__)

RECENT: Final = 20
MOST_FILTER_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class EmbedderStatus:
    """The state of search by meaning: `ok`, `pending` (texts wait for their vectors), `off` or `failing`."""

    state: str
    sentence: str
    detail: str = ""


def embedder_status(pending: int) -> EmbedderStatus:
    """Say how search by meaning stands in this process, by the finding that operators see.

    Args:
        pending: memories of the owner that wait for their vectors.
    """
    found = embedder_finding()
    if found.status == "failing":
        return EmbedderStatus("failing", "Search by meaning is not set up; I search by words.", found.detail)
    model = embedder()
    if model.provider == "none":
        without = f"{pending:,} {'memory has' if pending == 1 else 'memories have'} no vector." if pending else ""
        return EmbedderStatus("off", "Search by meaning is switched off; I search by words.", without)
    waiting = f"{pending:,} {'memory waits' if pending == 1 else 'memories wait'} to be read for meaning."
    if found.status == "degraded":
        detail = f"{found.detail} {waiting if pending else ''}".strip()
        return EmbedderStatus("failing", "Search by meaning is unavailable; I search by words.", detail)
    if pending:
        return EmbedderStatus("pending", waiting, "They are found by words until then.")
    return EmbedderStatus("ok", "Search by meaning is on", f"{model.provider} / {model.model}")


def recent_cards(actor: Actor, word: str) -> list[Card]:
    """Give those of the newest memories that hold a word; all of them when it is blank."""
    rows = list_memories(actor=actor, request=ListRequest(), after=None, size=RECENT)
    return cards_with(rows, word[:MOST_FILTER_CHARACTERS], now())


def _numbers(counts: dict[str, int]) -> list[str]:
    """Say how much there is, leaving out what there is none of."""
    said = []
    for name, one, many in (
        ("total", "memory", "memories"),
        ("sessions", "conversation", "conversations"),
        ("archived", "archived", "archived"),
    ):
        if counts[name] or name == "total":
            said.append(f"{counts[name]:,} {one if counts[name] == 1 else many}")
    return said


def surroundings(request: HttpRequest, actor: Actor) -> dict[str, Any]:
    """Give what the frame of a page shows, as plain values; notices are looked for where the page shows them."""
    counts = totals(actor=actor)
    try:
        recent, unreadable = recent_cards(actor, ""), False
    except KeysUnavailable:
        # Without this a text that does not open would keep a person from every page, the one that erases it too.
        logger.exception("the newest memories of an owner do not open")
        recent, unreadable = [], True
    return {
        "recent": recent,
        "recent_unreadable": unreadable,
        "recent_word": "",
        "numbers": _numbers(counts),
        "embedder": embedder_status(counts["vectors_pending"]),
        "here": request.get_full_path(),
        "notices": partial(notices, actor),
    }
