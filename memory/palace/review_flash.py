"""What was decided last, kept in the login's session so that the next page offers to take it back for a while."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import ngettext

from memory.services.actors import Actor
from memory.services.clock import now

UNDO_SECONDS: Final = 10
_KEY: Final = "review_decided"


@dataclass(frozen=True, slots=True)
class Decided:
    """What can be taken back: the items, what was done in words, and for how many seconds it is offered."""

    ids: tuple[str, ...]
    sentence: str
    seconds: int


def keep_decided(request: HttpRequest, actor: Actor, item_ids: Sequence[UUID | str], decision: str) -> None:
    """Keep which items of whom were decided, and how; none forgets what was kept. Only ids go into the session."""
    if item_ids:
        request.session[_KEY] = {
            "owner": str(actor.owner_id),
            "ids": [str(one) for one in item_ids],
            "decision": decision,
            "at": now().isoformat(),
        }
    else:
        request.session.pop(_KEY, None)


def recently_decided(request: HttpRequest, actor: Actor) -> Decided | None:
    """Give what was decided within the last ten seconds, of the owner that is shown; None where nothing was."""
    found = request.session.get(_KEY)
    if found is None or found.get("owner") != str(actor.owner_id):
        return None
    left = UNDO_SECONDS - (now() - datetime.fromisoformat(found["at"])).total_seconds()
    if left <= 0:
        keep_decided(request, actor, [], "")
        return None
    return Decided(tuple(found["ids"]), _sentence(found["decision"], len(found["ids"])), max(1, round(left)))


def _sentence(decision: str, count: int) -> str:
    sentences = {
        "approve": ngettext("Approved.", "%(count)s items were approved.", count),
        "reject": ngettext("Rejected.", "%(count)s items were rejected.", count),
        "snooze": ngettext("Put off.", "%(count)s items were put off.", count),
    }
    return sentences[decision] % {"count": count}
