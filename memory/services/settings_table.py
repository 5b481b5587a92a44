"""The settings that an owner has: defaults, meanings and accepted values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from memory.recall.profiles import SHIPPED


@dataclass(frozen=True, slots=True)
class OwnerSetting:
    """One setting: its default, what it means, which values it takes and what it belongs to."""

    default: Any
    meaning: str
    accepts: Callable[[Any], bool]
    values: str
    group: str = "recall"


def _whole(least: int, most: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _unit(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _switch(value: Any) -> bool:
    return isinstance(value, bool)


CONSOLIDATION: Final = ("consolidation", "sleep", "summaries", "privacy", "forgetting", "communities")
"""The groups of settings on which the runs of consolidation depend."""

OWNER_SETTINGS: Final[Mapping[str, OwnerSetting]] = {
    "auto_recall": OwnerSetting(
        True,
        "Give agents context blocks of what fits; off leaves them empty, unless one is asked for by name.",
        _switch,
        "true or false",
    ),
    "auto_capture": OwnerSetting(
        True,
        "Draw facts and the graph from conversations; off keeps their turns and never draws from them. Summaries have "
        "a switch of their own.",
        _switch,
        "true or false",
        group="capture",
    ),
    "recall_profile": OwnerSetting(
        "default",
        "Profile that recall uses when none is named.",
        lambda value: isinstance(value, str) and value in SHIPPED,
        ", ".join(SHIPPED),
    ),
    "recall_limit": OwnerSetting(5, "Memories in a context block.", _whole(1, 100), "1 to 100"),
    "recall_threshold": OwnerSetting(0.3, "Least relevance of a memory in a context block.", _unit, "0 to 1"),
    "recall_tuner": OwnerSetting(
        False,
        "Let recall_threshold follow the quality of context blocks, by 0.01 an hour at most, within 0.10 to 0.55.",
        _switch,
        "true or false",
    ),
    "context_tokens": OwnerSetting(500, "Token budget of a context block.", _whole(50, 32_000), "50 to 32000"),
    "context_format": OwnerSetting(
        "prax",
        "Form of a context block.",
        lambda value: value in ("prax", "praxis", "cortex"),
        "prax, praxis, cortex",
    ),
    "archive_retention_days": OwnerSetting(
        0,
        "Days after which archived memories are erased; 0 keeps them.",
        _whole(0, 36_500),
        "0 to 36500",
        group="forgetting",
    ),
    "consolidation": OwnerSetting(
        True,
        "Consolidate: draw facts and the graph, sum up, forget; off stops all of it.",
        _switch,
        "true or false",
        group="consolidation",
    ),
    "consolidation_extractor": OwnerSetting(
        "rules",
        "What draws them: rules, a model of English (`spacy`), or the language model, which costs and reads texts.",
        lambda value: value in ("rules", "spacy", "llm"),
        "rules, spacy, llm",
        group="consolidation",
    ),
    "consolidation_every_turns": OwnerSetting(
        5, "Turns after which a run begins; 0 never.", _whole(0, 10_000), "0 to 10000", group="consolidation"
    ),
    "consolidation_every_minutes": OwnerSetting(
        5,
        "Minutes after which a backlog begins a run; 0 never.",
        _whole(0, 10_080),
        "0 to 10080",
        group="consolidation",
    ),
    "consolidation_batch_characters": OwnerSetting(
        4_000, "Characters of one batch.", _whole(500, 32_000), "500 to 32000", group="consolidation"
    ),
    "consolidation_batches": OwnerSetting(
        8, "Batches of one run.", _whole(1, 1_000), "1 to 1000", group="consolidation"
    ),
    "consolidation_on_write": OwnerSetting(
        False, "Draw from every text as soon as it is stored.", _switch, "true or false", group="consolidation"
    ),
    "gate_confidence": OwnerSetting(
        0.6, "Least confidence of what is stored without a person's review.", _unit, "0 to 1", group="consolidation"
    ),
    "consistency": OwnerSetting(
        "enforce",
        "What a contradiction does: retire the older statement, be reported only, or nothing.",
        lambda value: value in ("off", "log", "enforce"),
        "off, log, enforce",
        group="consolidation",
    ),
    "sleep": OwnerSetting(
        "rules",
        "What links and describes memories: rules, or the language model, which also draws insights.",
        lambda value: value in ("off", "rules", "llm"),
        "off, rules, llm",
        group="sleep",
    ),
    "sleep_every_minutes": OwnerSetting(
        30, "Minutes between two passes.", _whole(1, 10_080), "1 to 10080", group="sleep"
    ),
    "sleep_window": OwnerSetting(20, "Most memories of one pass.", _whole(2, 100), "2 to 100", group="sleep"),
    "sleep_least_rows": OwnerSetting(3, "Least memories of one pass.", _whole(1, 100), "1 to 100", group="sleep"),
    "sleep_connections": OwnerSetting(
        5, "Most links of one pass; 0 asks for none.", _whole(0, 50), "0 to 50", group="sleep"
    ),
    "sleep_metadata": OwnerSetting(True, "Add topics and entities.", _switch, "true or false", group="sleep"),
    "sleep_rerate": OwnerSetting(
        True, "Raise the salience of what is linked or used.", _switch, "true or false", group="sleep"
    ),
    "summaries": OwnerSetting(
        True, "Write summaries of sessions, days and weeks.", _switch, "true or false", group="summaries"
    ),
    "session_idle_minutes": OwnerSetting(
        30,
        "Minutes without a turn after which a session is summed up.",
        _whole(1, 10_080),
        "1 to 10080",
        group="summaries",
    ),
    "reflection": OwnerSetting(
        True, "Draw patterns of behaviour once a week.", _switch, "true or false", group="summaries"
    ),
    "skills": OwnerSetting(True, "Draw skills from the use of tools.", _switch, "true or false", group="summaries"),
    "forgetting": OwnerSetting(
        True, "Archive what the retention policy lets go.", _switch, "true or false", group="forgetting"
    ),
    "retention_policy": OwnerSetting(
        "default",
        "Which memories are archived with time.",
        lambda value: value in ("default", "prax", "praxis", "cortex", "engram", "keep"),
        "default, prax, praxis, cortex, engram, keep",
        group="forgetting",
    ),
    "privacy_model": OwnerSetting(
        "off",
        "What the language model reads for personal data: nothing, flagged and long texts, or all of them.",
        lambda value: value in ("off", "flagged", "all"),
        "off, flagged, all",
        group="privacy",
    ),
    "communities": OwnerSetting(
        True, "Divide the graph into communities.", _switch, "true or false", group="communities"
    ),
}
