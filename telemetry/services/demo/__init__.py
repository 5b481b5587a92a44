"""What the agents of the demonstration were asked in the last four weeks, as turn events, and verdicts on recalls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

from memory.models import RecallRecord, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.demo.parts import DemoOwner
from memory.services.retention import EXPLANATIONS_KEPT
from telemetry.services.recalls.feedback import give_feedback
from telemetry.services.turns.drafts import TurnDraft
from telemetry.services.turns.recording import record_events

REQUESTS: Final = Path(__file__).parent / "requests.txt"
DAYS: Final = 28
ROUNDS: Final = 4
"""How often each request comes: people ask the same again, in other weeks."""

STEP: Final = timedelta(hours=2, minutes=29)
BATCH: Final = 100
AGENT_OF: Final = {"code": "coder", "training": "coach"}
HELPED: Final = 3
"""Of so many recalls one was of no help."""

_LINE: Final = re.compile(r"(?P<spoke>\w+) (?P<outcome>\w+) (?P<seconds>\d+) \| (?P<request>.+)")


def demo_telemetry(owner: DemoOwner) -> str:
    """Record what the agents were asked, and which of their recalls helped.

    Returns:
        What was added, in a few words.
    """
    events: dict[str, list[TurnDraft]] = {}
    for agent, event in _events(owner):
        events.setdefault(agent, []).append(event)
    for agent, drafts in events.items():
        for start in range(0, len(drafts), BATCH):
            record_events(actor=owner.agents[agent], events=drafts[start : start + BATCH])
    judged = sum(_judge(agent) for agent in owner.agents.values())
    return f"{sum(map(len, events.values()))} turn events and {judged} verdicts on recalls were recorded."


def _events(owner: DemoOwner) -> Iterator[tuple[str, TurnDraft]]:
    """Give the requests again and again over the days, each with its agent."""
    found = [match for line in REQUESTS.read_text("utf-8").splitlines() if (match := _LINE.fullmatch(line)) is not None]
    start = owner.present - timedelta(days=DAYS)
    for place in range(len(found) * ROUNDS):
        # A step that shares no factor with the number of requests takes all of them, in another order in each round.
        match = found[(place * 29 + place // len(found)) % len(found)]
        yield (
            AGENT_OF.get(match["spoke"], "assistant"),
            TurnDraft(
                request=match["request"],
                timestamp=start + place * STEP,
                matched_spoke=match["spoke"],
                outcome=match["outcome"],
                tool_call_count=int(match["seconds"]) // 4,
                duration_ms=int(match["seconds"]) * 1000 + place * 37 % 900,
            ),
        )


def _judge(agent: Actor) -> int:
    """Say of an agent's recalls of the last days whether they helped, by turns."""
    with owner_scope(agent.owner_id):
        kept = RecallRecord.objects.filter(created_at__gt=now() - EXPLANATIONS_KEPT)
        rows = kept.filter(caller=agent.caller_id).order_by("created_at", "pk")
        recalls = list(rows.values_list("pk", flat=True))
    for place, recall_id in enumerate(recalls, start=1):
        give_feedback(actor=agent, recall_id=recall_id, helpful=place % HELPED != 0)
    return len(recalls)
