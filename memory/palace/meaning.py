"""How search by meaning stands, as pages tell it: what is so, what to do about it, and how far the catching up is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.errors import LociError
from memory.palace.model_fetching import FetchView, fetch_view
from memory.palace.numbers import whole
from memory.palace.sentences import said
from memory.services.health import embedder_finding, stand_in
from memory.services.spaces.in_use import embedder_in_use, standing_by
from memory.services.spaces.progress import own_progress, percent

SEEN_COOKIE: Final = "loci_embedder_seen"
MOMENT: Final = 0.3
"""Seconds that a page waits for an embedder of which nothing good is known."""


@dataclass(frozen=True, slots=True)
class EmbedderStatus:
    """The state of search by meaning.

    Attributes:
        state: `ok`, `untried` (its server was not asked yet), `pending` (texts wait for their vectors), `missing` (its
            server lacks the model), `off`, `failing`.
        sentence: what is so.
        detail: what explains it.
        remedy: what to do about it; empty where nothing is to be done.
        command: what to type for that, where it is a command.
        waiting: memories that wait for their vectors.
        name: the model, where there is one.
        fetch: how far the model is fetched that is missing, where that was ordered.
    """

    state: str
    sentence: str
    detail: str = ""
    remedy: str = ""
    command: str = ""
    waiting: int = 0
    name: str = ""
    fetch: FetchView | None = None


@dataclass(frozen=True, slots=True)
class Moving:
    """How far the move to another embedder is for an owner: what to say, and whole percents."""

    sentence: str
    percent: int


def moving_status(owner_id: UUID) -> Moving | None:
    """Say how far an owner's memories are in the space that is being filled; None where none is.

    One statement where a second embedder is configured, none otherwise.
    """
    if settings.EMBEDDING_SECOND_PROVIDER == "none":
        return None
    found = own_progress(owner_id)
    if found is None:
        return None
    done, total = found
    sentence = _(
        "%(done)s of %(total)s memories are read by the model that comes next. Search goes on as before meanwhile."
    )
    return Moving(sentence % {"done": whole(done), "total": whole(total)}, percent(done, total))


def look_at_embedder() -> None:
    """Have a server that was not asked yet, or failed, asked anew; outside of transactions, since it waits a moment.

    Other processes may have found out since how it is, and nobody has to search before it is told here.
    """
    try:
        model = embedder_in_use()
    except LociError:
        # Its settings cannot work, which the status tells.
        return
    model.look(seconds=MOMENT)


def embedder_status(owner_id: UUID, pending: int) -> EmbedderStatus:
    """Say how search by meaning stands for an owner in this process, by the finding that operators see.

    Args:
        owner_id: whose memories are searched.
        pending: those of them that wait for their vectors.
    """
    found = embedder_finding()
    if found.status == "failing":
        sentence = _("Search by meaning is not set up; I search by words.")
        return EmbedderStatus("failing", sentence, said(found.detail), said(found.remedy), waiting=pending)
    model = embedder_in_use()
    if model.provider == "none":
        without = ngettext("%(count)s memory has no vector.", "%(count)s memories have no vector.", pending)
        detail = without % {"count": whole(pending)} if pending else ""
        return EmbedderStatus(
            "off", _("Search by meaning is switched off; I search by words."), detail, waiting=pending
        )
    name = f"{model.provider} / {model.model}"
    waiting = ngettext(
        "%(count)s memory waits to be read for meaning.", "%(count)s memories wait to be read for meaning.", pending
    ) % {"count": whole(pending)}
    if found.status == "degraded":
        detail = f"{said(found.detail)} {waiting if pending else ''}".strip()
        sentence = _degraded_sentence(owner_id, lacks_model=model.lacks_model)
        if model.lacks_model:
            return EmbedderStatus(
                "missing",
                sentence,
                detail,
                _("Fetch it on the machine of the embedding server:"),
                f"ollama pull {model.model}",
                pending,
                name,
                fetch_view(model.model),
            )
        return EmbedderStatus("failing", sentence, detail, said(found.remedy), waiting=pending, name=name)
    if pending:
        later = _("They are found by words until then.")
        return EmbedderStatus("pending", waiting, later, waiting=pending, name=name)
    if model.untried:
        return EmbedderStatus("untried", _("Search by meaning was not tried yet"), name, name=name)
    return EmbedderStatus("ok", _("Search by meaning is on"), name, name=name)


def _degraded_sentence(owner_id: UUID, *, lacks_model: bool) -> str:
    """Say with what is searched meanwhile; recall takes the other embedder where an owner lacks nothing of it."""
    kept = standing_by(owner_id)
    if kept is not None and stand_in(kept.space):
        return _("The model for search by meaning is away; I search with the one that stands by.")
    if lacks_model:
        return _("The model for search by meaning is not there yet; I search by words until then.")
    return _("Search by meaning is unavailable; I search by words.")
