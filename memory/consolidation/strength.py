"""How strong a memory is: what time has left of its importance, and what its uses add.

Computed whenever it is asked for and never written back, so that asking often changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from memory.consolidation.policies import RetentionPolicy

SLOW_ABOVE: Final = 0.7
"""Importance above which the half-life is doubled."""

EACH_USE: Final = 0.05
MOST_OF_USES: Final = 0.3
_DAY: Final = 86_400.0

DECAY: Final = f"""power(
        0.5::float8,
        GREATEST(0.0, EXTRACT(EPOCH FROM %(moment)s - COALESCE(a.last_accessed, m.created_at))::float8 / {_DAY})
        / (%(half_life)s::float8 * CASE WHEN m.importance > {SLOW_ABOVE} THEN 2 ELSE 1 END)
    )"""
"""In SQL, the share that time has left, from 0 to 1; takes what `STRENGTH` takes."""

STRENGTH: Final = f"""LEAST(1.0, GREATEST(0.0,
    m.importance * {DECAY} + LEAST({EACH_USE} * COALESCE(a.access_count, 0), {MOST_OF_USES})
))"""
"""In SQL, over a memory `m` and its uses `a`, which may be missing; takes what `strength_parameters` gives."""

FADED: Final = """({weight} * power(
    0.5::float8,
    GREATEST(0.0, EXTRACT(EPOCH FROM %(moment)s - {since})::float8 / 86400.0) / %(graph_half_life)s::float8
))"""
"""In SQL, what time has left of a weight of the graph since a moment."""


def strength(
    *,
    importance: float,
    created_at: datetime,
    last_accessed: datetime | None,
    access_count: int,
    half_life_days: float,
    moment: datetime,
) -> float:
    """Compute the strength of a memory, from 0 to 1.

    `importance × 0.5^(days since the last use / half-life) + min(0.05 × uses, 0.3)`, with all the days that have gone
    by as one number (45 days and a half are 45.5), and twice the half-life above an importance of 0.7 (Engram's page;
    clock of Prax).

    Args:
        importance: from 0 to 1.
        created_at: when it was stored; counts as its last use while it has none.
        last_accessed: when it was last used.
        access_count: how often it was used.
        half_life_days: of the owner's policy.
        moment: what counts as now; nothing has faded before the last use.
    """
    days = max(0.0, (moment - (last_accessed or created_at)).total_seconds() / _DAY)
    half_life = half_life_days * (2 if importance > SLOW_ABOVE else 1)
    left: float = importance * 0.5 ** (days / half_life) + min(EACH_USE * access_count, MOST_OF_USES)
    return min(1.0, max(0.0, left))


def faded(*, weight: float, since: datetime, half_life_days: float, moment: datetime) -> float:
    """Compute what time has left of a weight of the graph since it was last seen."""
    days = max(0.0, (moment - since).total_seconds() / _DAY)
    return float(weight * 0.5 ** (days / half_life_days))


def strength_parameters(policy: RetentionPolicy, *, moment: datetime) -> Mapping[str, Any]:
    """Give the parameters of `STRENGTH` and `FADED`."""
    return {
        "moment": moment,
        "half_life": policy.half_life_days,
        "graph_half_life": policy.graph_half_life_days,
    }
