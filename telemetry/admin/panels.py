"""What telemetry shows on the front page of the admin."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from memory.palace.numbers import local, whole
from memory.services.actors import Actor
from telemetry.services.summary import summary


def last_days(actor: Actor) -> list[tuple[Any, Any]]:
    """Give the numbers of the last thirty days."""
    found = summary(actor=actor)
    costs = [(_("cost of models"), local(f"{cost:.4f} {currency}")) for currency, cost in found.costs.items()]
    return [
        (_("turns of agents"), whole(found.turns)),
        (_("no part fitted"), _share(found.unfitted, found.turns)),
        (_("did not end well"), _share(found.failed, found.turns)),
        (_("calls of models"), whole(found.calls)),
        *costs,
    ]


def _share(part: int, total: int) -> str:
    return local(f"{part:,} ({part / total:.0%})") if total else whole(part)
