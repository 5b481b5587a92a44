from __future__ import annotations

import pytest

from memory.text.limits import checked_text, is_blank
from memory.text.signals import query_signals, text_signals
from memory.text.tokens import analyse, quoted_phrases
from tests.unit.text.scaling import assert_linear

UNITS = [
    "a", "A", "aB", "a ", "a-", "é-", "a'", "'", '"', "“", "„«「", "1", "1 ", "1,", "你", "น", "😀", "\u0301", "in a ",
    "last ", "Ab ", "what ", "\n", ".", "? ", "a++", "٣", "_", "://", "a\u0301\u0302", "1年", " ", "\u200b",
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_splitting_and_reading_stay_linear(unit: str) -> None:
    assert_linear(lambda text: (analyse(text), quoted_phrases(text)), unit)
    assert_linear(lambda text: (text_signals(text), query_signals(text)), unit)


@pytest.mark.parametrize("unit", [" ", "\u200b", "a", "\u0301"])
def test_checking_stays_linear(unit: str) -> None:
    assert_linear(is_blank, unit)
    if not is_blank(unit):
        assert_linear(lambda text: checked_text(text, max_bytes=1 << 22), unit)
