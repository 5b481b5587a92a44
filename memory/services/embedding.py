"""Vectors of texts, in the space in use and the one beside it; embedding degrades visibly and fails no write."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from django.conf import settings

from memory.errors import EmbedderUnavailable
from memory.ports import Embedder, gives_tokens
from memory.ports.outbound import on_behalf_of
from memory.services.spaces.in_use import Kept, SpacesInUse, active_space, spaces_in_use
from memory.services.writing import Embedded

__all__ = ["active_space", "embed_into", "embed_texts", "embedded_by", "embedded_in_parts", "ready_spaces"]

logger = logging.getLogger(__name__)

PROBE: Final = "probe"
"""What an embedder is asked for to see whether it answers."""
STORING: Final = "store"
"""What stored texts are embedded for, in the record of what leaves."""


def embed_texts(texts: Sequence[str], *, owner_id: UUID, agent_id: UUID | None = None) -> Embedded | None:
    """Embed an owner's redacted texts into the space in use, and the one beside it where vectors are made for that.

    None when the embedder is unavailable, which is logged.

    Never call this inside a transaction.

    Args:
        texts: what is stored.
        owner_id: whose.
        agent_id: the agent that stores them, where one does.
    """
    return embed_into(ready_spaces(), texts, owner_id=owner_id, agent_id=agent_id)


def ready_spaces() -> SpacesInUse | None:
    """Give the spaces that texts are embedded into; None when the embedder in use is unavailable, which is logged."""
    try:
        return spaces_in_use()
    except EmbedderUnavailable as error:
        _note_failure(error)
        return None


def embed_into(
    spaces: SpacesInUse | None, texts: Sequence[str], *, owner_id: UUID, agent_id: UUID | None = None
) -> Embedded | None:
    """Embed as `embed_texts` does, into spaces that are known already; leaves no connection to the database open, so
    any thread may run it.

    Where one of the two embedders fails, the vectors of the other are given, and what lacks is made later.
    """
    if spaces is None:
        return None
    found = _tried(spaces.active, texts, owner_id=owner_id, agent_id=agent_id)
    if spaces.beside is None:
        return found
    beside = _tried(spaces.beside, texts, owner_id=owner_id, agent_id=agent_id)
    if found is None or beside is None:
        return found or (replace(beside, pending=True) if beside is not None else None)
    return replace(found, beside=beside)


def embedded_by(
    kept: Kept, texts: Sequence[str], *, owner_id: UUID, agent_id: UUID | None = None, purpose: str = STORING
) -> Embedded:
    """Embed texts of an owner into a space, with their tokens where its model gives them and late interaction is on.

    Raises:
        EmbedderUnavailable: the model cannot be used now, or its vectors have another width than those of the space.
    """
    model: Embedder = kept.model
    with on_behalf_of(owner_id, purpose, agent_id=agent_id):
        if not settings.LATE_INTERACTION or not gives_tokens(model):
            made = Embedded(kept.space.pk, model.embed(texts))
        else:
            vectors, tokens = model.embed_with_tokens(texts)
            made = Embedded(kept.space.pk, vectors, [one.matrix for one in tokens], model.reduction)
    if made.vectors.shape[1] != kept.space.dimension:
        raise EmbedderUnavailable("The embedder now answers with another width than its stored vectors have.")
    return made


def embedded_in_parts(
    kept: Kept, texts: Sequence[str], *, owner_id: UUID
) -> Iterator[tuple[list[int], Embedded | None]]:
    """Embed as `embedded_by` does, but let a text that the embedder refuses keep no other from its vector.

    Where some of the texts are refused they are asked for in halves, down to the single one.

    Args:
        kept: the space and its embedder.
        texts: of an owner.
        owner_id: whose.

    Returns:
        The places of some texts with their vectors, until all were asked for; of a text that is refused by itself its
        place and None.

    Raises:
        EmbedderUnavailable: as `embedded_by`; what was given before stays good.
    """
    waiting = [list(range(len(texts)))] if texts else []
    answers = False
    while waiting:
        places = waiting.pop()
        try:
            found: Embedded | None = embedded_by(kept, [texts[place] for place in places], owner_id=owner_id)
        except EmbedderUnavailable as error:
            if not error.details.get("input_refused"):
                raise
            if len(places) > 1:
                middle = len(places) // 2
                waiting += [places[middle:], places[:middle]]
                continue
            if not answers:
                # A server that refuses everything is away, and no text is to blame.
                embedded_by(kept, [PROBE], owner_id=owner_id)
            logger.error("the embedder refuses a text: %s", error.machine_code)
            found = None
        answers = True
        yield places, found


def _tried(kept: Kept, texts: Sequence[str], *, owner_id: UUID, agent_id: UUID | None) -> Embedded | None:
    try:
        return embedded_by(kept, texts, owner_id=owner_id, agent_id=agent_id)
    except EmbedderUnavailable as error:
        _note_failure(error)
        return None


def _note_failure(error: EmbedderUnavailable) -> None:
    logger.warning("embedding failed, vectors are queued: %s", error.machine_code)
