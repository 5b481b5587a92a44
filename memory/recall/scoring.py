"""What follows fusion: decay and boosts."""

from __future__ import annotations

import math
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from memory.recall.candidates import Candidate
from memory.recall.profiles import RecallProfile

FRESHNESS_DAYS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Adjustment:
    """How decay and boosts changed a fused score; terms that a profile does not use are neutral.

    `community` is what belonging to a community that the question is about gains: added on a logit, and elsewhere a
    factor of one more than this.
    """

    decay: float = 1.0
    importance: float = 1.0
    salience: float = 0.0
    accesses: float = 0.0
    freshness: float = 0.0
    community: float = 0.0

    def apply(self, score: float) -> float:
        """Give the adjusted score.

        Factors shrink what is positive and leave a negative z-score where it is, since multiplying it would raise it.
        """
        factor = self.factor * (1 + self.community)
        scaled = score * factor if score >= 0 else score / factor
        return scaled + self.boost

    def on_logit(self, logit: float) -> float:
        """Give the adjusted logit, on which the factors are odds."""
        return logit + math.log(self.factor) + self.community + self.boost

    @property
    def factor(self) -> float:
        """Give the product of decay and importance, above zero."""
        return self.decay * self.importance

    @property
    def boost(self) -> float:
        """Give the sum of what is added."""
        return self.salience + self.accesses + self.freshness


NEUTRAL: Final = Adjustment()


def adjustment(
    candidate: Candidate, profile: RecallProfile, now: datetime, *, communities: AbstractSet[int] = frozenset()
) -> Adjustment:
    """Compute a candidate's decay and boosts under a profile.

    Args:
        candidate: the row.
        profile: how much each counts.
        now: the moment from which ages are counted.
        communities: those that the question is about.
    """
    shared = profile.community_boost if candidate.community in communities else 0.0
    if not profile.boosts and _keeps(candidate, profile):
        return Adjustment(community=shared) if shared else NEUTRAL
    age = candidate.age_days(now, clock=profile.decay_clock)
    return Adjustment(
        decay=_decay(candidate, profile, age),
        importance=1.0
        if profile.importance_base is None
        else max(profile.importance_base + candidate.importance, 1e-6),
        salience=profile.salience_weight * candidate.salience,
        accesses=profile.access_weight * candidate.access_count,
        freshness=profile.freshness_weight / (1 + age / FRESHNESS_DAYS),
        community=shared,
    )


def _keeps(candidate: Candidate, profile: RecallProfile) -> bool:
    """Tell whether a candidate does not decay."""
    return candidate.tier not in profile.half_life_days or (candidate.is_turn and not profile.decay_turns)


def _decay(candidate: Candidate, profile: RecallProfile, age_days: float) -> float:
    if _keeps(candidate, profile):
        return 1.0
    return max(float(0.5 ** (age_days / profile.half_life_days[candidate.tier])), 1e-9)
