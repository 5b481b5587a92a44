"""The words of the audit: what can be done, to what sort of thing, and by whom. Filters know these and no others."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from memory.errors import InvalidInput

VERBS: Final = frozenset(
    {
        "accept",
        "approve",
        "archive",
        "change",
        "create",
        "delete",
        "demote",
        "deprecate",
        "disable",
        "dispute",
        "enable",
        "erase",
        "export",
        "import",
        "join",
        "leave",
        "login",
        "login_failed",
        "login_locked",
        "logout",
        "look",
        "lose_source",
        "merge",
        "narrow",
        "password",
        "pause",
        "promote",
        "publish",
        "purge",
        "read",
        "reject",
        "reopen",
        "reset",
        "restore",
        "resume",
        "retract",
        "reveal",
        "revoke",
        "snapshot",
        "snooze",
        "supersede",
        "token",
        "trust",
        "unmerge",
    }
)
# What is acted on.
OBJECTS: Final = frozenset(
    {
        "agent",
        "archive",
        "budget",
        "bus_message",
        "context",
        "entity",
        "experiment",
        "file",
        "group",
        "key",
        "login",
        "memories",
        "memory",
        "owner",
        "profile",
        "relation",
        "review",
        "settings",
        "skill",
        "source",
        "test_mode",
    }
)
# Sorts of requests that read.
READS: Final = frozenset(
    {
        "access_log",
        "bridges",
        "causes",
        "communities",
        "community",
        "compressions",
        "context",
        "coverage",
        "dependencies",
        "edges",
        "entities",
        "entity",
        "events",
        "explanation",
        "facts",
        "file",
        "files",
        "graph_query",
        "graph_view",
        "history",
        "memories",
        "memory",
        "mentions",
        "merges",
        "messages",
        "neighbours",
        "readers",
        "recall",
        "relation",
        "relations",
        "review",
        "reviews",
        "row",
        "row_search",
        "rows",
        "session",
        "sessions",
        "skill",
        "skills",
        "sources",
        "turn_events",
    }
)
KINDS: Final = OBJECTS | READS
# `unknown` is whoever has not shown to be the person, `replay` a purge that is done again after a restore.
ACTORS: Final = frozenset({"operator", "person", "replay", "system", "unknown"})
AGENT: Final = "agent:"
# Staff that looks after another owner, under the pseudonym of its own.
STAFF: Final = "staff:"


def checked_verb(word: str) -> str:
    """Give what was done, if it is known; else raises InvalidInput `verb.invalid`, which names the known verbs."""
    if word in VERBS:
        return word
    words = sorted(VERBS)
    raise InvalidInput(f"verb is one of {', '.join(words)}.", code="verb.invalid", field="verb", known=words)


def checked_kind(word: str) -> str:
    """Give a sort of thing, if it is known; else raises InvalidInput `kind.invalid`, which names the known sorts."""
    if word in KINDS:
        return word
    words = sorted(KINDS)
    raise InvalidInput(f"kind is one of {', '.join(words)}.", code="kind.invalid", field="kind", known=words)


def checked_actor(label: str) -> str:
    """Give an actor as events name it; raises InvalidInput `actor.invalid` for what none is named."""
    if label in ACTORS:
        return label
    prefix = next((one for one in (AGENT, STAFF) if label.startswith(one)), None)
    try:
        return f"{prefix}{UUID(label.removeprefix(prefix))}" if prefix else _no_actor()
    except ValueError:
        return _no_actor()


def _no_actor() -> str:
    words = [*sorted(ACTORS), f"{AGENT}<id>", f"{STAFF}<id>"]
    raise InvalidInput(f"actor is one of {', '.join(words)}.", code="actor.invalid", field="actor", known=words)
