"""The statements that write, delete, count and compare the projection of one owner.

Each names the owner, but for those about all owners, takes what it works on as parameters, and can be repeated without
effect. `$rows` are those that `memory.services.projection.rows` makes: `id`, `properties` (all of a node or
relationship, so that what is no longer said goes), and what hangs on it. Ends of relationships that are not there yet
are made and filled later.

The indexes are named: a plan that was made while the database was empty goes along that of the owner alone, and is kept
for long after that has become a thousand times slower.
"""

from __future__ import annotations

from typing import Final

from memory.graph.projection.shape import (
    CAUSE,
    CAUSED_BY,
    ENTITY,
    ENTITY_NAME,
    EVENT,
    MARK,
    NAMES,
    PARTICIPATED_IN,
    RELATES_TO,
)

BEGIN: Final = f"""
    MERGE (p:{MARK} {{user_id: $owner}})
    SET p.generation = $generation, p.fence = $fence, p.holder = $holder, p.projected_seq = $seq
    RETURN p.generation AS generation
"""
# Where the constraint is lacking somebody may have made another one.
ONE_MARK: Final = f"MATCH (p:{MARK} {{user_id: $owner}}) WITH p SKIP 1 DETACH DELETE p"
# Locks the owner's mark until the end of the transaction: two who write for one owner wait for each other, and one
# that was taken over finds a higher number. `projected_seq` is at least what PostgreSQL knows to be written, else Neo4j
# was restored to an earlier time, and at most what this write brings, else PostgreSQL was: `fence` does not tell that,
# since attempts that reach nothing raise it, too.
GUARD: Final = f"""
    MATCH (p:{MARK} {{user_id: $owner}})
    WHERE p.generation = $generation AND (p.fence < $fence OR p.fence = $fence AND p.holder = $holder)
      AND $known <= p.projected_seq AND p.projected_seq <= $seq
    SET p.fence = $fence, p.holder = $holder, p.projected_seq = $seq
    RETURN p.generation AS generation
"""
MARKS: Final = f"""
    MATCH (p:{MARK}) WHERE p.user_id IN $owners
    RETURN p.user_id AS owner, p.generation AS generation, p.projected_seq AS seq
"""

INDEXES: Final = """
    SHOW INDEXES YIELD type, state, labelsOrTypes, properties, owningConstraint
    WHERE type = 'RANGE' AND state <> 'FAILED' AND size(labelsOrTypes) = 1
    RETURN labelsOrTypes[0] AS name, properties, owningConstraint IS NOT NULL AS once
"""

# The first statement of each sort writes; the other ones bring and take away what hangs on it, without `properties`.
WRITE_ENTITIES: Final = (
    f"""
    UNWIND $rows AS row
    MERGE (e:{ENTITY} {{user_id: $owner, id: row.id}})
    SET e = row.properties
    WITH e, row
    UNWIND row.names AS hash
    MERGE (n:{ENTITY_NAME} {{user_id: $owner, hash: hash, entity_id: row.id}})
    MERGE (n)-[r:{NAMES}]->(e)
    SET r.user_id = $owner
    """,
    f"""
    UNWIND $rows AS row
    MATCH (e:{ENTITY} {{user_id: $owner, id: row.id}})<-[:{NAMES}]-(n:{ENTITY_NAME})
    USING INDEX e:{ENTITY}(user_id, id)
    WHERE NOT n.hash IN row.names
    DETACH DELETE n
    """,
)
WRITE_RELATIONS: Final = (
    f"""
    UNWIND $rows AS row
    MERGE (s:{ENTITY} {{user_id: $owner, id: row.source}})
    MERGE (t:{ENTITY} {{user_id: $owner, id: row.target}})
    MERGE (s)-[r:{RELATES_TO} {{user_id: $owner, id: row.id}}]->(t)
    SET r = row.properties
    """,
    # A merge of entities moves the ends of relations.
    f"""
    UNWIND $rows AS row
    MATCH (s)-[r:{RELATES_TO} {{user_id: $owner, id: row.id}}]->(t)
    USING INDEX r:{RELATES_TO}(user_id, id)
    WHERE s.id <> row.source OR t.id <> row.target
    DELETE r
    """,
)
WRITE_EVENTS: Final = (
    f"""
    UNWIND $rows AS row
    MERGE (v:{EVENT} {{user_id: $owner, id: row.id}})
    SET v = row.properties
    WITH v, row
    UNWIND row.participants AS one
    MERGE (e:{ENTITY} {{user_id: $owner, id: one}})
    MERGE (e)-[r:{PARTICIPATED_IN}]->(v)
    SET r.user_id = $owner
    """,
    f"""
    UNWIND $rows AS row
    MATCH (v:{EVENT} {{user_id: $owner, id: row.id}})<-[r:{PARTICIPATED_IN}]-(e)
    USING INDEX v:{EVENT}(user_id, id)
    WHERE NOT e.id IN row.participants
    DELETE r
    """,
)
WRITE_CAUSES: Final = (
    f"""
    UNWIND $rows AS row
    MERGE (c:{CAUSE} {{user_id: $owner, id: row.id}})
    SET c = row.properties
    """,
    f"""
    UNWIND $rows AS row
    MATCH (c:{CAUSE} {{user_id: $owner, id: row.id}})-[r:{CAUSED_BY}]-(e)
    USING INDEX c:{CAUSE}(user_id, id)
    WHERE e.id <> coalesce(CASE r.direction WHEN 'cause' THEN row.cause ELSE row.effect END, '')
    DELETE r
    """,
    f"""
    UNWIND $rows AS row
    WITH row WHERE row.cause IS NOT NULL
    MATCH (c:{CAUSE} {{user_id: $owner, id: row.id}})
    USING INDEX c:{CAUSE}(user_id, id)
    MERGE (e:{ENTITY} {{user_id: $owner, id: row.cause}})
    MERGE (e)-[r:{CAUSED_BY} {{direction: 'cause'}}]->(c)
    SET r.user_id = $owner
    """,
    f"""
    UNWIND $rows AS row
    WITH row WHERE row.effect IS NOT NULL
    MATCH (c:{CAUSE} {{user_id: $owner, id: row.id}})
    USING INDEX c:{CAUSE}(user_id, id)
    MERGE (e:{ENTITY} {{user_id: $owner, id: row.effect}})
    MERGE (c)-[r:{CAUSED_BY} {{direction: 'effect'}}]->(e)
    SET r.user_id = $owner
    """,
)

TIDYING: Final = frozenset({WRITE_ENTITIES[1], WRITE_RELATIONS[1], WRITE_EVENTS[1], WRITE_CAUSES[1]})
"""Those that take away what no longer hangs on a row."""

DELETE_ENTITIES: Final = (
    f"""
    UNWIND $ids AS id
    MATCH (n:{ENTITY_NAME})-[:{NAMES}]->(e:{ENTITY} {{user_id: $owner, id: id}})
    USING INDEX e:{ENTITY}(user_id, id)
    DETACH DELETE n
    """,
    f"""
    UNWIND $ids AS id
    MATCH (e:{ENTITY} {{user_id: $owner, id: id}})
    USING INDEX e:{ENTITY}(user_id, id)
    DETACH DELETE e
    """,
)
DELETE_RELATIONS: Final = (f"UNWIND $ids AS id MATCH ()-[r:{RELATES_TO} {{user_id: $owner, id: id}}]->() DELETE r",)
DELETE_EVENTS: Final = (
    f"""
    UNWIND $ids AS id
    MATCH (v:{EVENT} {{user_id: $owner, id: id}})
    USING INDEX v:{EVENT}(user_id, id)
    DETACH DELETE v
    """,
)
DELETE_CAUSES: Final = (
    f"""
    UNWIND $ids AS id
    MATCH (c:{CAUSE} {{user_id: $owner, id: id}})
    USING INDEX c:{CAUSE}(user_id, id)
    DETACH DELETE c
    """,
)

# Relations first: a hub with all of its relations would be one huge step.
EMPTY_RELATIONS: Final = f"""
    MATCH (:{ENTITY} {{user_id: $owner}})-[r:{RELATES_TO}]->() WITH r LIMIT $most DELETE r RETURN count(*) AS count
"""
EMPTY_LABEL: Final = """
    MATCH (n:{label} {{user_id: $owner}}) WITH n LIMIT $most DETACH DELETE n RETURN count(*) AS count
"""
EMPTY_MARK: Final = EMPTY_LABEL.format(label=MARK)
COUNT_LABEL: Final = "MATCH (n:{label} {{user_id: $owner}}) RETURN count(n) AS count"
COUNT_NAMES: Final = (
    f"MATCH (n:{ENTITY_NAME} {{user_id: $owner}})-[r:{NAMES}]->(:{ENTITY} {{user_id: $owner}}) RETURN count(r) AS count"
)
COUNT_PARTICIPATIONS: Final = (
    f"MATCH (:{EVENT} {{user_id: $owner}})<-[r:{PARTICIPATED_IN}]-(:{ENTITY}) RETURN count(r) AS count"
)
COUNT_CAUSED: Final = f"MATCH (:{CAUSE} {{user_id: $owner}})-[r:{CAUSED_BY}]-(:{ENTITY}) RETURN count(r) AS count"

# As ids are written, in small letters.
ID_FORM: Final = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# What no projector has written, whatever the rows are: nodes that have no id or one of another form ...
COUNT_UNIDENTIFIED: Final = """
    MATCH (n:{label} {{user_id: $owner}}) WHERE NOT coalesce(n.id =~ $form, false) RETURN count(n) AS count
"""
# ... names that stand at no entity, or at several ...
COUNT_MISPLACED_NAMES: Final = f"""
    MATCH (n:{ENTITY_NAME} {{user_id: $owner}}) WHERE COUNT {{ (n)-[:{NAMES}]->() }} <> 1 RETURN count(n) AS count
"""
# ... and relationships at entities without an id or its owner, or with another end than theirs; some entities at once.
STRAYS: Final = f"""
    MATCH (e:{ENTITY} {{user_id: $owner}})
    USING INDEX e:{ENTITY}(user_id, id)
    WHERE e.id > $after
    WITH e ORDER BY e.id LIMIT $most
    OPTIONAL MATCH (e)-[r:{RELATES_TO}|{NAMES}|{PARTICIPATED_IN}|{CAUSED_BY}]-(o)
    WHERE NOT coalesce(r.user_id = $owner AND o.user_id = $owner AND CASE type(r)
        WHEN '{RELATES_TO}' THEN o:{ENTITY} AND r.id =~ $form
        WHEN '{NAMES}' THEN o:{ENTITY_NAME} AND endNode(r) = e AND o.entity_id = e.id
        WHEN '{PARTICIPATED_IN}' THEN o:{EVENT} AND startNode(r) = e
        ELSE o:{CAUSE} END, false)
    RETURN max(e.id) AS last, collect(type(r)) AS strays
"""
# Between the ids of owners that are known; along the index, whatever the database holds of these.
COUNT_UNKNOWN: Final = """
    UNWIND $gaps AS gap
    MATCH (n:{label})
    USING INDEX n:{label}(user_id)
    WHERE n.user_id > gap[0] AND n.user_id < gap[1]
    RETURN n.user_id AS owner, count(n) AS count ORDER BY owner LIMIT $most
"""

# What no gap reaches, since it names no owner: nodes without a text as `user_id` ...
UNOWNED: Final = "MATCH (n:{label}) WHERE NOT coalesce(n.user_id > $before AND n.user_id < $behind, false)"
COUNT_UNOWNED: Final = UNOWNED + " RETURN count(n) AS count"
EMPTY_UNOWNED: Final = UNOWNED + " WITH n LIMIT $most DETACH DELETE n RETURN count(*) AS count"
# ... and relations that stand at no entity, whoever they name. Without `user_id` they are those of another product.
UNOWNED_RELATIONS: Final = f"""
    MATCH (s)-[r:{RELATES_TO}]->(t) WHERE r.user_id IS NOT NULL AND NOT s:{ENTITY} AND NOT t:{ENTITY}
"""
COUNT_UNOWNED_RELATIONS: Final = UNOWNED_RELATIONS + " RETURN count(r) AS count"
EMPTY_UNOWNED_RELATIONS: Final = UNOWNED_RELATIONS + " WITH r LIMIT $most DELETE r RETURN count(*) AS count"

# Nodes with the same values where these are to be unique, but for one of each.
COUNT_REPEATED: Final = """
    MATCH (n:{label} {{user_id: $owner}}) WHERE {named}
    WITH [{key}] AS key, count(n) AS number WHERE number > 1
    RETURN sum(number - 1) AS count
"""

# Ids in their order, from one to another, to be compared with those of the rows.
IDS_OF_LABEL: Final = """
    MATCH (n:{label} {{user_id: $owner}})
    USING INDEX n:{label}(user_id, id)
    WHERE n.id > $after AND n.id <= $until AND n.id =~ $form
    RETURN n.id AS id ORDER BY n.id
"""
IDS_OF_RELATIONS: Final = f"""
    MATCH ()-[r:{RELATES_TO} {{user_id: $owner}}]->()
    USING INDEX r:{RELATES_TO}(user_id, id)
    WHERE r.id > $after AND r.id <= $until AND r.id =~ $form
    RETURN r.id AS id ORDER BY r.id
"""
LOOK_AT_ENTITIES: Final = f"""
    UNWIND $ids AS id
    MATCH (e:{ENTITY} {{user_id: $owner, id: id}})
    USING INDEX e:{ENTITY}(user_id, id)
    RETURN e.id AS id, properties(e) AS properties, [(e)<-[:{NAMES}]-(n:{ENTITY_NAME}) | n.hash] AS names
"""
LOOK_AT_RELATIONS: Final = f"""
    UNWIND $ids AS id
    MATCH (s)-[r:{RELATES_TO} {{user_id: $owner, id: id}}]->(t)
    USING INDEX r:{RELATES_TO}(user_id, id)
    RETURN r.id AS id, properties(r) AS properties, s.id AS source, t.id AS target
"""
LOOK_AT_EVENTS: Final = f"""
    UNWIND $ids AS id
    MATCH (v:{EVENT} {{user_id: $owner, id: id}})
    USING INDEX v:{EVENT}(user_id, id)
    RETURN v.id AS id, properties(v) AS properties, [(v)<-[:{PARTICIPATED_IN}]-(e:{ENTITY}) | e.id] AS participants
"""
LOOK_AT_CAUSES: Final = f"""
    UNWIND $ids AS id
    MATCH (c:{CAUSE} {{user_id: $owner, id: id}})
    USING INDEX c:{CAUSE}(user_id, id)
    RETURN c.id AS id, properties(c) AS properties,
           head([(e:{ENTITY})-[:{CAUSED_BY} {{direction: 'cause'}}]->(c) | e.id]) AS cause,
           head([(c)-[:{CAUSED_BY} {{direction: 'effect'}}]->(e:{ENTITY}) | e.id]) AS effect
"""
