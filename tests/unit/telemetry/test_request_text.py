"""The text by which requests are compared."""

from __future__ import annotations

import pytest

from telemetry.services.turns.request_text import embeddable


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        ("Write to ann@example.org", "Write to [EMAIL]"),
        ("  Write\n to\tann@example.org ", "Write to [EMAIL]"),
        ("Cafe\u0301", "Caf\u00e9"),
        ("Make me a note", "Make me a note"),
    ],
)
def test_without_personal_data_in_one_form(request_: str, text: str) -> None:
    assert embeddable(request_) == text
    assert embeddable(text) == text
