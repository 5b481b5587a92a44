"""Vectors of texts: the active space, and embedding that degrades visibly instead of failing a write."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from memory.errors import EmbedderUnavailable
from memory.models import EmbeddingSpace, SpaceState
from memory.ports import Embedder, gives_tokens
from memory.ports.outbound import on_behalf_of
from memory.providers.composition import embedder
from memory.services.writing import Embedded

logger = logging.getLogger(__name__)

STORING: Final = "store"
"""What stored texts are embedded for, in the record of what leaves."""


def active_space(model: Embedder | None = None) -> EmbeddingSpace:
    """Give the space of the configured embedder, opening it when the installation has none yet.

    An embedder that differs from the active space's model does not get its space: vectors of two models never meet.

    Raises:
        EmbedderUnavailable: the embedder cannot tell its width, or another model's space is active.
    """
    model = model or embedder()
    found = EmbeddingSpace.objects.filter(state=SpaceState.ACTIVE).first()
    if found is None:
        found = _open_first_space(model)
    if (found.provider, found.model) != (model.provider, model.model):
        raise EmbedderUnavailable(
            f"The stored vectors belong to {found.provider}/{found.model}, but {model.provider}/{model.model} is "
            "configured. Texts are stored and found by words; set the former model again."
        )
    if found.dimension != model.dimension:
        raise EmbedderUnavailable(
            f"The stored vectors have the width {found.dimension}, but the embedder now answers with "
            f"{model.dimension}. Have its server use the former model again, or move to the other one in a space of "
            "its own (`manage.py spaces`).",
            code="embedder.width_changed",
        )
    return found


def _open_first_space(model: Embedder) -> EmbeddingSpace:
    dimension = model.dimension
    with transaction.atomic(), connection.cursor() as cursor:
        # Two processes that start together agree through the lock; the loser finds the winner's row.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('loci.first_space'))")
        space, created = EmbeddingSpace.objects.get_or_create(
            state=SpaceState.ACTIVE,
            defaults={"provider": model.provider, "model": model.model, "dimension": dimension},
        )
        if created:
            cursor.execute("SELECT loci_index_space(%s, %s)", [space.pk, dimension])
    return space


def embed_texts(texts: Sequence[str], *, owner_id: UUID, agent_id: UUID | None = None) -> Embedded | None:
    """Embed an owner's redacted texts into the active space; None when the embedder is unavailable, which is logged.

    Never call this inside a transaction.

    Args:
        texts: what is stored.
        owner_id: whose.
        agent_id: the agent that stores them, where one does.
    """
    return embed_into(ready_space(), texts, owner_id=owner_id, agent_id=agent_id)


def ready_space() -> EmbeddingSpace | None:
    """Give the active space of the configured embedder; None when that is unavailable, which is logged."""
    try:
        return active_space()
    except EmbedderUnavailable as error:
        _note_failure(error)
        return None


def embed_into(
    space: EmbeddingSpace | None, texts: Sequence[str], *, owner_id: UUID, agent_id: UUID | None = None
) -> Embedded | None:
    """Embed as `embed_texts` does, into a space that is known already; leaves no connection to the database open, so
    any thread may run it.
    """
    if space is None:
        return None
    try:
        return embedded_by(embedder(), space, texts, owner_id=owner_id, agent_id=agent_id)
    except EmbedderUnavailable as error:
        _note_failure(error)
        return None


def embedded_by(
    model: Embedder, space: EmbeddingSpace, texts: Sequence[str], *, owner_id: UUID, agent_id: UUID | None = None
) -> Embedded:
    """Embed texts of an owner, with their tokens where the model gives them and late interaction is on.

    Raises:
        EmbedderUnavailable: the model cannot be used now.
    """
    with on_behalf_of(owner_id, STORING, agent_id=agent_id):
        if not settings.LATE_INTERACTION or not gives_tokens(model):
            return Embedded(space.pk, model.embed(texts))
        vectors, tokens = model.embed_with_tokens(texts)
        return Embedded(space.pk, vectors, [one.matrix for one in tokens], model.reduction)


def _note_failure(error: EmbedderUnavailable) -> None:
    logger.warning("embedding failed, vectors are queued: %s", error.machine_code)
