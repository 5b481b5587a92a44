"""Counts of an owner's memories."""

from __future__ import annotations

from typing import Any, Final

from django.db import connection
from django.db.models import Count, QuerySet

from memory.crypto.keyring import keyring
from memory.models import Entity, LabelKind, Memory, OwnerActivity, PendingVector, Status, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.drafts import source_segments
from memory.services.features import require_memory
from memory.services.reviews import count_open
from memory.services.sessions import own_sessions

MOST_SOURCES: Final = 50


def statistics(*, actor: Actor) -> dict[str, Any]:
    """Count live memories by tier, kind, category and source, and what waits; only what the actor may read.

    At most the 50 most frequent sources are named.
    """
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        live = _visible(actor).filter(status=Status.LIVE)
        activity, all_agents = OwnerActivity.objects.first(), actor.readable is None
        return {
            **_totals(actor),
            "open_reviews": count_open(actor),
            "by_tier": _counts(live, "tier"),
            "by_kind": _counts(live, "kind"),
            "by_category": _counts(live, "category"),
            "by_source": _by_source(actor),
            # Counted over all agents, so one agent is not told what the others do.
            "turns_since_consolidation": _turns(activity) if all_agents else None,
        }


def totals(*, actor: Actor) -> dict[str, int]:
    """Count live and archived memories, sessions, entities and waiting vectors: what every page shows."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        entities = Entity.objects.all()
        if actor.readable is not None:
            entities = entities.filter(scope__in=actor.readable)
        return {**_totals(actor), "entities": entities.count()}


def _totals(actor: Actor) -> dict[str, int]:
    visible = _visible(actor)
    live = visible.filter(status=Status.LIVE)
    return {
        "total": live.count(),
        "archived": visible.filter(status=Status.ARCHIVED).count(),
        "sessions": own_sessions(actor).count(),
        "vectors_pending": PendingVector.objects.filter(memory__in=live).count(),
    }


def _turns(activity: OwnerActivity | None) -> int:
    return activity.turns_since_consolidation if activity else 0


def _visible(actor: Actor) -> QuerySet[Memory]:
    rows: QuerySet[Memory] = Memory.objects.all()
    return rows if actor.readable is None else rows.filter(scope__in=actor.readable)


def _counts(rows: QuerySet[Memory], column: str) -> dict[str, int]:
    counted = rows.order_by().values_list(column).annotate(n=Count("pk"))
    return dict(sorted(counted, key=lambda item: (-item[1], item[0])))


def _by_source(actor: Actor) -> dict[str, int]:
    """Count live memories by source and each of its path prefixes; one row of each is opened to learn the name."""
    scope = "AND m.scope = ANY(%(scopes)s::uuid[])" if actor.readable is not None else ""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT l.label, count(*) AS n, min(l.memory_id::text)::uuid FROM memory_memorylabel l
            JOIN memory_memory m ON m.owner_id = l.owner_id AND m.id = l.memory_id AND m.status = %(live)s {scope}
            WHERE l.owner_id = %(owner)s AND l.kind = %(kind)s GROUP BY l.label ORDER BY n DESC LIMIT %(most)s""",
            {
                "owner": actor.owner_id,
                "live": Status.LIVE,
                "kind": int(LabelKind.SOURCE),
                "scopes": list(actor.readable or ()),
                "most": MOST_SOURCES,
            },
        )
        counted = {label: (count, memory_id) for label, count, memory_id in cursor.fetchall()}
    samples = Memory.objects.filter(pk__in=[memory_id for _, memory_id in counted.values()])
    opened = {row.pk: row.source for row in samples.only("id", "owner_id", "visibility", "agent_id", "source")}
    ring = keyring().of(actor.owner_id)
    named = {}
    for label, (count, memory_id) in counted.items():
        for segment in source_segments(opened.get(memory_id) or ""):
            if ring.name(segment) == label:
                named[segment] = count
    return named
