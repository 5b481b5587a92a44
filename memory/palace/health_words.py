"""What the checks of health are called on pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as lazy

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

NAMES: Final[Mapping[str, StrOrPromise]] = {
    "budgets": lazy("Budgets"),
    "consolidation": lazy("Consolidation"),
    "database": lazy("Database"),
    "disk": lazy("Disk"),
    "embedder": lazy("Embedder"),
    "key database": lazy("Key database"),
    "key modes": lazy("Key modes"),
    "key places": lazy("Key places"),
    "keys": lazy("Keys"),
    "language model": lazy("Language model"),
    "live": lazy("News of changes"),
    "memory": lazy("Switch of memory"),
    "neo4j": lazy("Neo4j"),
    "planner": lazy("Planner"),
    "queue": lazy("Queue"),
    "reranker": lazy("Reranker"),
    "replica": lazy("Replica"),
    "role": lazy("Role"),
    "schema": lazy("Schema"),
    "second space": lazy("Second embedding space"),
    "turn events": lazy("Turn events"),
    "vectors": lazy("Vectors"),
    "worker": lazy("Worker"),
}


def check_name(name: str) -> str:
    """Say what a check is called; an app's own is called what it says."""
    return str(NAMES.get(name) or capfirst(name))
