"""Stores of many rows, filled by the database itself: what plans are made for, without the cost of writing memories."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import psycopg
from django.db import connections

from memory.crypto.keyring import keyring
from memory.models import EmbeddingSpace, Memory, Session, owner_scope
from memory.recall.query import keyed_terms
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.remember import remember

# The space is a narrow one, because the index of wide vectors takes a minute.
DIMENSION: Final = 8
TURNS_A_SESSION: Final = 50
# Every n-th memory holds the word.
WORDS: Final = {"bako": 1, "bilu": 2, "dano": 10, "dofi": 100, "gumo": 1_000}
# Words that stand nowhere else, so that postings have many terms.
OWN_WORDS: Final = 2
HOUR: Final = "'2022-01-01Z'::timestamptz + n * interval '1 hour'"
TABLES: Final = (
    "memory_memory", "memory_memoryaccess", "memory_memoryvector", "memory_lexposting", "memory_lexstats",
    "memory_tokenvectors", "memory_mentionedtime", "memory_session",
)  # fmt: skip

VECTORS: Final = f"""
    INSERT INTO memory_memoryvector (owner_id, memory_id, space_id, scope, live, vec)
    SELECT m.owner_id, m.id, %(space)s, m.scope, true,
           (SELECT array_agg(random() - 0.5) FROM generate_series(1, {DIMENSION}) WHERE m.id IS NOT NULL)::halfvec
    FROM memory_memory m WHERE m.owner_id = %(owner)s
    ON CONFLICT DO NOTHING
"""
POSTINGS: Final = f"""
    INSERT INTO memory_lexposting (owner_id, term, memory_id, tf, highest_tf, length, scope, live)
    SELECT m.owner_id, w.term, m.id, 1, 1, 8, m.scope, true
    FROM (SELECT *, row_number() OVER (ORDER BY occurred_at) AS n FROM memory_memory WHERE owner_id = %(owner)s) m
    CROSS JOIN LATERAL (
        SELECT term FROM unnest(%(terms)s::bigint[], %(every)s::int[]) AS w (term, every) WHERE m.n %% w.every = 0
        UNION ALL
        SELECT hashint8extended(m.n, own) FROM generate_series(1, {OWN_WORDS}) own
    ) w
    ON CONFLICT DO NOTHING
"""
STATISTICS: Final = """
    INSERT INTO memory_lexstats (owner_id, n, total) VALUES (%(owner)s, %(rows)s, 8 * %(rows)s)
    ON CONFLICT (owner_id) DO UPDATE SET n = excluded.n, total = excluded.total
"""
TOKENS: Final = """
    INSERT INTO memory_tokenvectors (owner_id, memory_id, space_id, sealed)
    SELECT owner_id, id, %(space)s, sha512(id::text::bytea) || sha512(id::text::bytea)
    FROM memory_memory WHERE owner_id = %(owner)s
    ON CONFLICT DO NOTHING
"""
TIMES: Final = """
    INSERT INTO memory_mentionedtime (owner_id, memory_id, starts_at, ends_at)
    SELECT owner_id, id, date_trunc('day', occurred_at), date_trunc('day', occurred_at) + interval '1 day'
    FROM memory_memory WHERE owner_id = %(owner)s
    ON CONFLICT DO NOTHING
"""
ACCESSES: Final = """
    INSERT INTO memory_memoryaccess (owner_id, memory_id, access_count, last_accessed)
    SELECT owner_id, id, 3, occurred_at FROM memory_memory WHERE owner_id = %(owner)s AND position = 1
    ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class Store:
    """One filled owner and the space of its vectors."""

    actor: Actor
    rows: int
    space: EmbeddingSpace

    @property
    def owner_id(self) -> UUID:
        """Give the owner's id."""
        return self.actor.owner_id


def fill(socket: Path, actor: Actor, space: EmbeddingSpace, rows: int) -> Store:
    """Give an owner so many turns of conversations with words, vectors, tokens and times.

    It is done as superuser without the checks of each row, because they take ten times as long as the rows.
    """
    remember(actor=actor, draft=Draft(text="The row that the others are made of."))
    owner_id = actor.owner_id
    with owner_scope(owner_id):
        session = Session.objects.create(label="one", label_hash=0, started_at=now())
    ring = keyring().of(owner_id)
    named: dict[str, Any] = {
        "owner": owner_id,
        "rows": rows,
        "space": space.pk,
        "terms": [term for word in WORDS for term in keyed_terms(word, ring).counts],
        "every": list(WORDS.values()),
    }
    name = connections["default"].settings_dict["NAME"]
    with psycopg.connect(f"host={socket} user=postgres dbname={name}") as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("SELECT setseed(0.5)")
        connection.execute(
            _copies(Session, {"id": "md5('session' || owner_id || n)::uuid", "label_hash": "n"}),
            {"owner": owner_id, "number": rows // TURNS_A_SESSION + 1, "model": session.pk},
        )
        connection.execute("DELETE FROM memory_session WHERE id = %s", [session.pk])
        turn = {
            "id": "gen_random_uuid()",
            "content_hash": "sha256(n::text::bytea)",
            "occurred_at": HOUR,
            "session_id": f"md5('session' || owner_id || (n / {TURNS_A_SESSION} + 1))::uuid",
            "position": f"n %% {TURNS_A_SESSION}",
            "kind": "'turn'",
            "tier": "'episodic'",
        }
        with owner_scope(owner_id):
            only = Memory.objects.get().pk
        connection.execute(_copies(Memory, turn), {"owner": owner_id, "number": rows, "model": only})
        for table in ("memory_lexposting", "memory_memoryvector", "memory_tokenvectors"):
            connection.execute(f"DELETE FROM {table} WHERE owner_id = %s", [owner_id])
        connection.execute("DELETE FROM memory_memory WHERE id = %s", [only])
        for statement in (VECTORS, POSTINGS, STATISTICS, TOKENS, TIMES, ACCESSES):
            connection.execute(statement, named)
    return Store(actor, rows, space)


def make_ready(space: EmbeddingSpace) -> None:
    """Build the index of the vectors, and bring statistics and visibility up to date, as a running server does."""
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT loci_index_space(%s, %s)", [space.pk, space.dimension])
    with connections["schema"].cursor() as cursor:
        cursor.execute(f"VACUUM (ANALYZE) {', '.join(TABLES)}")
    connections["schema"].close()


def _copies(model: Any, fresh: dict[str, str]) -> str:
    """Give the statement that inserts copies of a row, numbered `n`, with some columns made anew."""
    columns = [field.column for field in model._meta.concrete_fields]
    table = model._meta.db_table
    return f"""INSERT INTO {table} ({", ".join(f'"{column}"' for column in columns)})
        SELECT {", ".join(fresh.get(column, f'"{column}"') for column in columns)}
        FROM {table}, generate_series(1, %(number)s) n WHERE owner_id = %(owner)s AND id = %(model)s"""
