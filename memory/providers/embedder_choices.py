"""What the settings say of the two embedders, and which of these are Ollama's."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from django.conf import settings

from memory.providers.ollama_server import tagged

OLLAMA: Final = "ollama"
OLLAMA_MODEL: Final = "nomic-embed-text"
FIRST: Final = "EMBEDDING"
SECOND: Final = "EMBEDDING_SECOND"


@dataclass(frozen=True, slots=True)
class EmbedderChoice:
    """What the settings say of one embedder; `prefix` is what their names begin with, empty where none say it."""

    prefix: str
    provider: str
    model: str
    base_url: str
    api_key: str = field(default="", repr=False)
    model_path: str = ""


def first_choice() -> EmbedderChoice:
    """Give what `EMBEDDING_…` says."""
    return _chosen(FIRST)


def second_choice() -> EmbedderChoice:
    """Give what `EMBEDDING_SECOND_…` says."""
    return _chosen(SECOND)


def ollama_choices() -> list[EmbedderChoice]:
    """Give the embedders that are Ollama's, the first one first, with the addresses and models that they have."""
    return [choice for choice in (first_choice(), second_choice()) if choice.provider == OLLAMA]


def ollama_choice(model: str = "") -> EmbedderChoice:
    """Give the Ollama that a model belongs to, with that model: the one that embeds with it.

    Args:
        model: its name; that of the embedder when left out. Where no embedder has it, the first one's server is meant,
            and without an Ollama that embeds the one of OLLAMA_BASE_URL.
    """
    known = ollama_choices()
    if not known:
        # The address and the key of another embedder belong to another server.
        return EmbedderChoice("", OLLAMA, model or OLLAMA_MODEL, settings.OLLAMA_BASE_URL)
    found = next((choice for choice in known if model and tagged(choice.model) == tagged(model)), known[0])
    return replace(found, model=model) if model else found


def _chosen(prefix: str) -> EmbedderChoice:
    def of(name: str) -> str:
        return str(getattr(settings, f"{prefix}_{name}"))

    provider, model, base_url = of("PROVIDER"), of("MODEL"), of("BASE_URL")
    if provider == OLLAMA:
        model, base_url = model or OLLAMA_MODEL, base_url or settings.OLLAMA_BASE_URL
    return EmbedderChoice(prefix, provider, model, base_url, of("API_KEY"), of("MODEL_PATH"))
