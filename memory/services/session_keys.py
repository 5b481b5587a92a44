"""What the key of a session looks like, as the cookie carries it."""

from __future__ import annotations

import re
from typing import Final

_MADE_BY_DJANGO: Final = re.compile(r"[0-9a-z]{32}")


def is_session_key(text: str) -> bool:
    """Tell whether a text can be a session's key; anything else would reach the database, which takes no NUL."""
    return _MADE_BY_DJANGO.fullmatch(text) is not None
