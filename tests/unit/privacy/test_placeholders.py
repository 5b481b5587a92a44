"""Placeholders hide personal data from a provider and bring it back into the answer."""

from __future__ import annotations

import pytest

from memory.privacy import pii
from memory.privacy.placeholders import Placeholders

TEXTS = [
    "Write to ann@example.com or bob@example.org, not to ann@example.com.",
    "My name is Peter Miller and I live in Springfield, call +44 20 7946 0958.",
    "My password is hunter42, my SSN is 123-45-6789.",
    "Pay with 4111 1111 1111 1111 or GB29 NWBK 6016 1331 9268 19.",
    "Nothing to hide in Room 101.",
    "",
]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:12] or "empty")
def test_nothing_personal_is_left_and_all_of_it_comes_back(text: str) -> None:
    placeholders = Placeholders()
    hidden = placeholders.conceal(text)
    for match in pii.scan(text).matches:
        assert text[match.start : match.end] not in hidden
    assert placeholders.restore(hidden) == text


def test_the_same_value_is_the_same_everywhere_and_another_one_another() -> None:
    placeholders = Placeholders()
    assert placeholders.conceal("ann@example.com, bob@example.org") == "[EMAIL_1], [EMAIL_2]"
    assert placeholders.conceal("bob@example.org wrote to eve@example.net") == "[EMAIL_2] wrote to [EMAIL_3]"
    assert placeholders.restore("[EMAIL_3] and [EMAIL_1]") == "eve@example.net and ann@example.com"


def test_what_looks_like_a_placeholder_is_never_confused_with_one() -> None:
    placeholders = Placeholders()
    text = "The form says [EMAIL_1]; mine is ann@example.com"
    hidden = placeholders.conceal(text)
    assert hidden == "The form says [EMAIL_1]; mine is [EMAIL_2]"
    assert placeholders.restore(hidden) == text
    assert placeholders.restore("[EMAIL_9] [PHONE_1]") == "[EMAIL_9] [PHONE_1]"


def test_it_does_not_show_what_it_holds() -> None:
    placeholders = Placeholders()
    placeholders.conceal("ann@example.com")
    assert repr(placeholders) == "Placeholders(1)"


def test_a_text_made_to_uncover_ever_more_comes_to_an_end() -> None:
    hostile = "a@b@c@d.ee@f.gg" * 40 + " pwd: " * 40
    hidden = Placeholders().conceal(hostile)
    assert pii.redact(hidden) is not None
    assert "d.ee" not in hidden
