"""Scripts without spaces between words: a word is found inside a longer run of its own script."""

from __future__ import annotations

import pytest

from memory.text.tokens import analyse, query_terms


@pytest.mark.parametrize(
    ("text", "word", "other"),
    [
        ("ฉันซื้อที่ดินในเชียงใหม่", "ที่ดิน", "แมว"),
        ("ຂ້ອຍຊື້ເຮືອນຢູ່ວຽງຈັນ", "ເຮືອນ", "ໝາ"),
        ("ខ្ញុំទិញផ្ទះនៅភ្នំពេញ", "ផ្ទះ", "ឆ្កែ"),
        ("明日は東京駅で会いましょう", "東京駅", "京都"),
        ("外币汇率换算的程序已经写好了", "汇率", "天气"),
    ],
    ids=["thai", "lao", "khmer", "japanese", "chinese"],
)
def test_a_word_is_found_in_a_run(text: str, word: str, other: str) -> None:
    stored = set(analyse(text).frequencies)
    asked = set(query_terms(word))
    assert asked
    assert len(asked & stored) >= len(asked) / 2
    assert not set(query_terms(other)) & stored
