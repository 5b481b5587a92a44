"""Recall profiles: which arms, weights, fusion, decay, boosts and threshold make up a recall. Profiles are data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from memory.errors import InvalidInput, NotFound
from memory.graph.activation import Spreading
from memory.models import Tier

ARMS: Final = ("dense", "lexical", "graph", "time")
FUSIONS: Final = ("zscore", "rrf", "sum")
DECAYS: Final = ("created", "accessed")
LEXICAL_MODELS: Final = ("bm25", "prax_sparse")
RERANKERS: Final = ("none", "mmr", "rrf_mmr", "cross_encoder", "llm")
INTENTS: Final = ("none", "prax", "engram")
GRAPH_WAYS: Final = ("walk", "hop", "prax")


@dataclass(frozen=True, slots=True)
class RecallProfile:
    """One way to rank.

    Attributes:
        name: the profile's name.
        arms: the arms to ask, by name.
        weights: weight of each arm in the fusion, before the intent's.
        fusion: `zscore` (weighted sum of z-scores over the candidates), `rrf` (weighted reciprocal ranks) or `sum`
            (weighted sum of raw scores).
        rrf_k: the constant of reciprocal rank fusion.
        lexical: the lexical model, `bm25` or `prax_sparse`.
        bm25_k1, bm25_b: parameters of BM25.
        repeat_terms: count a term of the query as often as it stands there (Praxis).
        normalise_lexical: divide lexical scores by the best one, so that they lie in 0-1 beside cosines.
        graph: how the graph arm finds memories, see `memory.recall.graph_arm`: `walk`, `hop` or `prax`.
        edge_seeds: how many of the best hits pass something on over links between memories; 0 for none.
        edge_least: links below this weight pass nothing on.
        edge_hits, edge_others: what a hit gains, and what another memory gets, for each unit that is passed on.
        intent: the table of intent weights that multiplies the arms' weights: `none`, `prax` or `engram`.
        candidates: rows asked of each arm; 0 means `candidate_factor` times the limit.
        candidate_factor: see `candidates`.
        half_life_days: per tier, the days after which a score has halved; a tier left out does not decay.
        decay_turns: whether turns decay like their tier.
        decay_clock: age since `created` or since last `accessed`.
        importance_base: the score is multiplied by (base + importance); None leaves importance out.
        salience_weight, access_weight, freshness_weight: what is added per salience, access and freshness
            1 / (1 + age / 30 days) (Praxis).
        community_boost: what a memory gains that belongs to a community which the question is about, see
            `memory.recall.communities`.
        spread_before, spread_after: the part of the score of the turn before, and after, that a turn inherits.
        evidence: re-rank the candidates by the evidence priors of `memory.recall.evidence`.
        late_interaction: let the token vectors of question and text take part in that.
        reranker: `none`; `mmr` or `rrf_mmr` for diversity; `cross_encoder` or `llm` for a model's judgement.
        mmr_lambda: 1 is pure relevance, 0 pure diversity.
        threshold: least relevance, 0-1, of a hit.
        limit: hits when the caller names no number.
        decompose: ask the parts of a compound question too.
        expand: let a language model name further words to look for.
        fallback: look for the query's words as substrings when nothing was found.
    """

    name: str
    arms: tuple[str, ...] = ("dense", "lexical")
    weights: Mapping[str, float] = field(default_factory=lambda: {"dense": 1.0, "lexical": 1.0})
    fusion: str = "zscore"
    rrf_k: int = 60
    lexical: str = "bm25"
    bm25_k1: float = 1.2
    bm25_b: float = 0.75
    repeat_terms: bool = False
    normalise_lexical: bool = False
    graph: str = "walk"
    edge_seeds: int = 0
    edge_least: float = 0.3
    edge_hits: float = 0.2
    edge_others: float = 0.15
    intent: str = "none"
    candidates: int = 100
    candidate_factor: int = 2
    half_life_days: Mapping[str, float] = field(default_factory=dict)
    decay_turns: bool = True
    decay_clock: str = "created"
    importance_base: float | None = None
    salience_weight: float = 0.0
    access_weight: float = 0.0
    freshness_weight: float = 0.0
    community_boost: float = 0.0
    spread_before: float = 0.0
    spread_after: float = 0.0
    evidence: bool = False
    late_interaction: bool = False
    reranker: str = "none"
    mmr_lambda: float = 0.7
    threshold: float = 0.0
    limit: int = 10
    decompose: bool = False
    expand: bool = False
    fallback: bool = True

    @property
    def boosts(self) -> bool:
        """Tell whether importance, salience, accesses or freshness change a score."""
        weights = self.salience_weight or self.access_weight or self.freshness_weight
        return bool(weights) or self.importance_base is not None

    @property
    def spreading(self) -> Spreading:
        """Say how the best hits pass something on over links between memories."""
        return Spreading(
            seeds=self.edge_seeds, least_weight=self.edge_least, to_hits=self.edge_hits, to_others=self.edge_others
        )

    def asked_of_arm(self, limit: int) -> int:
        """Give how many rows each arm is asked for, when `limit` hits are wanted."""
        return self.candidates or self.candidate_factor * limit

    def asked_of_graph(self, limit: int) -> int:
        """Give how many rows the graph arm is asked for: in Prax's way not twice as many as hits are wanted."""
        asked = self.asked_of_arm(limit)
        return max(1, asked // self.candidate_factor) if self.graph == "prax" else asked


_STATEMENTS: Final = {Tier.SEMANTIC.value: 180.0, Tier.REFLECTION.value: 180.0, Tier.EPISODIC.value: 180.0}
_ALL_TIERS: Final = (Tier.EPISODIC.value, Tier.SEMANTIC.value, Tier.PROCEDURAL.value, Tier.REFLECTION.value)

SHIPPED: Final[Mapping[str, RecallProfile]] = {
    profile.name: profile
    for profile in (
        # The best measured on conversations. Decay ranks statements of state and leaves turns alone.
        RecallProfile(
            name="default",
            arms=("dense", "lexical", "time", "graph"),
            weights={"dense": 0.45, "lexical": 0.55, "time": 0.0, "graph": 0.0},
            bm25_k1=0.9,
            bm25_b=0.4,
            half_life_days=_STATEMENTS,
            decay_turns=False,
            spread_before=0.3,
            spread_after=0.3,
            evidence=True,
            late_interaction=True,
        ),
        # Prax: three arms at 2k each, weighted RRF, exp(-ln2/7d * age) on creation, times (0.5 + importance).
        RecallProfile(
            name="prax",
            arms=("dense", "lexical", "graph"),
            weights={"dense": 1.0, "lexical": 1.0, "graph": 1.0},
            fusion="rrf",
            lexical="prax_sparse",
            graph="prax",
            intent="prax",
            candidates=0,
            half_life_days=dict.fromkeys(_ALL_TIERS, 7.0),
            importance_base=0.5,
            limit=5,
        ),
        # Praxis: BM25 + salience + 0.1 * accesses + freshness, over everything that shares a word.
        RecallProfile(
            name="praxis",
            arms=("lexical",),
            weights={"lexical": 1.0},
            fusion="sum",
            bm25_k1=1.5,
            repeat_terms=True,
            candidates=2000,
            salience_weight=1.0,
            access_weight=0.1,
            freshness_weight=1.0,
            limit=5,
            fallback=False,
        ),
        # CortexPrism: (normalised BM25 + cosine) * 2^(-age / half-life).
        RecallProfile(
            name="cortex",
            fusion="sum",
            normalise_lexical=True,
            candidates=0,
            half_life_days=dict.fromkeys(_ALL_TIERS, 7.0),
            limit=6,
            fallback=False,
        ),
        # Engram: RRF of BM25, vectors and graph, one step over links, 30 days, MMR, relevance of at least 0.3.
        RecallProfile(
            name="engram",
            arms=("dense", "lexical", "graph"),
            weights={"dense": 1.0, "lexical": 1.0, "graph": 1.0},
            fusion="rrf",
            graph="hop",
            edge_seeds=5,
            intent="engram",
            candidates=0,
            candidate_factor=4,
            half_life_days=dict.fromkeys(_ALL_TIERS, 30.0),
            reranker="mmr",
            mmr_lambda=0.7,
            threshold=0.3,
            limit=5,
        ),
    )
}


def shipped(name: str) -> RecallProfile:
    """Give a shipped profile; raises NotFound for another name."""
    try:
        return SHIPPED[name]
    except KeyError:
        raise NotFound(f"There is no such profile. There are: {', '.join(SHIPPED)}.", code="profile.unknown") from None


# Bounds of what an owner may change: (least, most) for numbers, the choices for words.
_NUMBERS: Final[Mapping[str, tuple[float, float]]] = {
    "rrf_k": (1, 1000),
    "bm25_k1": (0, 5),
    "bm25_b": (0, 1),
    "candidates": (0, 2000),
    "candidate_factor": (1, 20),
    "salience_weight": (0, 10),
    "access_weight": (0, 10),
    "freshness_weight": (0, 10),
    "community_boost": (0, 10),
    "edge_seeds": (0, 100),
    "edge_least": (0, 1),
    "edge_hits": (0, 10),
    "edge_others": (0, 10),
    "mmr_lambda": (0, 1),
    "spread_before": (0, 1),
    "spread_after": (0, 1),
    "threshold": (0, 1),
    "limit": (1, 100),
}
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "fusion": FUSIONS,
    "graph": GRAPH_WAYS,
    "lexical": LEXICAL_MODELS,
    "intent": INTENTS,
    "decay_clock": DECAYS,
    "reranker": RERANKERS,
}
_SWITCHES: Final = frozenset(
    {
        "repeat_terms", "normalise_lexical", "decay_turns", "evidence", "late_interaction", "decompose", "expand",
        "fallback",
    }
)  # fmt: skip


def with_changes(profile: RecallProfile, changes: Mapping[str, Any]) -> RecallProfile:
    """Give the profile with an owner's changes applied.

    Raises:
        InvalidInput: a field that does not exist or a value out of its bounds; the code is `profile.invalid`.
    """
    return dataclasses.replace(profile, **{name: _checked(name, value) for name, value in changes.items()})


def _checked(name: str, value: Any) -> Any:
    if name in _NUMBERS:
        return _number(name, value, *_NUMBERS[name])
    if name in _WORDS and value in _WORDS[name]:
        return value
    if name in _SWITCHES and isinstance(value, bool):
        return value
    if name == "importance_base":
        return None if value is None else _number(name, value, 0, 10)
    if name == "arms" and isinstance(value, list | tuple) and value and set(value) <= set(ARMS):
        return tuple(dict.fromkeys(value))
    if name == "weights" and isinstance(value, Mapping) and set(value) <= set(ARMS):
        return {arm: _number(f"weights.{arm}", weight, 0, 100) for arm, weight in value.items()}
    if name == "half_life_days" and isinstance(value, Mapping) and set(value) <= set(_ALL_TIERS):
        return {tier: _number(f"half_life_days.{tier}", days, 0.01, 100_000) for tier, days in value.items()}
    raise InvalidInput(f"The profile's field {name[:40]!r} cannot have this value.", code="profile.invalid", field=name)


def _number(name: str, value: Any, least: float, most: float) -> float | int:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not least <= value <= most:
        raise InvalidInput(f"{name} is a number from {least:g} to {most:g}.", code="profile.invalid", field=name)
    if name in ("rrf_k", "candidates", "candidate_factor", "edge_seeds", "limit"):
        if int(value) != value:
            raise InvalidInput(f"{name} is a whole number.", code="profile.invalid", field=name)
        return int(value)
    return float(value)
