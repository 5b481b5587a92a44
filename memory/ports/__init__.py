"""Ports: what the core needs from the outside, as protocols.

`memory.providers` holds the implementations and the composition; fakes pass the same contract tests as the real ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol, TypeGuard, runtime_checkable
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memory.ports.extraction import (
    Claim,
    Extract,
    ExtractedCause,
    ExtractedEntity,
    ExtractedEvent,
    ExtractedFact,
    ExtractedRelation,
    Extractor,
    Passage,
    Usage,
)

__all__ = [
    "REDUCTION_BYTES",
    "TOKEN_SCALE",
    "ChatMessage",
    "Claim",
    "Clock",
    "Completion",
    "Embedder",
    "Extract",
    "ExtractedCause",
    "ExtractedEntity",
    "ExtractedEvent",
    "ExtractedFact",
    "ExtractedRelation",
    "Extractor",
    "KeyVault",
    "LanguageModel",
    "OwnerKeys",
    "Passage",
    "Reranker",
    "TokenEmbedder",
    "TokenMatrix",
    "Tokens",
    "Usage",
    "Vectors",
    "gives_tokens",
]

Vectors = NDArray[np.float32]
TokenMatrix = NDArray[np.int8]

# Rows of a token matrix are unit vectors times this. A unit vector's components lie within -1 and 1, so one fixed
# scale uses the whole range of a byte.
TOKEN_SCALE: Final = 127
# How long the mark is that says how token vectors were made.
REDUCTION_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one text that say something, in order.

    `matrix` has a row for each, its direction as whole numbers: a unit vector times 127. `spans` has where each
    begins in the text and the first character after it.
    """

    matrix: TokenMatrix
    spans: NDArray[np.int32]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors of one fixed width."""

    @property
    def provider(self) -> str:
        """Name the kind of provider, for example `local` or `openai`."""

    @property
    def model(self) -> str:
        """Name the model; with the provider it identifies an embedding space."""

    @property
    def dimension(self) -> int:
        """Give the width of every vector; may ask the provider once, then remembers.

        Raises:
            EmbedderUnavailable: when the provider cannot be asked.
        """

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts, in order.

        Args:
            texts: any number of strings, none of them blank; longer texts are cut to the model's limit.

        Returns:
            float32 array of shape (len(texts), dimension), every row of length 1 and finite.

        Raises:
            EmbedderUnavailable: when the provider fails, times out, or answers with a wrong count, another width,
                a non-finite number or a zero vector. Never returns a partial answer.
        """


class TokenEmbedder(Embedder, Protocol):
    """An embedder that can also give a small vector for each token of a text, for late interaction."""

    @property
    def reduction(self) -> bytes:
        """Name in 4 bytes how token vectors are made; two matrices can be compared only when theirs are equal."""

    def understands(self, text: str) -> bool:
        """Tell whether the model knows any token of a text.

        Texts of unknown tokens alone (a script or a sign that the model never saw) all look alike to it, so that their
        vectors say nothing.

        Raises:
            EmbedderUnavailable: as for `embed`.
        """

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Tokens]]:
        """Embed texts as `embed` does, with their tokens from the same computation.

        Args:
            texts: as for `embed`.

        Returns:
            What `embed` gives, and the tokens of each text; none for a text without any that says something. All
            matrices have one width.

        Raises:
            EmbedderUnavailable: as for `embed`.
        """


def gives_tokens(model: Embedder) -> TypeGuard[TokenEmbedder]:
    """Tell whether an embedder is a `TokenEmbedder`; asks its class, since its properties may ask a provider."""
    return hasattr(type(model), "embed_with_tokens")


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt; role is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """A language model's answer with what it cost."""

    text: str
    model: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    finish_reason: str = "stop"
    extra: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class LanguageModel(Protocol):
    """Answers prompts; a component name picks model, temperature and limits from `LLM_ROUTES`."""

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        component: str,
        json_schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
    ) -> Completion:
        """Answer a prompt.

        Args:
            messages: the prompt, at least one message.
            component: the part of Loci that asks, a key of `LLM_ROUTES` (for example `memory_consolidation`).
            json_schema: ask the provider for JSON of this shape; the caller still has to parse and check it.
            max_tokens: upper bound of the answer, below the route's own.

        Raises:
            LanguageModelUnavailable: no provider configured, time-out, error status or an unusable body.
        """


@dataclass(frozen=True, slots=True)
class OwnerKeys:
    """The unwrapped secrets of one owner, 32 bytes each; its repr shows none of them.

    A vault gives buffers of their own to each caller, who overwrites them with `wipe` after use where nobody else can
    be using them. `text_seeds` maps a text-key version to its own random seed, so that destroying a seed destroys that
    version. `made_at` says since when a version exists, where that is known.
    """

    root: bytes | bytearray = field(repr=False)
    text_seeds: Mapping[int, bytes | bytearray] = field(repr=False)
    made_at: Mapping[int, datetime] = field(default_factory=dict)

    def wipe(self) -> None:
        """Overwrite the secrets with zeros where they stand in buffers that can be written."""
        for secret in (self.root, *self.text_seeds.values()):
            if isinstance(secret, bytearray):
                secret[:] = bytes(len(secret))

    @property
    def text_version(self) -> int:
        """Give the version that new text is encrypted with."""
        return max(self.text_seeds)


class KeyVault(Protocol):
    """Keeps owners' root keys, wrapped by the master key, apart from the database."""

    def verify(self) -> None:
        """Check that the master key opens this vault.

        Raises:
            KeysUnavailable: wrong or missing master key, or an unreadable vault.
        """

    def create(self, owner_id: UUID) -> OwnerKeys:
        """Make and keep fresh keys for an owner; raises KeysUnavailable when the owner already has some."""

    def load(self, owner_id: UUID) -> OwnerKeys:
        """Unwrap an owner's keys; raises KeysUnavailable when there are none or they do not open."""

    def owners(self) -> set[UUID]:
        """List the owners who have keys."""

    def destroy(self, owner_id: UUID) -> None:
        """Destroy an owner's keys for good; without effect when there are none."""

    def versions(self, owner_id: UUID) -> Mapping[int, datetime | None]:
        """Give the text-key versions of an owner and since when they exist, where that is known; opens no key."""

    def mark(self, owner_id: UUID) -> object:
        """Give what differs once an owner's keys have changed, where that is cheap to tell; else always the same."""

    def add_version(self, owner_id: UUID, *, after: int, at: datetime) -> OwnerKeys:
        """Make a text-key version that follows version `after`; without effect when a newer one than that exists."""

    def destroy_versions(self, owner_id: UUID, *, below: int) -> OwnerKeys:
        """Destroy the text-key versions below a number for good; the newest one is always kept."""


class Clock(Protocol):
    """Tells the time, so that tests can set it."""

    def now(self) -> datetime:
        """Give the present moment, aware, in UTC."""


@runtime_checkable
class Reranker(Protocol):
    """Scores how well texts answer a query, reading each together with the query."""

    @property
    def provider(self) -> str:
        """Name the kind of provider, for example `onnx` or `http`."""

    @property
    def model(self) -> str:
        """Name the model; empty where the provider chooses it."""

    @property
    def local(self) -> bool:
        """Tell whether texts stay on this machine; for any other reranker the caller replaces personal data first."""

    @property
    def prompts(self) -> bool:
        """Tell whether texts become part of a prompt; the caller then cleans them of instructions first."""

    @property
    def most_texts(self) -> int:
        """Give the largest number of texts of one call."""

    def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Score texts against a query; never call it inside a database transaction.

        Args:
            query: what is asked, not blank.
            texts: at most `most_texts`; longer ones are cut to the model's limit.

        Returns:
            One finite score for each text, in order, the higher the better. Scores of two calls, or of two rerankers,
            cannot be compared.

        Raises:
            RerankerUnavailable: the provider fails, times out, or answers with a wrong count, an unknown index or a
                number that is not finite. Never returns a partial answer.
            ValueError: more than `most_texts` texts.
        """
