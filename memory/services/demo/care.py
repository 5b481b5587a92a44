"""What people and agents do with a memory besides talking: questions that are kept, a doubt, and skills."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final

from memory.models import Memory, Status, owner_scope
from memory.services.actors import Actor
from memory.services.disputes import dispute_memory
from memory.services.saved_searches import save_search
from memory.services.skill_drafts import SkillDraft
from memory.services.skill_life import record_use
from memory.services.skills import create_skill

QUESTIONS: Final = (
    ("Before a delivery", "When are we closed, and who delivers the flour?", ""),
    ("Allergies", "Who is allergic to what?", ""),
    ("Promises", "What did we decide about the second shop?", "category=project"),
)
DOUBTED: Final = "The blue door was painted by my father when we opened."
DOUBT: Final = "It was my uncle who painted it. My father held the ladder."
RESTORING: Final = SkillDraft(
    name="Restore Crumb from a backup",
    steps=[
        "Stop the service.",
        "Load last night's backup into a database of its own.",
        "Count the orders of yesterday and compare them with the printed list.",
        "Point the service to that database and start it again.",
    ],
    description="For the day on which the server at home does not come up any more.",
    risk=0.6,
    tags=("crumb",),
)
LABELS: Final = SkillDraft(
    name="Print the labels of a day",
    steps=["List the orders of the day.", "Draw each label at 696 pixels in width.", "Send them to the label printer."],
    description="The night before a market.",
    risk=0.1,
    tags=("crumb", "labels"),
)
STORED: Final = timedelta(days=45)
"""Before the present, when the skills were stored."""
USES: Final = ((38, True), (31, True), (17, False), (9, True))
"""When the agent's skill was used, in days before the present, and whether it worked."""


def take_care(*, owner: Actor, agents: Mapping[str, Actor], go_back: Callable[[timedelta], None]) -> None:
    """Keep some questions, dispute a statement, release one skill and suggest another.

    Args:
        owner: the person.
        agents: its agents by name.
        go_back: sets the clock to a while before the present.
    """
    for name, question, choices in QUESTIONS:
        save_search(actor=owner, name=name, question=question, choices=choices)
    with owner_scope(owner.owner_id):
        statements = Memory.objects.filter(status=Status.LIVE, session=None, kind="fact")
        doubted = next((row.pk for row in statements if row.text == DOUBTED), None)
    if doubted is not None:
        dispute_memory(actor=owner, memory_id=doubted, reason=DOUBT)
    go_back(STORED)
    create_skill(actor=owner, draft=RESTORING)
    suggested = create_skill(actor=agents["coder"], draft=LABELS)
    for days, worked in USES:
        go_back(timedelta(days=days))
        record_use(actor=agents["coder"], skill_id=suggested.skill.pk, success=worked)
