"""The order of a run: which stages there are, group by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memory.services.consolidation.classified import NAME as PRIVACY
from memory.services.consolidation.classified import classify_rest
from memory.services.consolidation.communities import divide_communities
from memory.services.consolidation.forgetting import forget
from memory.services.consolidation.groups import Group
from memory.services.consolidation.knowledge import run as draw_knowledge
from memory.services.consolidation.patterns import find_patterns
from memory.services.consolidation.reflection import reflect
from memory.services.consolidation.skill_learning import learn_skills
from memory.services.consolidation.sleep import NAME as SLEEP
from memory.services.consolidation.sleep import sleep_over
from memory.services.consolidation.stages import Stage
from memory.services.consolidation.summaries import summarise

__all__ = ["STEPS", "Group", "Step"]

LONGEST_NAME: Final = 24


@dataclass(frozen=True, slots=True)
class Step:
    """One stage in its place.

    Attributes:
        name: at most 24 characters; shown while the stage runs, and names its report when it fails as a whole.
        group: what it is due with.
        stage: what is called.
    """

    name: str
    group: Group
    stage: Stage

    def __post_init__(self) -> None:
        """Refuse a name for which the run's row has no room."""
        if not 1 <= len(self.name) <= LONGEST_NAME:
            raise ValueError(f"a stage's name has 1 to {LONGEST_NAME} characters")


STEPS: Final[Sequence[Step]] = (
    # 1-7: what was stored becomes facts and graph.
    Step("knowledge", Group.KNOWLEDGE, draw_knowledge),
    # 8-10: what belongs together is linked.
    Step(SLEEP, Group.SLEEP, sleep_over),
    Step("patterns", Group.SLEEP, find_patterns),
    # 11: sessions, days and weeks are summed up.
    Step("summaries", Group.SUMMARIES, summarise),
    Step("reflection", Group.SUMMARIES, reflect),
    Step("skills", Group.SUMMARIES, learn_skills),
    # Between: what no pattern has flagged is read for personal data, new summaries included.
    Step(PRIVACY, Group.PRIVACY, classify_rest),
    # 12: what has faded is archived.
    Step("decay", Group.FORGETTING, forget),
    # 13: the graph is divided into communities.
    Step("communities", Group.COMMUNITIES, divide_communities),
)
"""In the order of a run, group by group."""
