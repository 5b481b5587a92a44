"""The tests' own Neo4j does what tests of faults rely on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from neo4j import Driver, GraphDatabase
from neo4j.exceptions import AuthError

from tests.bolt import fetching
from tests.bolt.server import USER, BoltServer


@pytest.fixture
def driver(bolt: BoltServer) -> Iterator[Driver]:
    with GraphDatabase.driver(bolt.uri, auth=(USER, bolt.password)) as opened:
        yield opened


def test_what_was_written_outlives_a_crash(bolt: BoltServer, driver: Driver) -> None:
    address, process = bolt.uri, bolt.process
    driver.execute_query("CREATE (:Kept {name: $name})", name="this")
    bolt.kill()
    assert not bolt.running
    bolt.again()
    assert (bolt.uri, bolt.running) == (address, True)
    assert bolt.process is not process
    found = driver.execute_query("MATCH (n:Kept) DETACH DELETE n RETURN count(*) AS count")
    assert found.records[0]["count"] == 1


def test_it_is_the_edition_and_version_that_is_pinned(driver: Driver) -> None:
    found = driver.execute_query("CALL dbms.components() YIELD name, versions, edition")
    (kernel,) = (record for record in found.records if record["name"] == "Neo4j Kernel")
    assert (kernel["edition"], kernel["versions"]) == ("community", ["5.26.0"])


def test_it_lets_nobody_in_without_the_password(bolt: BoltServer) -> None:
    with GraphDatabase.driver(bolt.uri, auth=(USER, "another")) as refused, pytest.raises(AuthError):
        refused.verify_connectivity()


def test_a_file_that_is_not_the_pinned_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(command: list[str], directory: str, seconds: float) -> None:
        (target,) = (one.partition("=")[2] for one in command if one.startswith("-DoutputDirectory="))
        (Path(target) / "neo4j-5.26.0.jar").write_bytes(b"something else")

    monkeypatch.setattr(fetching, "_run", fetch)
    monkeypatch.setattr(shutil, "which", lambda program: program)
    with pytest.raises(fetching.CannotFetch, match="not as pinned"):
        fetching.fetched(tmp_path)
    assert not list(tmp_path.glob("*/complete"))


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: None if program == "mvn" else program)
    with pytest.raises(fetching.CannotFetch, match="^mvn not found"):
        fetching.fetched(tmp_path)
