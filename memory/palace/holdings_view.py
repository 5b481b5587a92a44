"""What is kept, by tier, kind, agent and how sensitive it is, as lines for people."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from memory.palace.numbers import whole
from memory.palace.presenters import label
from memory.services.holdings import Holdings
from memory.services.legible import UNREADABLE

MOST_LINES: Final = 100


@dataclass(frozen=True, slots=True)
class Line:
    """A number of memories; `agent` is the id of the agent whose they are, where there is one."""

    name: str
    count: str
    agent: str = ""


@dataclass(frozen=True, slots=True)
class HoldingsView:
    """The lines of each table, the largest number first."""

    total: int
    sensitive: list[Line]
    tiers: list[Line]
    kinds: list[Line]
    agents: list[Line]


def holdings_view(found: Holdings) -> HoldingsView:
    """Describe what is kept."""
    sensitive = [
        (_("with personal data, such as an address or a number"), found.sensitive[1]),
        (_("with secrets or very sensitive data"), sum(n for level, n in found.sensitive.items() if level > 1)),
    ]
    return HoldingsView(
        total=found.total,
        sensitive=[Line(name, whole(count)) for name, count in sensitive if count],
        tiers=_lines(found.tiers),
        kinds=_lines(found.kinds),
        agents=[
            Line(_of(found, agent_id), whole(count), str(agent_id or ""))
            for agent_id, count in found.agents.most_common(MOST_LINES)
        ],
    )


def _lines(counts: Counter[str]) -> list[Line]:
    return [Line(label(name), whole(count)) for name, count in counts.most_common()]


def _of(found: Holdings, agent_id: UUID | None) -> str:
    if agent_id is None:
        return _("you, or drawn by Loci")
    return found.names.get(agent_id, _(UNREADABLE))
