"""Rules about skills: how they are named, where they stand in their life, what their use shows, how alike two are."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from memory.models import SkillOrigin, SkillState
from memory.text.tokens import query_terms

LEAST_NAME: Final = 5
MOST_NAME: Final = 120
BLOCKED_NAMES: Final = frozenset(
    {"skill", "skills", "untitled", "unnamed", "example", "sample", "default", "procedure", "workflow", "new skill"}
)
BLOCKED_PREFIXES: Final = ("test_", "debug_", "temp_", "tmp_")

LEAST_CALLS: Final = 4
LEAST_TOOLS: Final = 2
LONGEST_SEQUENCE: Final = 6
ALIKE: Final = 0.78
"""Similarity from which two skills are the same one."""

FRESH_DAYS: Final = 30
LEAST_FRESHNESS: Final = 0.05
RELIABLE_RATE: Final = 0.5
RELIABLE_USES: Final = 3

PROMOTED: Final[Mapping[str, SkillState]] = {
    SkillState.CANDIDATE: SkillState.VERIFIED,
    SkillState.VERIFIED: SkillState.RELEASED,
    SkillState.DEGRADED: SkillState.VERIFIED,
    SkillState.DEPRECATED: SkillState.DEGRADED,
    SkillState.ARCHIVED: SkillState.DEGRADED,
}
DEMOTED: Final[Mapping[str, SkillState]] = {
    SkillState.RELEASED: SkillState.DEGRADED,
    SkillState.VERIFIED: SkillState.DEGRADED,
    SkillState.DEGRADED: SkillState.DEPRECATED,
    SkillState.CANDIDATE: SkillState.DEPRECATED,
}
TRUST: Final[Mapping[str, int]] = {
    SkillState.CANDIDATE: 1,
    SkillState.VERIFIED: 2,
    SkillState.RELEASED: 3,
    SkillState.DEGRADED: 1,
    SkillState.DEPRECATED: 0,
    SkillState.ARCHIVED: 0,
}
BUILTIN_TRUST: Final = 4


def usable_name(name: str) -> bool:
    """Tell whether a skill may bear a name: at least five characters, none that says nothing, none of a trial."""
    folded = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
    if not LEAST_NAME <= len(folded) <= MOST_NAME or folded in BLOCKED_NAMES:
        return False
    return not re.sub(r"[\s-]", "_", folded).startswith(BLOCKED_PREFIXES)


def first_state(origin: str) -> SkillState:
    """Give the state in which a skill of an origin begins: what people and we ourselves write is released."""
    released = origin in (SkillOrigin.HUMAN, SkillOrigin.BUILTIN)
    return SkillState.RELEASED if released else SkillState.CANDIDATE


def trust_of(origin: str, state: str) -> int:
    """Give how far a skill is trusted, 0 to 4."""
    if origin == SkillOrigin.BUILTIN and state == SkillState.RELEASED:
        return BUILTIN_TRUST
    return TRUST[SkillState(state)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """What a skill's use has shown; all but the uses lie between 0 and 1."""

    uses: int = 0
    success_rate: float = 0.0
    utility: float = 0.5
    freshness: float = 1.0


def after_use(before: Numbers, *, success: bool) -> Numbers:
    """Count one use: the rate is the mean of all, a success refreshes and a failure wears."""
    uses = before.uses + 1
    rate = before.success_rate + ((1.0 if success else 0.0) - before.success_rate) / uses
    if success:
        return Numbers(uses=uses, success_rate=_clamp(rate), utility=_clamp(before.utility + 0.1), freshness=1.0)
    return Numbers(
        uses=uses,
        success_rate=_clamp(rate),
        utility=_clamp(before.utility - 0.05),
        freshness=_clamp(before.freshness * 0.9),
    )


def freshness_now(stored: float, *, days: float) -> float:
    """Give how fresh a skill is so many days after its last use: gone after thirty, never below 0.05."""
    return max(LEAST_FRESHNESS, _clamp(stored * (1 - max(0.0, days) / FRESH_DAYS)))


def health(*, utility: float, redundancy: float, freshness: float, risk: float) -> float:
    """Give one number for how well a skill stands, 0 to 1 (the formula is CortexPrism's)."""
    return _clamp(0.35 * utility + 0.25 * (1 - redundancy) + 0.2 * freshness + 0.2 * (1 - risk))


def reliable(*, state: str, success_rate: float, uses: int) -> bool:
    """Tell whether an agent may follow a skill without asking.

    A released skill may be; a verified one when half of its uses went well; a candidate also needs three of them.
    """
    if state == SkillState.RELEASED:
        return True
    if state == SkillState.VERIFIED:
        return success_rate >= RELIABLE_RATE
    return state == SkillState.CANDIDATE and success_rate >= RELIABLE_RATE and uses >= RELIABLE_USES


def similarity(first: tuple[str, Sequence[str]], second: tuple[str, Sequence[str]]) -> float:
    """Give how alike two skills are by name and steps, 0 to 1: two fifths words of the names, the rest steps."""
    words, others = (frozenset(query_terms(one[0])) for one in (first, second))
    named = len(words & others) / len(words | others) if words | others else 0.0
    steps, other_steps = ([_folded(step) for step in one[1]] for one in (first, second))
    return 0.4 * named + 0.6 * SequenceMatcher(None, steps, other_steps, autojunk=False).ratio()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool in a session, and whether it went well as far as the transcript shows."""

    tool: str
    success: bool = True


def enough(calls: Sequence[ToolCall]) -> bool:
    """Tell whether a session used tools enough to learn from: four calls, two different tools."""
    return len(calls) >= LEAST_CALLS and len({call.tool for call in calls}) >= LEAST_TOOLS


def repeated_sequence(calls: Sequence[ToolCall], earlier: Sequence[Sequence[ToolCall]] = ()) -> list[str]:
    """Give the tools that were called with success one after the other again and again.

    Of all sequences of two to six calls with at least two different tools that occur twice without overlap, in this
    session or once here and once in an earlier one, the one that covers most calls is given, the longer one of equals.

    Args:
        calls: of the session that is learned from, in order.
        earlier: of sessions before it.

    Returns:
        Names of tools; empty when nothing repeats.
    """
    counts: Counter[tuple[str, ...]] = Counter()
    for length in range(2, LONGEST_SEQUENCE + 1):
        here = _occurrences(calls, length)
        before: Counter[tuple[str, ...]] = Counter()
        for one in earlier:
            before.update(_occurrences(one, length))
        counts.update({found: times + before[found] for found, times in here.items()})
    repeated = [(found, times) for found, times in counts.items() if times >= 2]
    if not repeated:
        return []
    # A sequence that is a shorter one told twice (a b a b) says no more than the shorter one.
    repeated = [(found, times) for found, times in repeated if not _periodic(found)]
    best = max(repeated, key=lambda one: (len(one[0]) * one[1], len(one[0]), one[0]), default=None)
    return list(best[0]) if best else []


def _occurrences(calls: Sequence[ToolCall], length: int) -> Counter[tuple[str, ...]]:
    found: Counter[tuple[str, ...]] = Counter()
    next_free: dict[tuple[str, ...], int] = {}
    for start in range(len(calls) - length + 1):
        part = calls[start : start + length]
        names = tuple(call.tool for call in part)
        if len(set(names)) < LEAST_TOOLS or not all(call.success for call in part) or start < next_free.get(names, 0):
            continue
        found[names] += 1
        next_free[names] = start + length
    return found


def _periodic(names: tuple[str, ...]) -> bool:
    return any(
        len(names) % period == 0 and names == names[:period] * (len(names) // period)
        for period in range(1, len(names) // 2 + 1)
    )


def _folded(step: str) -> str:
    return " ".join(step.casefold().split())


def _clamp(value: float) -> float:
    return min(1.0, max(0.0, value))
