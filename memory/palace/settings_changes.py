"""By whom and when settings were last changed, as the audit says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from memory.palace.dates import Moment, moment
from memory.palace.privacy_view import access_row
from memory.services.actors import Actor
from memory.services.audit.access_log import LogRequest, access_log

LOOKED_AT: Final = 100


@dataclass(frozen=True, slots=True)
class Change:
    """When a setting was last changed, and by whom in words."""

    at: Moment
    who: str


def last_changes(actor: Actor, now: datetime, *, agent_id: UUID | None = None) -> dict[str, Change]:
    """Give the last change of each setting that one of the newest hundred changes names.

    Args:
        actor: the person.
        now: the present, for words of time.
        agent_id: of an agent's own settings; of the owner's when left out.
    """
    request = LogRequest(verb="change", object_kind="settings", object_id=agent_id)
    found: dict[str, Change] = {}
    for entry in access_log(actor=actor, request=request, size=LOOKED_AT):
        if entry.event.object_id != agent_id:
            continue
        who = access_row(entry, now).who or _("somebody")
        found.setdefault(entry.event.reason, Change(moment(entry.event.created_at, now), who))
    return found
