"""A block is as large and as strictly cleaned as the model's context window allows."""

from __future__ import annotations

from typing import Any

import pytest

from memory.errors import InvalidInput
from memory.services.actors import Actor
from memory.services.context import build_context
from memory.services.drafts import Draft
from memory.services.questions import RecallRequest
from memory.services.remember import remember_many

ADDRESS = "https://example.org/kettles"


@pytest.fixture
def kettles(alice: Actor) -> Actor:
    drafts = [Draft(text=f"Kettle {number} boils in {number} minutes; see {ADDRESS}.") for number in range(60)]
    remember_many(actor=alice, drafts=drafts)
    return alice


def block(actor: Actor, **options: Any) -> Any:
    request = RecallRequest(query="kettle boils", limit=60, threshold=0.0)
    return build_context(actor=actor, request=request, max_tokens=32_000, **options)


@pytest.mark.parametrize(
    ("window", "memories"),
    [(256, 2), (4_000, 10), (8_000, 20), (40_000, 60)],
    ids=["least", "small", "middle", "large"],
)
def test_fewer_memories_for_a_smaller_window(kettles: Actor, window: int, memories: int) -> None:
    assert len(block(kettles, context_window=window).memory_ids) == memories


def test_a_small_block_for_a_small_window(kettles: Actor) -> None:
    sizes = {window: len(block(kettles, context_window=window).text) for window in (16_000, 40_000)}
    assert 2_000 < sizes[16_000] <= 4_000
    assert sizes[40_000] > 4_000


@pytest.mark.parametrize(("window", "shown"), [(200_000, True), (40_000, True), (31_999, False)])
def test_the_smallest_models_get_no_addresses(kettles: Actor, window: int, shown: bool) -> None:
    assert (ADDRESS in block(kettles, context_window=window).text) is shown


def test_the_level_can_be_chosen_all_the_same(kettles: Actor) -> None:
    assert ADDRESS in block(kettles, context_window=1_000, cleaning="standard").text


@pytest.mark.parametrize("window", [0, 255, 10**9, True, 4.5], ids=str)
def test_other_windows_are_refused(alice: Actor, window: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        block(alice, context_window=window)
    assert caught.value.machine_code == "context_window.out_of_range"
