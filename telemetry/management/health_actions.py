"""The action of `manage.py telemetry` about the health of an owner's memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Final

from memory.management.answers import answer, counted
from memory.services.actors import Actor
from telemetry.management.actions import ActionSpec, Options, Write
from telemetry.services.score_card import ScoreCard, score_card


def show_score(actor: Actor, options: Options, write: Write) -> None:
    """Show the score, what was taken off and why, and what waits."""
    card = score_card(actor=actor)
    answer(write, asdict(card), as_json=options["json"], lines=list(_lines(card)))


def _lines(card: ScoreCard) -> Iterator[str]:
    standing, backlog = card.standing, card.backlog
    yield f"Score: {card.score} of 100."
    for one in card.deductions:
        yield f"  -{one.points:2}  {one.meaning}"
        yield f"       -> {one.remedy}"
    yield (
        f"{counted(standing.memories, 'live memory', 'live memories')}: {standing.active} active, "
        f"{standing.stale} stale, {standing.used} ever recalled; {standing.average_decay:.0%} left by time on average."
    )
    yield (
        f"{counted(standing.entities, 'entity', 'entities')}, {standing.unrelated_entities} of them without a relation;"
        f" {counted(standing.relations, 'relation')}; {counted(standing.reflections, 'reflection')}."
    )
    yield (
        f"Waiting: {counted(backlog.reviews, 'review')}, {backlog.unextracted} to draw from, "
        f"{backlog.without_vector} without a vector ({backlog.without_vector_share:.0%}), "
        f"{counted(backlog.contradictions, 'open contradiction')}; {backlog.low_confidence} of low confidence "
        f"({backlog.low_confidence_share:.0%})."
    )


ACTIONS: Final[Mapping[str, ActionSpec]] = {
    "score": ActionSpec("score the health of the owner's memory, with reasons", show_score),
}
