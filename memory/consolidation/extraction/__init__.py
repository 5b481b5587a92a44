"""Drawing entities, relations, statements, events and causes from texts."""

from __future__ import annotations

from memory.consolidation.extraction.rules import RulesExtractor
from memory.consolidation.extraction.spacy_names import SpacyExtractor

__all__ = ["RulesExtractor", "SpacyExtractor", "rules_extractor", "spacy_extractor"]


def rules_extractor() -> RulesExtractor:
    """Give the extractor that works by rules; it holds nothing and can be shared between threads."""
    return RulesExtractor()


def spacy_extractor() -> SpacyExtractor:
    """Give the extractor that also asks spaCy; all of a process share one model.

    Making it needs nothing; the model is loaded at the first extraction, which raises ProviderUnavailable with the code
    `extractor.not_installed` where spaCy or its model is missing.
    """
    return SpacyExtractor()
