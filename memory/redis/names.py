"""Names of what is kept in Redis: codes that only this installation can make, so that a key tells nobody who."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Final

from memory.crypto.signing import signer

_CODE_BYTES: Final = 16


def name(*parts: str) -> str:
    """Name a key or channel; several installations may use one Redis without meeting.

    Args:
        parts: words of the product, and codes. Nothing that was said or that names somebody.
    """
    return ":".join(("loci", code("", purpose="redis installation")[:12], *parts))


def code(text: str, *, purpose: str) -> str:
    """Give the code (22 characters) that stands for a text, such as an id, for one purpose."""
    mac = signer().mac(text.encode("utf-8", "surrogatepass"), purpose=purpose)
    return urlsafe_b64encode(mac[:_CODE_BYTES]).rstrip(b"=").decode()
