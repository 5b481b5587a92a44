"""Which names stand for one entity: what keeps names apart, what makes them alike, what is asked."""

from memory.consolidation.resolution.rules import FLOOR, SURE, Judgement, Verdict, judge

__all__ = ["FLOOR", "SURE", "Judgement", "Verdict", "judge"]
