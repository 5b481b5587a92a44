"""What sort of question a query is, without a language model, and what that does to the arms' weights."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_IDENTIFIER: Final = re.compile(r"\b[A-Z]{2,}[-_]?[0-9]+\b|\b[A-Z0-9]{4,}\b|\b[A-Z]-[0-9]{2,}\b")
_NAME: Final = re.compile(r"\b[A-Z][a-z]{2,}\b")
_OPEN: Final = re.compile(
    r"\b(how|why|what do you|tell me about|describe|explain|feel|prefer|think|opinion|style|approach)\b", re.IGNORECASE
)
_QUOTED: Final = re.compile('["“”„«»「」『』]')


@dataclass(frozen=True, slots=True)
class Intent:
    """The names of what was noticed and the factors of the arms."""

    signs: tuple[str, ...]
    factors: Mapping[str, float]


NEUTRAL: Final = Intent(("neutral",), {})
# Engram's published balance of words and meaning.
_ENGRAM_NEUTRAL: Final = Intent(("neutral",), {"lexical": 0.4, "dense": 0.6, "graph": 0.2, "time": 0.1})


def prax_intent(query: str) -> Intent:
    """Classify a query by the rules of Prax, in their published order.

    Quotes or an identifier favour words, two names the graph, an open question meaning.
    """
    dense = lexical = graph = 1.0
    signs = []
    exact = bool(_QUOTED.search(query) or _IDENTIFIER.search(query))
    if exact:
        signs.append("quoted_or_identifier")
        dense, lexical, graph = 0.8, 1.5, 1.3
    if len(_NAME.findall(query)) >= 2:
        signs.append("named_entities")
        graph, lexical = max(graph, 1.4), max(lexical, 1.2)
    if not exact and _OPEN.search(query):
        signs.append("open_ended")
        dense, lexical = max(dense, 1.4), min(lexical, 0.9)
    return Intent(tuple(signs) or ("neutral",), {"dense": dense, "lexical": lexical, "graph": graph})


_ENGRAM_SIGNS: Final[Mapping[str, re.Pattern[str]]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "procedural": r"\bhow (do|to|can|should)\b|\bsteps?\b|\bset ?up\b|\bconfigure\b|\binstall\b",
        "causal": r"\bwhy\b|\bbecause\b|\bcaused?\b|\breason\b|\bfail(ed|s)?\b",
        "episodic": r"\byesterday\b|\blast (week|month|time|year)\b|\bwhen did\b|\bago\b|\bremember when\b|\btoday\b",
        "reflective": r"\bsummar(y|ise|ize)\b|\boverall\b|\bpattern\b|\breflect\b|\blearn(ed|t)\b",
        "exploratory": r"\balternatives?\b|\bideas?\b|\boptions?\b|\bexplore\b|\bwhat (if|else|about)\b|\brelated\b",
        "factual": r"\bwhat is\b|\bwhich\b|\bwho\b|\bwhere\b|\bport\b|\bversion\b|\bhow many\b|\bhow much\b",
    }.items()
}
# Words, meaning, graph and time as published; its fifth number, for emotion, belongs to an arm that is not there.
_ENGRAM_ARMS: Final = ("lexical", "dense", "graph", "time")
_ENGRAM_WEIGHTS: Final[Mapping[str, tuple[float, float, float, float]]] = {
    "factual": (0.50, 0.30, 0.10, 0.05),
    "procedural": (0.30, 0.35, 0.15, 0.10),
    "causal": (0.20, 0.30, 0.35, 0.10),
    "episodic": (0.25, 0.25, 0.15, 0.25),
    "exploratory": (0.20, 0.40, 0.20, 0.10),
    "reflective": (0.15, 0.30, 0.15, 0.10),
}


def engram_intent(query: str) -> Intent:
    """Classify a query by the six intents of Engram; several are averaged, none is neutral."""
    signs = [name for name, pattern in _ENGRAM_SIGNS.items() if pattern.search(query)]
    if not signs:
        return _ENGRAM_NEUTRAL
    columns = zip(*(_ENGRAM_WEIGHTS[name] for name in signs), strict=True)
    means = (sum(column) / len(signs) for column in columns)
    return Intent(tuple(signs), dict(zip(_ENGRAM_ARMS, means, strict=True)))


def intent_of(query: str, table: str) -> Intent:
    """Classify a query by the table that a profile names."""
    if table == "prax":
        return prax_intent(query)
    if table == "engram":
        return engram_intent(query)
    return NEUTRAL
