"""The closed vocabularies of the columns, as Django choices."""

from __future__ import annotations

from django.db import models


class Tier(models.TextChoices):
    """Which memory a row belongs to."""

    WORKING = "working"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    REFLECTION = "reflection"


class Kind(models.TextChoices):
    """What sort of statement a row is."""

    TURN = "turn"
    NOTE = "note"
    FACT = "fact"
    PREFERENCE = "preference"
    DECISION = "decision"
    INSTRUCTION = "instruction"
    SKILL = "skill"
    INSIGHT = "insight"
    SUMMARY = "summary"
    REFLECTION = "reflection"
    PATTERN = "pattern"


class Visibility(models.TextChoices):
    """Who of the owner's agents may read a row."""

    AGENT = "agent"
    SQUAD = "squad"
    PROJECT = "project"
    OWNER = "owner"


class Status(models.TextChoices):
    """Where a row stands in its life; `erasing` is the short time in which a person may still undo."""

    LIVE = "live"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    ERASING = "erasing"


class SummaryLevel(models.TextChoices):
    """How much time a row sums up."""

    RAW = "raw"
    SESSION = "session"
    DAILY = "daily"
    WEEKLY = "weekly"
    GLOBAL = "global"


class Role(models.TextChoices):
    """Who speaks in a turn."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class GroupKind(models.TextChoices):
    """What sort of group of agents it is."""

    PROJECT = "project"
    SQUAD = "squad"


class LabelKind(models.IntegerChoices):
    """What a keyed label of a memory stands for; the numbers are stored."""

    TAG = 1
    TOPIC = 2
    SOURCE = 3
    NAME = 4
    SPEAKER = 5
    METADATA = 6


class SpaceState(models.TextChoices):
    """Where an embedding space stands: being filled, in use, kept up beside the one in use, or given up."""

    FILLING = "filling"
    ACTIVE = "active"
    STANDBY = "standby"
    RETIRED = "retired"
