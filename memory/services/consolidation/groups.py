"""The groups of a run's stages; each is due by a rule of its own.

The run notes in `OwnerActivity` when it has finished a group (`last_slept_at` and its like). Stages read those moments,
which are the former ones while they run, and do not write them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

MORE: Final = "more"
"""The note by which a stage's report says that it has left work, which the next run takes up at once."""


class Group(StrEnum):
    """Stages that run together: what they do together and when they are due."""

    KNOWLEDGE = "knowledge"
    SLEEP = "sleep"
    SUMMARIES = "summaries"
    PRIVACY = "privacy"
    FORGETTING = "forgetting"
    COMMUNITIES = "communities"
