"""What lists show of texts with personal data."""

from __future__ import annotations

from memory.privacy.masking import Masked, masked, masked_value


def test_a_text_without_personal_data_is_shown() -> None:
    assert masked("I like tea.", [], 0) == Masked("I like tea.", False)


def test_what_patterns_found_is_replaced_by_its_kind() -> None:
    assert masked("Write to ann@example.org.", ["email"], 1) == Masked("Write to [EMAIL].", True)


def test_what_is_confidential_by_its_meaning_goes_whole() -> None:
    text = "ann@example.org takes insulin."
    assert masked(text, ["email", "health", "name"], 2) == Masked("Confidential: health, name", True)


def test_what_is_sensitive_by_its_meaning_goes_whole_too() -> None:
    assert masked("She prays daily.", ["belief", "sexual_life"], 1) == Masked("Sensitive: belief, sexual life", True)


def test_a_mark_by_a_pattern_that_no_longer_finds_anything_hides_nothing() -> None:
    assert masked("Write to Ann.", ["email"], 1) == Masked("Write to Ann.", False)


def test_labels_and_json_are_covered_in_depth() -> None:
    value = {"by": ["ann@example.org", 3, None, {"ann@example.org": True}]}
    assert masked_value(value) == {"by": ["[EMAIL]", 3, None, {"[EMAIL]": True}]}
