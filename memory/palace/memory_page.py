"""Gathering what the page of a memory shows: one answer of each service, whatever the number of its rows."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from memory.models import Memory, ReviewKind
from memory.palace.memory_strength import certainty_reasons, strength_view
from memory.palace.memory_ties import (
    LinkView,
    dispute_view,
    link_view,
    name_view,
    pair_view,
    quoted_turn,
    sides_of,
)
from memory.palace.memory_view import memory_view
from memory.palace.presenters import card
from memory.palace.privacy_view import named, readers_row
from memory.services.actors import Actor
from memory.services.agents import list_agents
from memory.services.audit.access_log import who_read
from memory.services.conversations import beside
from memory.services.disputes import doubts_about
from memory.services.facts import replacements_of
from memory.services.graph.edges import edges_of
from memory.services.memories import accesses, by_ids, history, sources
from memory.services.retention_policies import policy_of
from memory.services.ties import ties_of

PREVIEWED: Final = 140
MOST_LINKS: Final = 50


def memory_context(actor: Actor, row: Memory, *, now: datetime, revealed: bool) -> dict[str, Any]:
    """Gather what the page of a memory shows, as plain values.

    Args:
        actor: whose page it is.
        row: the memory.
        now: the present moment.
        revealed: show what is masked otherwise.
    """
    memory_id = row.pk
    used = accesses(actor=actor, memory_ids=[memory_id]).get(memory_id)
    said = sources(actor=actor, memory_id=memory_id)
    versions = history(actor=actor, memory_id=memory_id)
    replaced = replacements_of(actor=actor, memory_id=memory_id)
    doubts = doubts_about(actor=actor, memory_id=memory_id)
    ties = ties_of(actor=actor, memory_id=memory_id)
    links = edges_of(actor=actor, memory_id=memory_id, size=MOST_LINKS + 1)
    rows = by_ids(actor=actor, memory_ids=sides_of(doubts))
    pairs = [pair_view(one, rows, memory_id, now) for one in doubts if one.item.kind == ReviewKind.CONTRADICTION]
    disputes = [dispute_view(one, now) for one in doubts if one.item.kind == ReviewKind.DISPUTE]
    turn_ids = [one.turn_id for one in said if one.turn_id and one.turn_id != memory_id]
    if row.session_id:
        turn_ids.append(memory_id)
    quoted = [quoted_turn(one) for one in beside(actor=actor, turn_ids=turn_ids).values()] if turn_ids else []
    readers = [readers_row(reader, now) for reader in who_read(actor=actor, memory_id=memory_id)]
    return {
        "memory": memory_view(
            row,
            used=used,
            sources=said,
            versions=versions,
            agents={agent.pk: named(agent) for agent in list_agents(actor=actor)},
            now=now,
            revealed=revealed,
        ),
        "strength": strength_view(row, used=used, policy=policy_of(actor), now=now),
        "certainty": certainty_reasons(
            row,
            said,
            corrected=any(one.actor == "person" for one in versions),
            disputed=sum(one.waits for one in disputes),
            contested=sum(one.waits for one in pairs),
        ),
        "newer": [card(one, now, characters=PREVIEWED) for one in replaced.newer],
        "older": [card(one, now, characters=PREVIEWED) for one in replaced.older],
        "pairs": pairs,
        "disputes": disputes,
        "links": _links([link_view(one, now) for one in links[:MOST_LINKS]]),
        "more_links": len(links) > MOST_LINKS,
        "spoken": [name_view(one) for one in ties.spoken],
        "named": [name_view(one) for one in ties.named],
        "drawn": [card(one, now, characters=PREVIEWED) for one in ties.drawn],
        "sharing": [(card(one.memory, now, characters=PREVIEWED), one.name) for one in ties.sharing],
        "quoted": [one for one in quoted if one is not None],
        "readers": readers,
        "last_reader": readers[0] if readers else None,
        "similar": [],
    }


def _links(links: list[LinkView]) -> list[LinkView]:
    return sorted(links, key=lambda one: one.words)
