from __future__ import annotations

import pytest

from memory.privacy.folded import FoldedView
from memory.privacy.pii import redact


@pytest.mark.parametrize("unit", ["\ufdfa", "\ufdfb", "\u3316", "½", "ﬃ"], ids=ascii)
def test_a_view_is_bounded_by_its_text(unit: str) -> None:
    text = unit * 5_000
    assert len(FoldedView(text).text) <= 6 * len(text)


@pytest.mark.parametrize("unit", ["\ufdfa", "\ufdfb", "\u3316"], ids=ascii)
def test_what_comes_after_characters_that_grow_is_still_seen(unit: str) -> None:
    assert redact(f"{unit * 500} ａｌ＠example.com {unit}") == f"{unit * 500} [EMAIL] {unit}"
