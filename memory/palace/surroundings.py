"""What stands round every page: the newest memories, the numbers and the state of the embedder."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import ngettext

from memory.errors import KeysUnavailable
from memory.models import owner_scope
from memory.palace.meaning import SEEN_COOKIE, embedder_status, look_at_embedder, moving_status
from memory.palace.notices import notices
from memory.palace.numbers import whole
from memory.palace.places import written_place
from memory.palace.presenters import CATEGORY_CHOICES, Card, cards_with
from memory.palace.sections import counted_navigation
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.memories import ListRequest, list_memories
from memory.services.stats import totals

logger = logging.getLogger(__name__)

RECENT: Final = 20
MOST_FILTER_CHARACTERS: Final = 200


def recent_cards(actor: Actor, word: str, category: str = "") -> list[Card]:
    """Give those of the newest memories that hold a word and are of a category; all of them when both are blank."""
    rows = list_memories(actor=actor, request=ListRequest(), after=None, size=RECENT)
    if category:
        rows = [row for row in rows if row.category == category]
    return cards_with(rows, word[:MOST_FILTER_CHARACTERS], now())


def shown_until() -> str:
    """Give the place behind all that a page made now can show; what comes later is its news."""
    return written_place(now(), UUID(int=2**128 - 1))


def _numbers(counts: dict[str, int]) -> list[str]:
    """Say how much there is, leaving out what there is none of."""
    said = [
        (counts["total"], ngettext("%(count)s memory", "%(count)s memories", counts["total"])),
        (counts["sessions"], ngettext("%(count)s conversation", "%(count)s conversations", counts["sessions"])),
        (counts["entities"], ngettext("%(count)s known thing", "%(count)s known things", counts["entities"])),
        (counts["archived"], ngettext("%(count)s archived", "%(count)s archived", counts["archived"])),
        (counts["vectors_pending"], ngettext("%(count)s waiting", "%(count)s waiting", counts["vectors_pending"])),
    ]
    return [words % {"count": whole(count)} for place, (count, words) in enumerate(said) if count or not place]


def surroundings(request: HttpRequest, actor: Actor) -> dict[str, Any]:
    """Give what the frame of a page shows, as plain values; notices are looked for where the page shows them."""
    look_at_embedder()
    with owner_scope(actor.owner_id):  # one for all that is read: each of its own costs two statements
        counts, after = totals(actor=actor), shown_until()
        status = embedder_status(actor.owner_id, counts["vectors_pending"])
        moving = moving_status(actor.owner_id)
        recent = _recent(actor)
        navigation = counted_navigation(request, actor)
    on_front = request.resolver_match is not None and request.resolver_match.view_name == "palace:recall"
    return {
        "recent": recent or [],
        "recent_unreadable": recent is None,
        "recent_word": "",
        "recent_category": "",
        "recent_categories": CATEGORY_CHOICES,
        "recent_after": after,
        "numbers": _numbers(counts),
        "embedder": status,
        "moving": moving,
        "embedder_news": on_front and request.COOKIES.get(SEEN_COOKIE) != status.name.replace(" ", ""),
        "here": request.get_full_path(),
        "notices": partial(notices, actor),
        **navigation,
    }


def _recent(actor: Actor) -> list[Card] | None:
    """Give the newest memories; None where they do not open.

    Without this a text that does not open would keep a person from every page, the one that erases it too.
    """
    try:
        return recent_cards(actor, "")
    except KeysUnavailable:
        logger.exception("the newest memories of an owner do not open")
        return None
