"""Which embedding space is in use, which stands beside it, and which of the configured embedders belongs to each.

Read anew for each use, so that a switch holds in every process at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists

from memory.errors import EmbedderUnavailable
from memory.models import DueWork, EmbeddingSpace, SpaceFill, SpaceState
from memory.providers.composition import embedder, second_embedder
from memory.providers.guarded_embedder import GuardedEmbedder
from memory.providers.misconfigured import ProviderMisconfigured

BESIDE: Final = (SpaceState.FILLING, SpaceState.STANDBY)
"""States of the one space that may stand beside the one in use."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A space, and the configured embedder that makes its vectors."""

    space: EmbeddingSpace
    model: GuardedEmbedder


@dataclass(frozen=True, slots=True)
class SpacesInUse:
    """The space in use, and the one beside it where vectors are made for that now."""

    active: Kept
    beside: Kept | None = None


def spaces_in_use() -> SpacesInUse:
    """Give the space in use with its embedder, opening the first one when the installation has none yet.

    One statement. An embedder whose model is not that of a space never gets it: vectors of two models never meet. A
    server that has not told its width yet is not asked for it: while it is away, the other embedder is there.

    Raises:
        EmbedderUnavailable: no configured embedder made the vectors in use, its vectors have another width now, or the
            first space is to be opened and it does not answer.
    """
    states = (SpaceState.ACTIVE, *BESIDE)
    rows = {row.state: row for row in EmbeddingSpace.objects.filter(state__in=states)}
    active = rows.pop(SpaceState.ACTIVE, None)
    if active is None:
        model = embedder()
        active = _open_first_space(model)
        if (active.provider, active.model) != (model.provider, model.model):
            raise _another(active, model)
    else:
        model = required_model(active)
    kept = Kept(active, model)
    _require_width(kept, model.known_dimension)
    return SpacesInUse(kept, _made_for_now(next(iter(rows.values()), None)))


def active_space() -> EmbeddingSpace:
    """Give the space in use, of whose embedder it is known that it answers, now or before, with the space's width.

    Raises:
        EmbedderUnavailable: as `spaces_in_use`, or the embedder cannot tell its width.
    """
    active = spaces_in_use().active
    _require_width(active, active.model.dimension)
    return active.space


def space_beside() -> EmbeddingSpace | None:
    """Give the space that stands beside the one in use, whether its embedder is configured or not."""
    return EmbeddingSpace.objects.filter(state__in=BESIDE).first()


def model_of(space: EmbeddingSpace) -> GuardedEmbedder | None:
    """Give the configured embedder that makes the vectors of a space; None where there is none."""
    wanted = (space.provider, space.model)
    return next((model for model in configured() if (model.provider, model.model) == wanted), None)


def required_model(space: EmbeddingSpace) -> GuardedEmbedder:
    """Give what `model_of` gives.

    Raises:
        EmbedderUnavailable: no configured embedder makes the vectors of the space.
    """
    model = model_of(space)
    if model is None:
        raise _another(space, embedder())
    return model


def embedder_in_use() -> GuardedEmbedder:
    """Give the embedder of the space in use; the first one where none of the configured made it.

    One statement where a second embedder is configured, none otherwise.
    """
    if settings.EMBEDDING_SECOND_PROVIDER != "none":
        active = EmbeddingSpace.objects.filter(state=SpaceState.ACTIVE).first()
        found = model_of(active) if active is not None else None
        if found is not None:
            return found
    return embedder()


def standing_by(owner_id: UUID) -> Kept | None:
    """Give the space beside the one in use where it can stand in for an owner: nothing of theirs is missing in it.

    One statement, asked when the embedder of the space in use has failed.
    """
    whole = SpaceFill.objects.filter(owner_id=owner_id, whole_at__isnull=False).values("space_id")
    waits = DueWork.objects.filter(owner_id=owner_id, job=DueWork.SPACES)
    space = EmbeddingSpace.objects.filter(~Exists(waits), state__in=BESIDE, pause="", pk__in=whole)
    return _made_for_now(space.first())


def configured() -> Iterator[GuardedEmbedder]:
    """Give the embedders that the settings name, the first one first; one whose settings cannot work is passed over.

    Raises:
        ProviderMisconfigured: the settings of the first one cannot work.
    """
    yield embedder()
    try:
        second = second_embedder()
    except ProviderMisconfigured:
        # Told by health and by the command that needs it; what is in use goes on.
        return
    if second is not None:
        yield second


def _made_for_now(space: EmbeddingSpace | None) -> Kept | None:
    if space is None or space.pause:
        return None
    model = model_of(space)
    return Kept(space, model) if model is not None else None


def _open_first_space(model: GuardedEmbedder) -> EmbeddingSpace:
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


def _require_width(kept: Kept, width: int | None) -> None:
    if width in (None, kept.space.dimension):
        return
    raise EmbedderUnavailable(
        f"The stored vectors have the width {kept.space.dimension}, but the embedder now answers with {width}. Have "
        "its server use the former model again, or move to the other one in a space of its own (`manage.py spaces`).",
        code="embedder.width_changed",
    )


def _another(space: EmbeddingSpace, model: GuardedEmbedder) -> EmbedderUnavailable:
    return EmbedderUnavailable(
        f"The stored vectors belong to {space.provider}/{space.model}, but {model.provider}/{model.model} is "
        "configured. Texts are stored and found by words; set the former model again, or move to the new one with "
        "`manage.py spaces`."
    )
