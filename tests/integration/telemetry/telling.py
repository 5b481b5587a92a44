"""Turns of agents, told as their own code tells them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from memory.services.actors import Actor
from memory.services.clock import now
from telemetry.services.coverage.reporting import ReportRequest, coverage_report
from telemetry.services.turns.drafts import TurnDraft
from telemetry.services.turns.recording import record_events

# What somebody asks, which spoke takes it, how often it comes, and how many of these turns fail.
WEEK = (
    ("Book a train from Lisbon to Porto", "travel", 12, 1),
    ("Translate this letter into Portuguese", "fallback", 9, 0),
    ("What does the invoice of March say?", "invoices", 7, 3),
    ("Water the plants on the balcony", "fallback", 4, 0),
    ("Play some quiet music", "fallback", 1, 1),
)


def tell(actor: Actor, request: str, *, days_ago: float = 0, **fields: Any) -> None:
    """Record one turn."""
    at = now() - timedelta(days=days_ago)
    record_events(actor=actor, events=[TurnDraft(request=request, timestamp=at.timestamp(), **fields)])


def tell_a_week(actor: Actor) -> None:
    """Record turns of several sorts over seven days."""
    start = now()
    turns = []
    for request, spoke, times, failed in WEEK:
        for number in range(times):
            turns.append(
                TurnDraft(
                    request=request,
                    timestamp=(start - timedelta(days=number % 7, minutes=number)).timestamp(),
                    matched_spoke=spoke,
                    outcome="failed" if number < failed else "completed",
                    duration_ms=900 + 1000 * number,
                )
            )
    record_events(actor=actor, events=turns)


def cluster_of(actor: Actor) -> str:
    """Record a turn; gives the key of its cluster in the coverage report."""
    tell(actor, "Book a table for tea.")
    return coverage_report(actor=actor, request=ReportRequest()).clusters[0].key
