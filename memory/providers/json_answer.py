"""Read the JSON object that a language model was asked for, from the text that it gave."""

from __future__ import annotations

import json
import re
from typing import Any, Final

LONGEST: Final = 100_000
_THOUGHTS: Final = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCED: Final = re.compile(r"\A```[a-zA-Z]*\s*\n(.*)\n\s*```\Z", re.DOTALL)


def json_object(text: str) -> dict[str, Any] | None:
    """Parse an answer that is one JSON object, bare or in one fence, after thoughts that are marked as such.

    Nothing is repaired and nothing is looked for inside other text: half an answer is none.

    Args:
        text: what the model gave; at most 100,000 characters are accepted.

    Returns:
        The object, or None when the text is anything else.
    """
    if len(text) > LONGEST:
        return None
    bare = _THOUGHTS.sub("", text).strip()
    fenced = _FENCED.match(bare)
    try:
        value = json.loads(fenced.group(1) if fenced else bare)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
