"""Drawing entities, relations, statements, events and causes from texts."""

from __future__ import annotations

from memory.consolidation.extraction.rules import RulesExtractor

__all__ = ["RulesExtractor", "rules_extractor"]


def rules_extractor() -> RulesExtractor:
    """Give the extractor that works by rules; it holds nothing and can be shared between threads."""
    return RulesExtractor()
