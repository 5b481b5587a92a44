"""`bench projection`: a small graph through the command to a real Bolt server, and what it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from neo4j import GraphDatabase

from runtime.postgres.cluster import Cluster
from tests.bolt.server import USER, BoltServer
from tests.environment import PROJECT


def bench(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROJECT / "manage.py"), "bench", "projection", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LOCI_NO_BOOTSTRAP": "1", **environment},
    )


def counted(bolt: BoltServer, statement: str) -> int:
    """Give the count that a statement answers."""
    with GraphDatabase.driver(bolt.uri, auth=(USER, bolt.password)) as driver:
        return int(driver.execute_query(statement).records[0]["count"])


def test_a_small_graph_through_the_command(cluster: Cluster, bolt: BoltServer) -> None:
    counted(bolt, "MATCH (n) DETACH DELETE n RETURN count(*) AS count")
    neo4j = {"NEO4J_URI": bolt.uri, "NEO4J_USER": USER, "NEO4J_PASSWORD": bolt.password, "NEO4J_TEXT": "names"}
    answer = bench("--entities", "60", "--relations", "90", "--changes", "3", "--json", **neo4j)
    assert answer.returncode == 0, answer.stderr
    figures = json.loads(answer.stdout)
    assert set(figures) == {"rebuild_s", "nodes", "relations", "mismatches", "lag_p95_ms"}
    assert figures["mismatches"] == 0
    assert figures["nodes"] == 2 * 60 + 1, "each entity with its name, and the mark"
    assert 0 < figures["relations"] <= 90
    assert figures["rebuild_s"] > 0
    assert figures["lag_p95_ms"] > 0
    assert counted(bolt, "MATCH (n) RETURN count(n) AS count") == 0, "it takes away what it has written"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([], "This needs a Neo4j"), (["--entities", "9"], "start at 10"), (["--changes", "0"], "all others at 1")],
    ids=["no Neo4j", "entities", "changes"],
)
def test_what_cannot_be_run_is_said(arguments: list[str], message: str) -> None:
    neo4j = {"NEO4J_URI": "bolt://127.0.0.1:9", "NEO4J_PASSWORD": "x", "NEO4J_TEXT": "names"} if arguments else {}
    answer = bench(*arguments, **neo4j)
    assert answer.returncode == 1
    assert message in answer.stderr
    assert "Traceback" not in answer.stderr
