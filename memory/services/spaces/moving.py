"""Moving an installation to another embedder: opening a space for it, switching, switching back, giving one up.

Opening and retiring are made of steps that each can be repeated, so whatever interrupts them, the same call goes on.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection, transaction

from memory.errors import Conflict, EmbedderUnavailable, NotFound, OwnerPurging
from memory.models import DueWork, EmbeddingSpace, SpaceFill, SpaceState
from memory.providers.composition import embedder, second_embedder
from memory.providers.embedder_choices import OLLAMA, first_choice, second_choice
from memory.providers.guarded_embedder import GuardedEmbedder
from memory.services.amounts import memories, owners
from memory.services.clock import now
from memory.services.embedding import PROBE
from memory.services.spaces.emptying import Tell, empty_space, owners_in_turn
from memory.services.spaces.filling import call_for_all, fill_spaces
from memory.services.spaces.in_use import BESIDE, configured, model_of, space_beside
from memory.services.spaces.indexes import WIDEST, indexes_of, make_indexes, require_owning_role
from memory.services.spaces.progress import note_progress

ATTEMPTS: Final = 5
LOCK: Final = "SELECT pg_advisory_xact_lock(hashtext('loci.spaces'))"
# Whoever writes a vector holds its space's row against this lock until the end of the transaction; whoever comes
# later waits for the switch, which takes milliseconds.
STOP_WRITERS: Final = "SELECT id FROM memory_embeddingspace WHERE id = %s FOR UPDATE"


@dataclass(frozen=True, slots=True)
class Switched:
    """What a switch did: the space in use now, the one that stands by, and how many memories lack a vector."""

    active: EmbeddingSpace
    standby: EmbeddingSpace
    missing: int


def open_space(*, tell: Tell) -> EmbeddingSpace:
    """Open the space of the configured embedder that is not in use, make its indexes, and have the workers fill it.

    From then on what is stored gets a vector in both. Repeating it makes what an interruption has left undone.

    Raises:
        Conflict: `space.no_privilege`, said before anything is looked at; `space.none_in_use`, `space.not_configured`,
            `space.beside` (another one stands beside the one in use), `space.too_wide`.
        EmbedderUnavailable: the embedder does not answer.
    """
    require_owning_role()
    active = _active()
    model = _other_model(active)
    dimension = _told_width(model)
    if dimension > WIDEST:
        raise Conflict(
            f"The model's vectors have {dimension:,} dimensions; an index takes {WIDEST:,} at most.",
            code="space.too_wide",
        )
    retired = EmbeddingSpace.objects.filter(
        provider=model.provider, model=model.model, dimension=dimension, state=SpaceState.RETIRED
    ).first()
    if retired is not None:
        # What stands in it may be of texts that have changed since.
        empty_space(retired, tell=tell)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(LOCK)
        space = _opened(model, dimension)
    make_indexes(space, tell=lambda done, total: tell("indexes", done, total))
    call_for_all()
    return space


def switch_space(*, force: bool = False, tell: Tell) -> Switched:
    """Use the space beside the one in use instead of it, which stands by from then on; repeated, it switches back.

    Everything is counted before, and again while nobody writes, for some milliseconds.

    Args:
        force: switch although vectors or indexes are missing, or the space is paused: those memories are found by words
            until the workers have made their vectors.
        tell: hears of progress.

    Raises:
        Conflict: `space.none_beside`; `space.no_index`; `space.incomplete` with `missing`, `owners` and `pause`.
        EmbedderUnavailable: no configured embedder makes its vectors, or it does not answer.
    """
    space = _beside()
    _require_well(space)
    if not force and not (indexes_of(space.pk).count and indexes_of(space.pk).valid):
        raise Conflict("Its indexes are not all there. `manage.py spaces open` makes them.", code="space.no_index")
    missing, of_owners = _count(space, tell=tell)
    for _ in range(ATTEMPTS):
        if not force and (missing or space.pause):
            raise _incomplete(space, missing, of_owners)
        switched = _switch(space, force=force, missing=missing)
        if switched is not None:
            return switched
        # Somebody wrote with one embedder only since it was counted; that is little, and made here.
        _fill_due()
        space = _beside()
        missing, of_owners = _count(space, tell=tell)
    raise _incomplete(space, missing, of_owners)


def retire_space(*, space_id: int | None = None, tell: Tell) -> EmbeddingSpace:
    """Give up the space beside the one in use: its vectors and indexes go. Repeating it goes on where it was.

    Args:
        space_id: which, where it was given up before and something of it is left.
        tell: hears of progress.

    Raises:
        Conflict: `space.no_privilege`, said before anything is looked at; `space.none_beside`; `space.in_use`, it is
            the one in use; `space.busy`.
        NotFound: `space.unknown`.
    """
    require_owning_role()
    space = _beside() if space_id is None else EmbeddingSpace.objects.filter(pk=space_id).first()
    if space is None:
        raise NotFound("There is no such embedding space.", code="space.unknown")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(LOCK)
        space.refresh_from_db()
        if space.state == SpaceState.ACTIVE:
            raise Conflict("This space is in use. Switch to another one first.", code="space.in_use")
        cursor.execute(STOP_WRITERS, [space.pk])
        EmbeddingSpace.objects.filter(pk=space.pk).update(state=SpaceState.RETIRED, pause="", paused_at=None)
    empty_space(space, tell=tell)
    space.refresh_from_db()
    return space


def fill_now(*, tell: Tell) -> EmbeddingSpace:
    """Make the missing vectors of every owner here and now, beside the workers, who may be at it too.

    Raises:
        Conflict: `space.none_beside`.
        EmbedderUnavailable: no configured embedder makes its vectors, or it does not answer; what was made stays.
    """
    space = _beside()
    _require_well(space)
    with transaction.atomic():
        EmbeddingSpace.objects.filter(pk=space.pk, state__in=BESIDE).update(pause="", paused_at=None)
        call_for_all()
    owners = owners_in_turn()
    for number, owner_id in enumerate(owners):
        again: datetime | None = now()
        with suppress(OwnerPurging):
            while again is not None and again <= now():
                _, again = fill_spaces(owner_id=owner_id, at=now())
        space = _beside()
        if space.pause:
            raise EmbedderUnavailable("The embedder of the space does not answer. What was made is kept.")
        tell("owners", number + 1, len(owners))
    return space


def _opened(model: GuardedEmbedder, dimension: int) -> EmbeddingSpace:
    key: dict[str, Any] = {"provider": model.provider, "model": model.model, "dimension": dimension}
    beside = space_beside()
    if beside is not None:
        if (beside.provider, beside.model, beside.dimension) != tuple(key.values()):
            raise Conflict(
                f"The space of {beside.provider}/{beside.model} stands beside the one in use. Retire it first: "
                "`manage.py spaces retire`.",
                code="space.beside",
            )
        return beside
    space, _ = EmbeddingSpace.objects.update_or_create(
        **key, defaults={"state": SpaceState.FILLING, "pause": "", "paused_at": None}
    )
    return space


def _switch(space: EmbeddingSpace, *, force: bool, missing: int) -> Switched | None:
    """Swap the two spaces, unless something was written since that lacks a vector."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(LOCK)
        active = _active()
        cursor.execute(STOP_WRITERS, [active.pk])
        rows = EmbeddingSpace.objects.filter(pk=space.pk, state__in=BESIDE)
        if not rows.exists():
            raise Conflict("Somebody else has switched or retired it.", code="space.none_beside")
        due = DueWork.objects.filter(job=DueWork.SPACES).exists()
        if not force and (due or not rows.filter(pause="").exists()):
            return None
        moment = now()
        rows.update(state=SpaceState.RETIRED)
        EmbeddingSpace.objects.filter(pk=active.pk).update(state=SpaceState.STANDBY, switched_at=moment)
        EmbeddingSpace.objects.filter(pk=space.pk).update(
            state=SpaceState.ACTIVE, switched_at=moment, pause="", paused_at=None
        )
        SpaceFill.objects.filter(space_id__in=[space.pk, active.pk]).delete()
    # They look at everybody once more: what is missing after a forced switch, and how far the standby is. Not in the
    # same transaction: writers hold such rows and wait for it.
    call_for_all()
    for one in (active, space):
        one.refresh_from_db()
    return Switched(space, active, missing)


def _count(space: EmbeddingSpace, *, tell: Tell) -> tuple[int, int]:
    """Count the memories that lack a vector in the space, and their owners."""
    owners, lacking = owners_in_turn(), []
    for number, owner_id in enumerate(owners):
        known = SpaceFill.objects.filter(owner_id=owner_id, space_id=space.pk).values_list("closed", flat=True).first()
        with suppress(OwnerPurging):
            lacking.append(note_progress(owner_id, space.pk, closed=known or 0, whole=True))
        tell("counted", number + 1, len(owners))
    return sum(lacking), sum(1 for count in lacking if count)


def _fill_due() -> None:
    for owner_id in list(DueWork.objects.filter(job=DueWork.SPACES).values_list("owner_id", flat=True)):
        moment = now()
        with suppress(OwnerPurging):
            _, again = fill_spaces(owner_id=owner_id, at=moment)
            if again is None:
                # One that was called for meanwhile has a later time and stays.
                DueWork.objects.filter(owner_id=owner_id, job=DueWork.SPACES, due_at__lte=moment).delete()


def _active() -> EmbeddingSpace:
    active = EmbeddingSpace.objects.filter(state=SpaceState.ACTIVE).first()
    if active is None:
        raise Conflict(
            "No space is in use yet: the first memory opens that of EMBEDDING_PROVIDER.", code="space.none_in_use"
        )
    return active


def _beside() -> EmbeddingSpace:
    space = space_beside()
    if space is None:
        raise Conflict(
            "No space stands beside the one in use. `manage.py spaces open` opens one.", code="space.none_beside"
        )
    return space


def _other_model(active: EmbeddingSpace) -> GuardedEmbedder:
    # Its settings are read here, where it is told if they cannot work.
    second_embedder()
    used = (active.provider, active.model)
    for model in configured():
        if model.provider != "none" and (model.provider, model.model) != used:
            return model
    raise Conflict(
        "No other embedder is configured than that of the space in use. Name it by EMBEDDING_SECOND_PROVIDER and "
        "EMBEDDING_SECOND_MODEL.",
        code="space.not_configured",
    )


def _told_width(model: GuardedEmbedder) -> int:
    """Ask an embedder for a vector and give its width; a failure says which of the embedders it is."""
    try:
        return int(model.embed([PROBE]).shape[1])
    except EmbedderUnavailable as error:
        # Not by asking for the second one, whose settings may not work.
        choice = first_choice() if model is embedder() else second_choice()
        setting = f"{choice.prefix}_BASE_URL" + (" or OLLAMA_BASE_URL" if choice.provider == OLLAMA else "")
        where = f" at {model.host}, {setting}" if model.host else ""
        raise EmbedderUnavailable(
            f"{error.message} It is the embedder of {choice.prefix}_PROVIDER ({model.provider}/{model.model}{where}).",
            code=error.machine_code,
        ) from error


def _require_well(space: EmbeddingSpace) -> None:
    model = model_of(space)
    if model is None:
        raise EmbedderUnavailable(
            f"No configured embedder is {space.provider}/{space.model}. Name it by EMBEDDING_SECOND_PROVIDER and "
            "EMBEDDING_SECOND_MODEL.",
        )
    if _told_width(model) != space.dimension:
        raise EmbedderUnavailable("The embedder now answers with another width than its stored vectors have.")


def _incomplete(space: EmbeddingSpace, missing: int, of_owners: int) -> Conflict:
    why = f" Filling pauses: {space.pause}." if space.pause else ""
    return Conflict(
        f"It lacks the vectors of {memories(missing)} of {owners(of_owners)}, or they are being written now.{why} "
        "Words alone would find what lacks one. `manage.py spaces fill` makes them.",
        code="space.incomplete",
        missing=missing,
        owners=of_owners,
        pause=space.pause,
    )
