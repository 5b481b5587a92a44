"""Retention policies as data: how fast memories fade, and which of them background work archives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from memory.errors import NotFound
from memory.models import Tier

CLIPPED_TIERS: Final = frozenset({Tier.SEMANTIC, Tier.PROCEDURAL})
"""Tiers in which a policy that clips does so; what happened is kept as it was said (Praxis)."""

GRAPH_FACTOR: Final = 2.0
"""Half-lives of the graph in half-lives of memories (Prax): ties last longer than episodes."""

LEAST_RELATION: Final = 0.025
LEAST_ENTITY: Final = 0.05


@dataclass(frozen=True, slots=True)
class Fading:
    """When memories of one tier are archived: older than some days and, where one is named, below a bound.

    Attributes:
        older_than_days: least age, counted from when it was stored.
        least_strength: archived below this strength; None where strength does not count.
        salience_floor: archived at this salience or below; None where salience does not count.
        stale_after_days: archived when neither stated again nor used for so long; None where that does not count.
    """

    older_than_days: float = 0.0
    least_strength: float | None = None
    salience_floor: float | None = None
    stale_after_days: float | None = None


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """How an owner's memories fade.

    Attributes:
        name: as the setting `retention_policy` names it.
        meaning: one line for people.
        half_life_days: after which half of a memory's importance is left, from its last use on.
        tiers: which tiers fade, and when; the others are archived by `expires_at` or by somebody's act only.
        graph: whether relations and bare entities fade too, with twice the half-life.
        clip_characters: to how many characters statements are cut when they are stored; None keeps them whole.
    """

    name: str
    meaning: str
    half_life_days: float = 30.0
    tiers: Mapping[str, Fading] = field(default_factory=dict)
    graph: bool = True
    clip_characters: int | None = None

    @property
    def graph_half_life_days(self) -> float:
        """Give the half-life of relations and entities, in days."""
        return GRAPH_FACTOR * self.half_life_days


STALE_DAYS: Final = 14.0
"""Days after which a reflection that nothing has confirmed is stale (Cortex)."""

_FADING_TIERS: Final = (Tier.EPISODIC, Tier.SEMANTIC, Tier.PROCEDURAL, Tier.REFLECTION)


def _in_every_tier(fading: Fading) -> dict[str, Fading]:
    return {str(tier): fading for tier in _FADING_TIERS}


POLICIES: Final[Mapping[str, RetentionPolicy]] = {
    policy.name: policy
    for policy in (
        RetentionPolicy(
            "default",
            "Episodes that have faded for 90 days and stale reflections go; knowledge and skills stay.",
            tiers={
                Tier.EPISODIC: Fading(older_than_days=90.0, least_strength=0.05),
                Tier.REFLECTION: Fading(stale_after_days=STALE_DAYS),
            },
        ),
        RetentionPolicy(
            "prax",
            "Whatever has faded below 0.02 goes, in every tier.",
            half_life_days=7.0,
            tiers=_in_every_tier(Fading(least_strength=0.02)),
        ),
        RetentionPolicy(
            "praxis",
            "Episodes of 90 days go when nothing has raised their salience above 0.2; statements are cut to 280 "
            "characters.",
            tiers={Tier.EPISODIC: Fading(older_than_days=90.0, salience_floor=0.2)},
            graph=False,
            clip_characters=280,
        ),
        RetentionPolicy(
            "cortex",
            "Episodes of 30 days that have faded below 0.05 and stale reflections go; knowledge and skills stay.",
            half_life_days=7.0,
            tiers={
                Tier.EPISODIC: Fading(older_than_days=30.0, least_strength=0.05),
                Tier.REFLECTION: Fading(stale_after_days=STALE_DAYS),
            },
            graph=False,
        ),
        RetentionPolicy(
            "engram",
            "Whatever has faded below 0.05 goes, in every tier.",
            tiers=_in_every_tier(Fading(least_strength=0.05)),
            graph=False,
        ),
        RetentionPolicy("keep", "Nothing goes by itself but what expires.", graph=False),
    )
}
"""The published rules of each system where it has one; which of them deletes, archives here."""


def policy_named(name: str) -> RetentionPolicy:
    """Give a policy; raises NotFound with the code `policy.unknown`."""
    found = POLICIES.get(name)
    if found is None:
        raise NotFound("There is no retention policy of this name.", code="policy.unknown")
    return found


def clipped(text: str, *, policy: RetentionPolicy, tier: str) -> str:
    """Cut a statement as a policy says: to so many characters, then an ellipsis (Praxis: 280, then one more).

    Args:
        text: the statement, checked already.
        policy: the owner's.
        tier: where it goes; episodes are never cut.
    """
    most = policy.clip_characters
    if most is None or tier not in CLIPPED_TIERS or len(text) <= most:
        return text
    return f"{text[:most]}…"
