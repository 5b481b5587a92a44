"""The plans of a recall's statements at 1,000, 10,000 and 100,000 rows of one owner beside others, and how many rows
they touch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

import numpy as np
import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from pytest_django.plugin import DjangoDbBlocker

from memory.crypto.keyring import keyring
from memory.ids import new_id
from memory.models import EmbeddingSpace, Owner, owner_scope
from memory.recall import dense, lexical, time_window
from memory.recall.arms import ALL_WORDS_ROWS
from memory.recall.document_frequency import document_frequencies
from memory.recall.gathering import WITH_NEIGHBOURS
from memory.recall.late_interaction import MOST_ROWS, QueryTokens
from memory.recall.pipeline import rank
from memory.recall.profiles import shipped
from memory.recall.statistics import FEW, OwnerStatistics, owner_statistics
from memory.services.actors import Actor, person
from memory.services.questions import RecallRequest, prepare_query
from runtime.postgres.cluster import Cluster
from tests.integration.recall.filled_store import DIMENSION, OWN_WORDS, TABLES, WORDS, Store, fill, make_ready

SIZES: Final = (1_000, 10_000, 100_000)
BESIDE: Final = 5_000
QUESTION: Final = f"{' '.join(WORDS)} in January 2022"
LIMIT: Final = 10
# All owners share one partition, so that none of them has an index for itself.
PARTITION: Final = 3
# A hundred of each arm and the neighbours of the best of each.
MOST_CANDIDATES: Final = 3 * (100 + 2 * WITH_NEIGHBOURS)

Node = dict[str, Any]

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True)
class Explained:
    """One statement of a recall with the nodes of its plan as it ran."""

    sql: str
    nodes: list[Node]

    def scans(self, table: str) -> list[Node]:
        """Give the nodes that read a table or a partition of it."""
        return [node for node in self.nodes if _without_number(node.get("Relation Name", "")) == table]

    def rows(self, table: str) -> float:
        """Give how many rows were read from a table, those that a filter threw away included."""
        read = [
            (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
            for node in self.scans(table)
        ]
        return float(sum(read))

    def indexes(self, table: str) -> set[str]:
        """Give the kind of each scan of a table, and the index it took without the partition's number."""
        return {f"{node['Node Type']}: {node.get('Index Name', '')}" for node in self.scans(table)}


def _without_number(partition: str) -> str:
    return re.sub(r"_\d\d$", "", partition)


@pytest.fixture(scope="module")
def stores(django_db_setup: None, django_db_blocker: DjangoDbBlocker, cluster: Cluster) -> Iterator[dict[int, Store]]:
    """Give an owner of each size, with another one beside them, in tables that are emptied in the end."""
    with django_db_blocker.unblock():
        keyring().forget()
        space = EmbeddingSpace.objects.create(provider="plans", model="random", dimension=DIMENSION)
        made = {size: fill(cluster.socket_directory, _owner(), space, size) for size in SIZES}
        fill(cluster.socket_directory, _owner(), space, BESIDE)
        make_ready(space)
    yield made
    with django_db_blocker.unblock(), connections["default"].cursor() as cursor:
        cursor.execute("TRUNCATE memory_owner, memory_embeddingspace CASCADE")
        connections.close_all()


def _owner() -> Actor:
    while not _belongs(owner_id := new_id()):
        pass
    keyring().create(owner_id)
    Owner.objects.create(id=owner_id)
    return person(owner_id)


def _belongs(owner_id: UUID) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT satisfies_hash_partition('memory_memoryvector'::regclass, 16, %s, %s::uuid)", [PARTITION, owner_id]
        )
        return bool(cursor.fetchone()[0])


def statements_of(store: Store) -> list[str]:
    """Recall as a process does that knows nothing of the owner yet, and give the statements."""
    query = replace(
        prepare_query(store.actor, QUESTION, RecallRequest(query=QUESTION), wants_vector=False),
        vector=np.linspace(-1, 1, DIMENSION, dtype=np.float32),
        space_id=store.space.pk,
        dimension=DIMENSION,
        tokens=QueryTokens(np.ones((2, 48), dtype=np.int8), b"none", ((), ())),
    )
    assert query.windows
    document_frequencies.forget()
    dense.scan_choices.forget()
    with owner_scope(store.owner_id), CaptureQueriesContext(connection) as captured:
        ranking = rank(query, shipped("default"), limit=LIMIT)
    assert not ranking.failed
    assert len(ranking.ranked) == LIMIT
    return [one["sql"] for one in captured]


def explained(store: Store) -> list[Explained]:
    """Run the statements of a recall again in their order, and explain those that read."""
    with owner_scope(store.owner_id):
        return [found for sql in statements_of(store) for found in _again(sql)]


def _again(sql: str) -> list[Explained]:
    with connection.cursor() as cursor:
        if not sql.lstrip().startswith(("SELECT", "WITH")):
            cursor.execute(sql)
            return []
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")
        waiting = [cursor.fetchone()[0][0]["Plan"]]
    nodes: list[Node] = []
    while waiting:
        nodes.append(node := waiting.pop())
        waiting += node.get("Plans", [])
    return [Explained(sql, nodes)]


@pytest.fixture(params=SIZES, ids=str)
def store(request: pytest.FixtureRequest, stores: dict[int, Store], db: None) -> Store:
    """Give each of the owners in turn."""
    return stores[request.param]


def holding(statements: list[Explained], *marks: str) -> Explained:
    """Give the only statement whose text holds all of some marks."""
    (found,) = [one for one in statements if all(mark in one.sql for mark in marks)]
    return found


def hnsw_indexes() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.relname FROM pg_class c JOIN pg_am a ON a.oid = c.relam
            WHERE a.amname = 'hnsw' AND c.relkind = 'i'"""
        )
        return {name for (name,) in cursor.fetchall()}


def test_nothing_is_read_from_end_to_end(store: Store) -> None:
    read = [node for one in explained(store) for table in TABLES for node in one.scans(table)]
    assert {"memory_memory", "memory_lexposting", "memory_memoryvector", "memory_mentionedtime"} <= {
        _without_number(node["Relation Name"]) for node in read
    }
    # The statistics of the words are one row for each owner, so few that they are read as a whole.
    assert {node["Relation Name"] for node in read if node["Node Type"] == "Seq Scan"} <= {"memory_lexstats"}


def test_vectors_are_scanned_up_to_ten_thousand_rows_and_found_by_the_index_beyond(store: Store) -> None:
    found = holding(explained(store), "memory_memoryvector", "ORDER BY (v.vec" if store.rows <= 10_000 else ") found")
    used = {node.get("Index Name") for node in found.scans("memory_memoryvector")}
    if store.rows <= dense.EXACT_ROWS:
        assert used == {f"memory_memoryvector_{PARTITION:02d}_pkey"}
        assert found.rows("memory_memoryvector") == store.rows
    else:
        assert used <= hnsw_indexes()
        assert len(used) == 1
        # Those of others in the partition are looked at too and thrown away.
        assert 100 * dense.TAKEN <= found.rows("memory_memoryvector") <= dense.MOST_BREADTH
        # The index sorts only nearly.
        assert [node["Node Type"] for node in found.nodes].count("Sort") == 1


def test_words_are_counted_in_the_index_alone(store: Store) -> None:
    counted = holding(explained(store), "SELECT count(*) FROM memory_lexposting")
    assert counted.indexes("memory_lexposting") == {f"Index Only Scan: memory_lexposting_{PARTITION:02d}_pkey"}
    assert counted.rows("memory_lexposting") == pytest.approx(sum(frequencies(store)), abs=len(WORDS))


def test_the_rarest_words_choose_and_the_others_complete_a_few(store: Store) -> None:
    ranked, *scored = [one for one in explained(store) if "bit_or(q.bit)" in one.sql]
    budget = max(lexical.LEAST_BUDGET, lexical.BUDGET_SHARE * store.rows)
    within = within_budget(frequencies(store), budget)
    assert ranked.indexes("memory_lexposting") == {f"Index Only Scan: memory_lexposting_{PARTITION:02d}_pkey"}
    assert ranked.rows("memory_lexposting") == pytest.approx(within, abs=len(WORDS))
    assert within <= budget
    # Skipped words complete what the rarest chose; then all words complete what the other arms found, unless all that
    # hold one were scored at once.
    assert len(scored) == (0 if store.rows <= ALL_WORDS_ROWS else 1 if within == sum(frequencies(store)) else 2)
    for one in scored:
        (scan,) = one.scans("memory_lexposting")
        assert scan["Node Type"] == "Index Only Scan"
        assert one.rows("memory_lexposting") <= MOST_CANDIDATES * (len(WORDS) + OWN_WORDS)


def test_what_the_rarest_words_chose_is_scored_as_by_all_words(store: Store) -> None:
    query = prepare_query(store.actor, QUESTION, RecallRequest(query=QUESTION), wants_vector=False)
    with owner_scope(store.owner_id):
        model = lexical.build_model(query, shipped("default"), owner_statistics(store.owner_id))
        assert model is not None
        found = lexical.search(query, model, LIMIT)
        without_budget = replace(model, kept=(*model.kept, *model.skipped), skipped=())
        exact = lexical.search(query, without_budget, LIMIT)
    assert bool(model.skipped) is (sum(frequencies(store)) > lexical.LEAST_BUDGET)
    assert list(found) == list(exact)
    for memory_id, one in found.items():
        assert one.score == pytest.approx(exact[memory_id].score)
        assert one.words == exact[memory_id].words


def frequencies(store: Store) -> list[int]:
    """Give in how many memories the words of the question stand, the rarest first."""
    return sorted(store.rows // every for every in WORDS.values())


def within_budget(counts: list[int], budget: float) -> int:
    touched = 0
    for count in counts:
        if touched + count > budget:
            break
        touched += count
    return touched


def test_times_are_found_by_their_indexes(store: Store) -> None:
    statements = explained(store)
    small = store.rows <= 1_000
    for mark in ("min(o.occurred_at)", "WITH slice AS MATERIALIZED"):
        found = holding(statements, mark)
        used = {node.get("Index Name") for node in found.nodes}
        # Of a thousand mentions all may be read, in the order of the key.
        assert {"memory_by_occurrence", "mentioned_time_by_span"} <= used | (
            {"mentioned_time_by_span"} if small else set()
        )
        assert found.rows("memory_memory") <= 2 * time_window.SCANNED
        assert found.rows("memory_mentionedtime") <= time_window.SCANNED


def test_neighbours_are_two_look_ups_for_each_turn(store: Store) -> None:
    found = holding(explained(store), "LEFT JOIN LATERAL", "before.id")
    assert found.indexes("memory_memory") == {"Index Scan: memory_memory_pkey", "Index Scan: memory_turn_once"}
    beside = [node for node in found.scans("memory_memory") if node["Index Name"] == "memory_turn_once"]
    assert len(beside) == 2
    for node in beside:
        assert node["Actual Rows"] <= 1
        assert node.get("Rows Removed by Filter", 0) == 0
        assert node["Actual Loops"] <= 3 * WITH_NEIGHBOURS


def test_candidates_are_read_by_their_keys(store: Store) -> None:
    statements = explained(store)
    marks = {"m.is_question": "memory_memory", "1 - (v.vec": "memory_memoryvector", "sealed": "memory_tokenvectors"}
    for mark, table in marks.items():
        found = [one for one in statements if mark in one.sql and "ANY(" in one.sql][-1]
        assert {name.rpartition("_")[2] for name in found.indexes(table)} == {"pkey"}
        assert 0 < found.rows(table) <= (MOST_ROWS if table == "memory_tokenvectors" else MOST_CANDIDATES)


def test_the_size_of_the_partition_comes_from_the_catalogue(store: Store) -> None:
    with owner_scope(store.owner_id), connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE relname = %s", [f"memory_memoryvector_{PARTITION:02d}"])
        (expected,) = cursor.fetchone()
        found = owner_statistics(store.owner_id)
    assert expected > sum(SIZES)
    assert found == OwnerStatistics(store.rows, 8 * store.rows, expected if store.rows > FEW else 0)


def test_a_recall_with_every_arm_takes_so_many_statements(store: Store) -> None:
    statements = statements_of(store)
    parts = [one for one in statements if one.startswith("SAVEPOINT")]
    # Dense, lexical, time, neighbours, the exact scores of three arms, tokens; each is begun and ended.
    assert len(parts) == (7 if store.rows <= ALL_WORDS_ROWS else 8)
    indexed, skipped = store.rows > dense.EXACT_ROWS, sum(frequencies(store)) > lexical.LEAST_BUDGET
    assert len(statements) == 13 + 2 * len(parts) + (store.rows > FEW) + indexed + skipped - (
        store.rows <= ALL_WORDS_ROWS
    )
