"""What has changed since a page was made: numbers for its quiet counters, and whether a worker shows that it lives."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, JsonResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.palace.access import person_page
from memory.palace.places import place_of
from memory.palace.worker_notice import silent_sentence
from memory.services.actors import Actor
from memory.services.health.heartbeat import worker_is_silent
from memory.services.memories import count_newer
from memory.services.reviews import count_waiting

MOST: Final = 99


@person_page("GET", "HEAD")
def counts(request: HttpRequest, actor: Actor) -> JsonResponse:
    """Give how many memories came after the newest that a page shows, what waits for review, and the worker's state."""
    newer = count_newer(actor=actor, than=place_of(request.GET.get("after", "")), most=MOST + 1)
    waiting = count_waiting(actor=actor)
    return JsonResponse(
        {
            "memories": {"count": newer, "words": _new(newer)},
            "reviews": {"count": waiting, "words": _waiting(waiting)},
            "worker": silent_sentence() if worker_is_silent() else "",
        }
    )


def _new(count: int) -> str:
    if count > MOST:
        return _("more than %(count)d new") % {"count": MOST}
    return ngettext("%(count)d new", "%(count)d new", count) % {"count": count}


def _waiting(count: int) -> str:
    return ngettext("%(count)d waits for you", "%(count)d wait for you", count) % {"count": count}
