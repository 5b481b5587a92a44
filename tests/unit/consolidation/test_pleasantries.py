"""What only greets, thanks or acknowledges is told from what says something."""

from __future__ import annotations

import pytest

from memory.consolidation.pleasantries import LONGEST, is_pleasantry


@pytest.mark.parametrize(
    "text",
    [
        "Nice to meet you, Ana!", "Good to know.", "Hi there!", "Thanks, Ana!", "It's nice to hear from you again.",
        "Great idea!", "Noted.", "Got it.", "You’re welcome!", "Have a nice evening!", "How are you?", "Vielen Dank!",
        "Freut mich!", "Sounds good to me.", "好的", "I'll remember that.", "Hello, Mary Ann.", "See you tomorrow!",
    ],
)  # fmt: skip
def test_nothing_to_remember(text: str) -> None:
    assert is_pleasantry(text)


@pytest.mark.parametrize(
    "text",
    [
        "Thanks, I moved to Rome.", "Good to know the code is 42.", "Nice is where Ana lives.", "Noted: Al sails.",
        "I'll remember the milk.", "It is nice to live in Porto.", "Have a look at the roof.", "Of course Al sails.",
        "I am happy.", "Great food in Porto.", "Ana, sailor.", "", "…",
    ],
)  # fmt: skip
def test_something_said(text: str) -> None:
    assert not is_pleasantry(text)


def test_what_is_long_says_something() -> None:
    assert is_pleasantry("great " * 5)
    assert not is_pleasantry("great " * LONGEST)
