"""The groups of a run's stages; each is due by a rule of its own."""

from __future__ import annotations

from enum import StrEnum


class Group(StrEnum):
    """Stages that run together: what they do together and when they are due."""

    KNOWLEDGE = "knowledge"
    SLEEP = "sleep"
    SUMMARIES = "summaries"
    FORGETTING = "forgetting"
    COMMUNITIES = "communities"
