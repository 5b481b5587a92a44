"""How the strongest memory of a community begins: what a community goes by in which no entity is found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.db import connection

from memory.models import Memory, Status, current_owner
from memory.privacy.masking import masked
from memory.services.actors import Actor
from memory.services.graph_view.things import WORDS, shortened
from memory.services.opening import opened

OPENING_CHARACTERS: Final = 48
STRONGEST: Final = """
    SELECT n.number, m.id FROM unnest(%(numbers)s::int[]) AS n (number)
    CROSS JOIN LATERAL (
        SELECT m.id FROM memory_memory m
        WHERE m.owner_id = %(owner)s AND m.community = n.number AND m.status = %(live)s {scope}
        ORDER BY m.importance DESC, m.id LIMIT 1
    ) m
"""


def openings(actor: Actor, numbers: Sequence[int]) -> dict[int, str]:
    """Give how the strongest memory of each community begins, masked as in lists; within the owner's scope.

    Two statements for all of them, none without a number. Communities without a memory that the actor may read are
    left out.
    """
    if not numbers:
        return {}
    scope = "" if actor.readable is None else "AND m.scope = ANY(%(scopes)s::uuid[])"
    with connection.cursor() as cursor:
        cursor.execute(
            STRONGEST.format(scope=scope),
            {
                "owner": current_owner(),
                "numbers": list(numbers),
                "live": Status.LIVE,
                "scopes": list(actor.readable or ()),
            },
        )
        strongest = dict(cursor.fetchall())
    rows = opened(list(Memory.objects.filter(pk__in=strongest.values()).only(*WORDS)))
    texts = {row.pk: " ".join(masked(row.text, row.pii_kinds, row.pii_tier).text.split()) for row in rows}
    return {number: shortened(texts[one], OPENING_CHARACTERS) for number, one in strongest.items() if texts[one]}
