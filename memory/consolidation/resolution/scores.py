"""What each rule says in numbers: at least 0.95 where two names are the same, less where a person is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Finding = tuple[str, float]
"""The rule that decided, and the score that it gives."""

SAME: Final[Mapping[str, float]] = {
    "spelling": 0.99,
    "address": 0.99,
    "comma": 0.98,
    "title": 0.97,
    "legal_form": 0.96,
    "filler": 0.955,
    "slip": 0.95,
}
ASKED: Final[Mapping[str, float]] = {
    "near": 0.93,
    "joined": 0.92,
    "emoji": 0.90,
    "order": 0.90,
    "middle": 0.90,
    "initial": 0.88,
    "title_of_surname": 0.88,
    "nickname": 0.87,
    "plural": 0.86,
    "kind_word": 0.86,
    "filler_of_word": 0.85,
    "acronym": 0.85,
    "order_of_numbers": 0.84,
    "part": 0.82,
}
