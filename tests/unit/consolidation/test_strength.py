"""Strength by the published figures, and the policies as data."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memory.consolidation.policies import POLICIES, clipped, policy_named
from memory.consolidation.strength import faded, strength
from memory.errors import NotFound
from memory.models import Tier
from memory.services.settings_table import OWNER_SETTINGS

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


def of(
    importance: float, days: float, *, uses: int = 0, used_days: float | None = None, half_life: float = 30
) -> float:
    return strength(
        importance=importance,
        created_at=NOW - timedelta(days=days),
        last_accessed=None if used_days is None else NOW - timedelta(days=used_days),
        access_count=uses,
        half_life_days=half_life,
        moment=NOW,
    )


@pytest.mark.parametrize(
    ("importance", "days", "expected"),
    [
        (0.5, 0, 0.5),
        (0.5, 30, 0.25),
        (0.5, 45.5, 0.5 * 0.5 ** (45.5 / 30)),
        (0.7, 30, 0.35),
        (0.71, 30, 0.71 * 0.5**0.5),
        (1.0, 60, 0.5),
        (0.0, 1, 0.0),
    ],
)
def test_time_takes_half_in_a_half_life(importance: float, days: float, expected: float) -> None:
    assert of(importance, days) == pytest.approx(expected, abs=1e-12)


def test_all_the_days_count_and_not_the_days_of_a_month() -> None:
    assert of(0.5, 45) < of(0.5, 31) < of(0.5, 15)


@pytest.mark.parametrize(("uses", "added"), [(0, 0.0), (1, 0.05), (5, 0.25), (6, 0.3), (1_000, 0.3)])
def test_uses_add_up_to_a_bound(uses: int, added: float) -> None:
    assert of(0.5, 400, uses=uses, used_days=30) == pytest.approx(0.25 + added)


def test_it_stays_within_0_and_1() -> None:
    assert of(1.0, 0, uses=6, used_days=0) == 1.0


def test_a_use_begins_it_anew() -> None:
    assert of(0.5, 400, uses=0, used_days=0) == 0.5


def test_a_clock_that_went_back_strengthens_nothing() -> None:
    assert of(0.5, -10) == 0.5


def test_a_half_of_prax_goes_after_33_days() -> None:
    prax = policy_named("prax")
    bound = prax.tiers[Tier.SEMANTIC].least_strength
    assert bound is not None
    assert of(0.5, 32, half_life=prax.half_life_days) > bound > of(0.5, 33, half_life=prax.half_life_days)


def test_the_graph_fades_half_as_fast() -> None:
    for policy in POLICIES.values():
        assert policy.graph_half_life_days == 2 * policy.half_life_days
    assert faded(weight=0.5, since=NOW - timedelta(days=60), half_life_days=60, moment=NOW) == pytest.approx(0.25)


def test_the_setting_knows_every_policy() -> None:
    setting = OWNER_SETTINGS["retention_policy"]
    assert all(setting.accepts(name) for name in POLICIES)
    assert setting.values == ", ".join(POLICIES)
    assert policy_named(setting.default).name == "default"


def test_what_is_known_fades_by_default_in_no_tier_but_two() -> None:
    assert set(policy_named("default").tiers) == {Tier.EPISODIC, Tier.REFLECTION}
    assert not policy_named("keep").tiers
    assert not policy_named("keep").graph


def test_an_unknown_policy() -> None:
    with pytest.raises(NotFound) as raised:
        policy_named("forever")
    assert raised.value.machine_code == "policy.unknown"


@pytest.mark.parametrize(
    ("length", "tier", "policy", "kept"),
    [
        (280, Tier.SEMANTIC, "praxis", 280),
        (281, Tier.SEMANTIC, "praxis", 281),
        (900, Tier.PROCEDURAL, "praxis", 281),
        (900, Tier.EPISODIC, "praxis", 900),
        (900, Tier.SEMANTIC, "default", 900),
    ],
)
def test_clipping(length: int, tier: str, policy: str, kept: int) -> None:
    cut = clipped("x" * length, policy=policy_named(policy), tier=tier)
    assert len(cut) == kept
    assert cut.endswith("…") == (length > 280 and kept == 281)
