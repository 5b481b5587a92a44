"""What settings are called and what they do, in words for people; and the words of their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from memory.palace.numbers import local

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

LABELS: Final[Mapping[str, StrOrPromise]] = {
    "auto_recall": lazy("Auto-recall"),
    "auto_capture": lazy("Auto-capture"),
    "recall_profile": lazy("Profile"),
    "recall_limit": lazy("Recall limit"),
    "recall_threshold": lazy("Recall threshold"),
    "recall_tuner": lazy("Tune the threshold"),
    "context_tokens": lazy("Length of a block"),
    "context_format": lazy("Form of a block"),
    "retention_policy": lazy("Retention policy"),
    "archive_retention_days": lazy("Days in the archive"),
    "consolidation": lazy("Consolidation"),
    "consolidation_extractor": lazy("What reads texts"),
    "consolidation_every_turns": lazy("Turns until a run begins"),
    "consolidation_every_minutes": lazy("Minutes until a run begins"),
    "consolidation_batch_characters": lazy("Characters of a batch"),
    "consolidation_batches": lazy("Batches of a run"),
    "consolidation_on_write": lazy("Read each text at once"),
    "gate_confidence": lazy("Confidence without a review"),
    "consistency": lazy("Contradictions"),
    "sleep": lazy("What links memories"),
    "sleep_every_minutes": lazy("Minutes between two passes"),
    "sleep_window": lazy("Most memories of a pass"),
    "sleep_least_rows": lazy("Least memories of a pass"),
    "sleep_connections": lazy("Most links of a pass"),
    "sleep_metadata": lazy("Add topics and names"),
    "sleep_rerate": lazy("Raise what is linked or used"),
    "summaries": lazy("Write summaries"),
    "session_idle_minutes": lazy("Minutes until a conversation is over"),
    "reflection": lazy("Look back once a week"),
    "skills": lazy("Learn skills"),
    "forgetting": lazy("Forget"),
    "privacy_model": lazy("What the language model reads"),
    "communities": lazy("Find communities"),
}

MEANINGS: Final[Mapping[str, StrOrPromise]] = {
    "auto_recall": lazy(
        "Agents get what fits their conversation by themselves. Off: they get it only where somebody asks for it."
    ),
    "auto_capture": lazy(
        "Facts, people and relations are drawn from conversations: preferences, instructions, who and where somebody "
        "is, dates and decisions. Off: what is said is kept, but nothing is ever drawn from what was said meanwhile."
    ),
    "recall_profile": lazy("How memories are searched and put in order, unless a request names another way."),
    "recall_limit": lazy("The most memories that an agent is given with a message. 1 to 100."),
    "recall_threshold": lazy("How well a memory must fit to be given to an agent, 0 to 1. Higher is stricter."),
    "recall_tuner": lazy(
        "The threshold follows how useful blocks were, by 0.01 an hour at most and within 0.10 to 0.55."
    ),
    "context_tokens": lazy("The most tokens that a block of memories has, about four letters each. 50 to 32000."),
    "context_format": lazy("How the block is written; choose what your agents were made for."),
    "retention_policy": lazy("Which memories are put into the archive with time, where they can be brought back."),
    "archive_retention_days": lazy("After so many days in the archive a memory is erased for good. 0 keeps all."),
}

VALUES: Final[Mapping[str, Mapping[str, StrOrPromise]]] = {
    "retention_policy": {
        "default": lazy("default: episodes that faded for 90 days and stale reflections go"),
        "prax": lazy("prax: whatever has faded below 0.02 goes"),
        "praxis": lazy("praxis: episodes of 90 days that never mattered go; statements are cut to 280 letters"),
        "cortex": lazy("cortex: episodes that faded for 30 days and stale reflections go"),
        "engram": lazy("engram: whatever has faded below 0.05 goes"),
        "keep": lazy("keep: nothing goes by itself"),
    },
    "consolidation_extractor": {
        "rules": lazy("rules"),
        "spacy": lazy("a model of English (spaCy)"),
        "llm": lazy("the language model"),
    },
    "consistency": {
        "off": lazy("off: nothing happens"),
        "log": lazy("report them only"),
        "enforce": lazy("retire the older statement"),
    },
    "sleep": {"off": lazy("nothing"), "rules": lazy("rules"), "llm": lazy("the language model")},
    "privacy_model": {
        "off": lazy("nothing"),
        "flagged": lazy("flagged and long texts"),
        "all": lazy("every text"),
    },
}


def value_word(name: str, value: Any) -> str:
    """Say a setting's value as people read it, with what it means."""
    return str(VALUES.get(name, {}).get(str(value)) or short(value))


def short(value: Any) -> str:
    """Say a setting's value in a word or a number."""
    if isinstance(value, bool):
        return _("on") if value else _("off")
    return local(f"{value:,}") if isinstance(value, int | float) else str(value)


def values_words(values: str) -> str:
    """Say what a setting takes: from one number to another, or one of several words."""
    least, between, most = values.partition(" to ")
    if not between:
        return values
    return _("%(least)s to %(most)s") % {"least": local(least), "most": local(f"{int(most.replace(',', '')):,}")}
