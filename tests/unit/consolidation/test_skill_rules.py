"""Rules about skills: names, states, numbers, likeness, and sequences of tools that repeat."""

from __future__ import annotations

import pytest

from memory.consolidation.skills import (
    DEMOTED,
    PROMOTED,
    Numbers,
    ToolCall,
    after_use,
    enough,
    first_state,
    freshness_now,
    health,
    reliable,
    repeated_sequence,
    similarity,
    trust_of,
    usable_name,
)


def calls(text: str) -> list[ToolCall]:
    """Read calls, one letter each; a capital failed."""
    return [ToolCall(letter.lower(), letter.islower()) for letter in text]


@pytest.mark.parametrize(
    ("name", "usable"),
    [
        ("Deploy the site", True),
        ("deploy", True),
        ("four", False),
        ("test_deploy", False),
        ("Test deploy", False),
        ("debug_everything", False),
        ("temp-files", False),
        ("tmp_clean_up", False),
        ("testing the roof", True),
        ("Untitled", False),
        ("  skills  ", False),
        ("x" * 121, False),
    ],
)
def test_names(name: str, usable: bool) -> None:
    assert usable_name(name) is usable


@pytest.mark.parametrize(
    ("origin", "state", "trust"),
    [("human", "released", 3), ("builtin", "released", 4), ("llm", "candidate", 1), ("rules", "candidate", 1)],
)
def test_where_skills_begin(origin: str, state: str, trust: int) -> None:
    assert first_state(origin) == state
    assert trust_of(origin, state) == trust


def test_ways_up_and_down() -> None:
    assert {str(one): str(other) for one, other in PROMOTED.items()} == {
        "candidate": "verified",
        "verified": "released",
        "degraded": "verified",
        "deprecated": "degraded",
        "archived": "degraded",
    }
    assert {str(one): str(other) for one, other in DEMOTED.items()} == {
        "released": "degraded",
        "verified": "degraded",
        "degraded": "deprecated",
        "candidate": "deprecated",
    }


def test_uses() -> None:
    once = after_use(Numbers(freshness=0.4), success=True)
    assert once == Numbers(uses=1, success_rate=1.0, utility=0.6, freshness=1.0)
    failed = after_use(once, success=False)
    assert (failed.uses, failed.success_rate) == (2, 0.5)
    assert failed.utility == pytest.approx(0.55)
    assert failed.freshness == pytest.approx(0.9)
    assert after_use(Numbers(utility=0.02), success=False).utility == 0.0
    assert after_use(Numbers(utility=0.95), success=True).utility == 1.0


@pytest.mark.parametrize(
    ("stored", "days", "now"), [(1, 0, 1), (1, 15, 0.5), (1, 29.9, 0.05), (1, 400, 0.05), (0.9, 10, 0.6), (1, -3, 1)]
)
def test_freshness(stored: float, days: float, now: float) -> None:
    assert freshness_now(stored, days=days) == pytest.approx(now)


def test_health() -> None:
    assert health(utility=0.5, redundancy=0, freshness=1, risk=0) == pytest.approx(0.825)
    assert health(utility=1, redundancy=1, freshness=0.05, risk=0.5) == pytest.approx(0.46)
    assert health(utility=0, redundancy=1, freshness=0, risk=1) == 0
    assert health(utility=9, redundancy=0, freshness=1, risk=0) == 1


@pytest.mark.parametrize(
    ("state", "rate", "uses", "kept"),
    [
        ("released", 0.0, 0, True),
        ("verified", 0.5, 1, True),
        ("verified", 0.49, 9, False),
        ("candidate", 0.1, 9, False),
        ("candidate", 0.9, 2, False),
        ("candidate", 0.9, 3, True),
        ("degraded", 0.9, 9, False),
        ("deprecated", 1.0, 9, False),
        ("archived", 1.0, 9, False),
    ],
)
def test_reliable(state: str, rate: float, uses: int, kept: bool) -> None:
    assert reliable(state=state, success_rate=rate, uses=uses) is kept


def test_likeness() -> None:
    deploy = ("Deploy the site", ["Build it.", "Copy it.", "Restart the server."])
    assert similarity(deploy, deploy) == pytest.approx(1)
    assert similarity(deploy, ("deploy a site", ["build it.", "copy it.", "Restart the server."])) == pytest.approx(1)
    assert similarity(deploy, ("Deploy the site", ["Build it.", "Copy it."])) == pytest.approx(0.4 + 0.6 * 0.8)
    assert similarity(deploy, ("Bake bread", ["Knead.", "Wait.", "Bake."])) == 0
    assert similarity(deploy, ("Deploy the site", ["Knead.", "Wait.", "Bake."])) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("made", "taught"), [("a", False), ("aaaa", False), ("aab", False), ("aabb", True), ("abcd", True)]
)
def test_what_is_enough(made: str, taught: bool) -> None:
    assert enough(calls(made)) is taught


@pytest.mark.parametrize(
    ("made", "earlier", "found"),
    [
        ("abab", [], "ab"),
        ("abcabc", [], "abc"),
        ("aabb", [], ""),
        ("aaaa", [], ""),
        ("abcd", [], ""),
        ("abcd", ["xabcdy"], "abcd"),
        ("abcd", ["dcba"], ""),
        ("abAb", [], ""),
        ("abXabX", [], "ab"),
        ("ababab", [], "ab"),
        ("", ["abab"], ""),
        ("xy", ["abab"], ""),
    ],
)
def test_what_repeats(made: str, earlier: list[str], found: str) -> None:
    assert "".join(repeated_sequence(calls(made), [calls(one) for one in earlier])) == found
