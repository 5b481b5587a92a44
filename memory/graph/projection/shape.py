"""Labels, properties, relationship types, constraints and indexes of the projection in Neo4j.

What stands here is the whole contract between who writes the projection and who reads it. Every node and every
relationship carries `user_id`, the owner's id as text, and every statement names it. `id` is that of the PostgreSQL row
as text, so that a reader can go back to the row. Times are Neo4j datetimes in UTC.

    (:Entity {user_id, id, name, display_name, type, importance, mention_count, first_seen, last_seen, properties?,
              scope, visibility, stated, name_hash})
    (:EntityName {user_id, entity_id, hash})-[:NAMES {user_id}]->(:Entity)
    (:Entity)-[:RELATES_TO {user_id, id, type, weight, first_seen, last_seen, evidence?, valid_from, valid_until?,
                            label_hash, confidence, scope, visibility}]->(:Entity)
    (:TemporalEvent {user_id, id, description, occurred_at, importance, created_at, scope, visibility})
    (:Entity)-[:PARTICIPATED_IN {user_id}]->(:TemporalEvent)
    (:CausalLink {user_id, id, cause, effect, importance, created_at, scope, visibility})
    (:Entity)-[:CAUSED_BY {user_id, direction: 'cause'}]->(:CausalLink)
    (:CausalLink)-[:CAUSED_BY {user_id, direction: 'effect'}]->(:Entity)
    (:Projection {user_id, generation, projected_seq, fence, holder})

- `hash` of an EntityName is the keyed hash of a whole name or alias, as `memory_entityname.name` holds it (kinds
  canonical and alias); `name_hash` is that of the name, without aliases, and `label_hash` that of `memory_relation`.
  They are 64-bit integers, whatever NEO4J_TEXT says.
- `scope` is the id, as text, of what may read the row; it never changes.
- Relations that were retracted are not here, since they never held: a question for what was believed at another moment
  is answered by PostgreSQL. A relation that has ended is here, with its `valid_until`.
- Under NEO4J_TEXT=all every text is in clear. Under `names`, names and types of relations are; `description`, `cause`
  and `effect` are keyed hashes in hexadecimal, `evidence` and `properties` are absent. Under `hashed`, names and types
  of relations are keyed hashes too; `type` of an entity stays, as PostgreSQL holds it in clear itself.
- `properties` is JSON text, since Neo4j keeps no maps.
- A node with nothing but `user_id` and `id` is one whose own row has not been projected yet.
- `Projection` is one node for each owner. A `generation` other than that in PostgreSQL means that one of the two
  databases was replaced, so that nothing here may be believed.
"""

from __future__ import annotations

from typing import Final

ENTITY: Final = "Entity"
ENTITY_NAME: Final = "EntityName"
EVENT: Final = "TemporalEvent"
CAUSE: Final = "CausalLink"
MARK: Final = "Projection"

RELATES_TO: Final = "RELATES_TO"
PARTICIPATED_IN: Final = "PARTICIPATED_IN"
CAUSED_BY: Final = "CAUSED_BY"
NAMES: Final = "NAMES"

NODES: Final = (ENTITY, EVENT, CAUSE)
"""Labels of nodes that stand for a row with an id."""

LABELS: Final = (ENTITY_NAME, ENTITY, EVENT, CAUSE, MARK)
"""All labels with nodes of owners, in the order in which they are deleted."""

NEUTRAL_IMPORTANCE: Final = 0.5
"""Importance of every event: none is kept of them, and queries that order by it are to run."""

ONCE: Final = (
    *((label, ("user_id", "id")) for label in NODES),
    (ENTITY_NAME, ("user_id", "hash", "entity_id")),
    (MARK, ("user_id",)),
)
"""Labels and properties that are unique together."""

INDEXED: Final = (
    *((label, ("user_id",), "owner") for label in (*NODES, ENTITY_NAME)),
    (ENTITY_NAME, ("user_id", "hash"), "hash"),
    (ENTITY, ("user_id", "name"), "name"),
    (ENTITY, ("user_id", "type"), "type"),
    (EVENT, ("user_id", "occurred_at"), "time"),
    (RELATES_TO, ("user_id", "id"), "id"),
)
"""Labels or types and properties that are looked up, and what the index is called by."""


def _once(label: str, properties: tuple[str, ...]) -> str:
    name = f"loci_{label.lower()}_once"
    return f"CREATE CONSTRAINT {name} IF NOT EXISTS FOR (x:{label}) REQUIRE ({_of(properties)}) IS UNIQUE"


def _indexed(name: str, properties: tuple[str, ...], by: str) -> str:
    pattern = f"()-[x:{name}]-()" if name == RELATES_TO else f"(x:{name})"
    return f"CREATE INDEX loci_{name.lower()}_by_{by} IF NOT EXISTS FOR {pattern} ON ({_of(properties)})"


def _of(properties: tuple[str, ...]) -> str:
    return ", ".join(f"x.{one}" for one in properties)


SCHEMA: Final = (*(_once(*one) for one in ONCE), *(_indexed(*one) for one in INDEXED))
"""Statements that make constraints and indexes; what is there already stays."""
