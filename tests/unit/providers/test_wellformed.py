"""Any string becomes one that encoders accept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.providers.wellformed import well_formed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("a\0b", "a b"),
        ("lone \ud83d here", "lone \ufffd here"),
        ("\udc00\ud800", "\ufffd\ufffd"),
        ("pair \ud83d\ude00", "pair \U0001f600"),
        ("\U0001f600 漢字 שלום", "\U0001f600 漢字 שלום"),
        ("", ""),
    ],
)
def test_replacements(text: str, expected: str) -> None:
    assert well_formed(text, 100) == expected


@given(st.text(st.characters(), max_size=50), st.integers(0, 60))
def test_result_encodes_and_is_no_longer_than_asked(text: str, longest: int) -> None:
    result = well_formed(text, longest)
    result.encode("utf-8")
    assert len(result) <= longest
    assert "\0" not in result
