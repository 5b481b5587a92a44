"""The text of a request as it is compared with others: without personal data."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from memory.crypto.keyring import OwnerRing
from memory.privacy import pii
from memory.privacy.pii import PiiReport

_SPACE: Final = re.compile(r"\s+")


def embeddable(request: str, report: PiiReport | None = None) -> str:
    """Give a request as models may read it: personal data replaced by its kind, white space and forms made one.

    Args:
        request: as it was stored.
        report: the scan of this very text where it is at hand already.

    Returns:
        A text that is the same for all requests of one `request_hash`.
    """
    return _SPACE.sub(" ", unicodedata.normalize("NFC", pii.redact(request, report))).strip()


def request_hash(ring: OwnerRing, text: str) -> int:
    """Hash what `embeddable` has given, keyed for the owner."""
    return ring.name(f"request\0{text}")
