"""What every page says while no worker does the work in the background."""

from __future__ import annotations

from django.utils.translation import gettext as _

from memory.palace.notices import Notice
from memory.services.actors import Actor
from memory.services.health.heartbeat import worker_is_silent


def silent_sentence() -> str:
    """Say what waits without a worker, and who can start one."""
    return _(
        "No worker is running: what you store is kept and found, but consolidation, forgetting and erasing wait. "
        "Whoever runs this server can start one with `manage.py worker`."
    )


def worker_notice(actor: Actor) -> Notice | None:
    """Give the notice while no worker shows that it lives; one statement."""
    return Notice(silent_sentence()) if worker_is_silent() else None
