"""What follows fusion: decay and boosts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from memory.recall.candidates import Candidate
from memory.recall.profiles import RecallProfile

FRESHNESS_DAYS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Adjustment:
    """How decay and boosts changed a fused score; terms that a profile does not use are neutral."""

    decay: float = 1.0
    importance: float = 1.0
    salience: float = 0.0
    accesses: float = 0.0
    freshness: float = 0.0

    def apply(self, score: float) -> float:
        """Give the adjusted score.

        Factors shrink what is positive and leave a negative z-score where it is, since multiplying it would raise it.
        """
        scaled = score * self.factor if score >= 0 else score / self.factor
        return scaled + self.boost

    @property
    def factor(self) -> float:
        """Give the product of the factors, above zero."""
        return self.decay * self.importance

    @property
    def boost(self) -> float:
        """Give the sum of what is added."""
        return self.salience + self.accesses + self.freshness


NEUTRAL: Final = Adjustment()


def adjustment(candidate: Candidate, profile: RecallProfile, now: datetime) -> Adjustment:
    """Compute a candidate's decay and boosts under a profile."""
    if not profile.boosts and _keeps(candidate, profile):
        return NEUTRAL
    age = candidate.age_days(now, clock=profile.decay_clock)
    return Adjustment(
        decay=_decay(candidate, profile, age),
        importance=1.0
        if profile.importance_base is None
        else max(profile.importance_base + candidate.importance, 1e-6),
        salience=profile.salience_weight * candidate.salience,
        accesses=profile.access_weight * candidate.access_count,
        freshness=profile.freshness_weight / (1 + age / FRESHNESS_DAYS),
    )


def _keeps(candidate: Candidate, profile: RecallProfile) -> bool:
    """Tell whether a candidate does not decay."""
    return candidate.tier not in profile.half_life_days or (candidate.is_turn and not profile.decay_turns)


def _decay(candidate: Candidate, profile: RecallProfile, age_days: float) -> float:
    if _keeps(candidate, profile):
        return 1.0
    return max(float(0.5 ** (age_days / profile.half_life_days[candidate.tier])), 1e-9)
