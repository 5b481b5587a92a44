"""The kinds of personal data and their tiers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Final


class PiiTier(IntEnum):
    """How much care a text needs; the highest tier of what it holds wins."""

    CLEAR = 0
    SENSITIVE = 1
    CONFIDENTIAL = 2


@dataclass(frozen=True, slots=True)
class Match:
    """Personal data of one kind at `text[start:end]`."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PiiReport:
    """What a scan found: sorted kinds, the highest tier, and the places, in order and without overlap."""

    kinds: tuple[str, ...] = ()
    tier: PiiTier = PiiTier.CLEAR
    matches: tuple[Match, ...] = ()


KINDS: Final = MappingProxyType(
    {
        "ssn": PiiTier.CONFIDENTIAL,
        "ssn_digits": PiiTier.CONFIDENTIAL,
        "credit_card": PiiTier.CONFIDENTIAL,
        "iban": PiiTier.CONFIDENTIAL,
        "government_id": PiiTier.CONFIDENTIAL,
        "credential": PiiTier.CONFIDENTIAL,
        "api_key": PiiTier.CONFIDENTIAL,
        "aws_key": PiiTier.CONFIDENTIAL,
        "jwt": PiiTier.CONFIDENTIAL,
        "private_key": PiiTier.CONFIDENTIAL,
        "email": PiiTier.SENSITIVE,
        "phone_us": PiiTier.SENSITIVE,
        "phone_international": PiiTier.SENSITIVE,
        "ip_address": PiiTier.SENSITIVE,
        "person_name": PiiTier.SENSITIVE,
        "location": PiiTier.SENSITIVE,
        "address": PiiTier.SENSITIVE,
    }
)
"""The 17 kinds by machine name: written with hyphens and as labelled digits, an SSN is two kinds, as a phone number is
two by its country code."""
