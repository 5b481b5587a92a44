"""What follows fusion: decay, boosts and the calibrated relevance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from memory.recall.candidates import Candidate
from memory.recall.profiles import RecallProfile

FRESHNESS_DAYS: Final = 30.0

# A logistic regression of "is evidence" on cosine and lexical coverage over the candidates of questions about
# conversations, with the intercept moved to equal odds: among candidates evidence is so rare (1 in 130) that its
# plain probability would hardly ever pass a threshold that means "worth showing".
RELEVANCE_BIAS: Final = -3.4
RELEVANCE_COSINE: Final = 6.5
RELEVANCE_COVERAGE: Final = 7.3


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


def adjustment(candidate: Candidate, profile: RecallProfile, now: datetime) -> Adjustment:
    """Compute a candidate's decay and boosts under a profile."""
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


def _decay(candidate: Candidate, profile: RecallProfile, age_days: float) -> float:
    half_life = profile.half_life_days.get(candidate.tier)
    if half_life is None or (candidate.is_turn and not profile.decay_turns):
        return 1.0
    return max(float(0.5 ** (age_days / half_life)), 1e-9)


def relevance(cosine: float | None, coverage: float | None) -> float:
    """Estimate a row's relevance, 0-1, alike in every profile: how likely it is evidence if half of all rows were.

    Args:
        cosine: similarity of the vectors; None where there is none.
        coverage: the lexical score as a share of the best possible one; None where no word is shared.
    """
    logit = RELEVANCE_BIAS + RELEVANCE_COSINE * max(cosine or 0.0, 0.0) + RELEVANCE_COVERAGE * (coverage or 0.0)
    return 1 / (1 + math.exp(-logit))
