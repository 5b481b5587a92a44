"""A believable palace: memories of every sort, so that each page has something to show."""

from __future__ import annotations

from memory.services.actors import Actor
from memory.services.changes import change_memory
from memory.services.drafts import Draft
from memory.services.remember import remember
from memory.services.retirement import archive_memory
from memory.services.turns import TurnDraft, ingest_turns

STATEMENTS = [
    Draft(
        text="We deploy the booking service to the Lisbon cluster every Thursday at 14:00, after the long tests.",
        category="procedure",
        kind="instruction",
        importance=0.8,
        tags=["deploy", "lisbon"],
        source="runbook/booking",
    ),
    Draft(
        text="I prefer answers in plain English, without tables.",
        category="preference",
        kind="preference",
        importance=0.9,
    ),
    Draft(
        text="Caroline moved from Porto to Lisbon in March and likes the light there.", category="person", kind="fact"
    ),
    Draft(
        text="The database of the booking service moved to PostgreSQL 18 with pgvector.",
        category="technical",
        kind="decision",
        importance=0.7,
    ),
    Draft(
        text="Error E-4012 means that the payment provider refused the card.",
        category="error_log",
        kind="fact",
        importance=0.6,
    ),
    Draft(text="Goal for spring: run the Lisbon half marathon below two hours.", category="goal", importance=0.5),
    Draft(text="Never send newsletters on a Monday.", category="instruction", kind="instruction", importance=1.0),
    Draft(
        text="Write to anna.silva@example.org for invoices, or call +351 912 345 678.",
        category="person",
        kind="fact",
        importance=0.4,
    ),
    Draft(text="明日は東京駅で会いましょう。", category="temporal", importance=0.3),
    Draft(text="הפגישה הבאה תתקיים ביום שלישי בשעה עשר.", category="temporal", importance=0.3),
    Draft(
        text="The team retro showed that small pull requests are reviewed twice as fast.",
        category="observation",
        kind="insight",
    ),
    Draft(text="The team celebrates each release with pastéis de nata.", category="emotional", importance=0.1),
]
TURNS = [
    ("user", "Caroline", "Where did we put the notes of the Lisbon meeting?"),
    ("assistant", "Scribe", "They stand in the shared folder under meetings, 2026, Lisbon."),
    ("user", "Caroline", "Thanks. Please remind me to bring the contract on Friday."),
]


def furnish(owner: Actor, agent: Actor) -> dict[str, str]:
    """Fill an owner's palace and give the ids of some memories by name."""
    ids = [remember(actor=owner, draft=draft).memory_id for draft in STATEMENTS]
    ingest_turns(
        actor=agent,
        session="kitchen talk",
        turns=[TurnDraft(draft=Draft(text=text, role=role, speaker=speaker)) for role, speaker, text in TURNS],
    )
    remember(actor=agent, draft=Draft(text=STATEMENTS[0].text, source="chat/2026-02"))
    change_memory(
        actor=owner,
        memory_id=ids[0],
        changes={"text": STATEMENTS[0].text.replace("Thursday", "Wednesday"), "importance": 0.9},
    )
    archived = remember(actor=owner, draft=Draft(text="The old office code was on the blue card.", category="system"))
    archive_memory(actor=owner, memory_id=archived.memory_id, reason="expired")
    hostile = remember(
        actor=owner,
        draft=Draft(
            text="<script>alert('no')</script> [x](javascript:alert(1)) \u202etxet desrever \u202c " + "unbroken" * 25,
            category="general",
            tags=[f"tag {number}" for number in range(50)],
            importance=0.2,
        ),
    )
    return {
        "deploy": str(ids[0]),
        "personal": str(ids[7]),
        "archived": str(archived.memory_id),
        "hostile": str(hostile.memory_id),
    }
