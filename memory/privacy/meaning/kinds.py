"""The kinds of personal data by meaning, and their tiers.

The first four are confidential. The others are what identifies or reaches a person, and the rest of what Articles 9 and
10 of the GDPR name. None has the name of a kind of the pattern layer, so that a stored kind tells which layer found it.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final

from memory.privacy.pii import PiiTier

KINDS: Final = MappingProxyType(
    {
        "health": PiiTier.CONFIDENTIAL,
        "biometric": PiiTier.CONFIDENTIAL,
        "genetic": PiiTier.CONFIDENTIAL,
        "financial": PiiTier.CONFIDENTIAL,
        "name": PiiTier.SENSITIVE,
        "residence": PiiTier.SENSITIVE,
        "contact": PiiTier.SENSITIVE,
        "identity": PiiTier.SENSITIVE,
        "belief": PiiTier.SENSITIVE,
        "politics": PiiTier.SENSITIVE,
        "origin": PiiTier.SENSITIVE,
        "sexual_life": PiiTier.SENSITIVE,
        "union": PiiTier.SENSITIVE,
        "criminal": PiiTier.SENSITIVE,
        "other": PiiTier.SENSITIVE,
    }
)
"""By machine name, in the order in which they lead."""

_OTHER_WORDS: Final = MappingProxyType(
    {
        "medical": "health",
        "biometrics": "biometric",
        "genetics": "genetic",
        "finance": "financial",
        "finances": "financial",
        "person_name": "name",
        "address": "residence",
        "location": "residence",
        "email": "contact",
        "phone": "contact",
        "government_id": "identity",
        "religion": "belief",
        "religious": "belief",
        "philosophy": "belief",
        "political": "politics",
        "political_opinion": "politics",
        "race": "origin",
        "ethnicity": "origin",
        "ethnic_origin": "origin",
        "sexual": "sexual_life",
        "sexual_orientation": "sexual_life",
        "sex_life": "sexual_life",
        "trade_union": "union",
        "criminal_record": "criminal",
    }
)
LONGEST_WORD: Final = 64


def kind_of(word: str) -> str:
    """Give the kind that a model's word means; `other` for a word that none of them has."""
    name = "_".join(word[:LONGEST_WORD].casefold().replace("-", " ").replace("_", " ").split())
    return name if name in KINDS else _OTHER_WORDS.get(name, "other")


def kinds_in(kinds: Iterable[str]) -> tuple[str, ...]:
    """Give those of some stored kinds that were found by meaning, in the order in which they lead."""
    standing = set(kinds)
    return tuple(kind for kind in KINDS if kind in standing)


def leading(kinds: Iterable[str]) -> str:
    """Give the kind by meaning that names the whole: the first one of the highest tier; blank where there is none."""
    return next(iter(kinds_in(kinds)), "")


def tier_of(kinds: Iterable[str]) -> PiiTier:
    """Give the highest tier of kinds by meaning; others do not count."""
    return max((KINDS[kind] for kind in kinds_in(kinds)), default=PiiTier.CLEAR)
