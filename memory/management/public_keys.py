"""Public keys as operators type them: in the forms that receipts, archives and files of heads write."""

from __future__ import annotations

import base64
from argparse import ArgumentTypeError
from collections.abc import Callable
from functools import partial
from typing import Final

PUBLIC_KEY_BYTES: Final = 32
FORMS: Final[tuple[Callable[[str], bytes], ...]] = (bytes.fromhex, partial(base64.b64decode, validate=True))


def public_key(text: str) -> bytes:
    """Read a public key of 32 bytes in hexadecimal or base64; raises ArgumentTypeError for anything else."""
    for read in FORMS:
        try:
            key = read(text.strip())
        except ValueError:
            continue
        if len(key) == PUBLIC_KEY_BYTES:
            return key
    raise ArgumentTypeError("this takes 64 hex digits, or the base64 of 32 bytes")
