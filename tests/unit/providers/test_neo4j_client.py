"""The way to Neo4j beside a server that is silent, or that says what it likes."""

from __future__ import annotations

import logging
import struct
import time
from collections.abc import Iterator

import pytest

from memory.errors import ProjectionUnavailable
from memory.providers import neo4j_client as module
from memory.providers.neo4j_client import Neo4jClient
from tests.bolt.scripted import RUN, ScriptedBolt

ASKED = "RETURN 1 AS one"


@pytest.fixture
def server() -> Iterator[ScriptedBolt]:
    made = ScriptedBolt()
    yield made
    made.close()


class Clock:
    """Gives the seconds that a test sets."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def client(server: ScriptedBolt, clock: Clock) -> Iterator[Neo4jClient]:
    made = Neo4jClient(server.uri, user="neo4j", password="secret", read_seconds=1.0, monotonic=clock)
    yield made
    made.close()


def failure(client: Neo4jClient) -> ProjectionUnavailable:
    with pytest.raises(ProjectionUnavailable) as failed:
        client.read(ASKED, {})
    return failed.value


def test_a_server_that_hangs_is_asked_ever_more_rarely(server: ScriptedBolt, client: Neo4jClient, clock: Clock) -> None:
    failure(client)
    pauses = []
    for _ in range(6):
        asked, begun = server.accepted, clock.seconds
        while server.accepted == asked:
            clock.seconds += 1
            assert failure(client).machine_code == "projection.slow"
        pauses.append(round(clock.seconds - begun))
    assert pauses == [5, 10, 20, 40, 60, 60]


def test_the_first_answer_ends_that(server: ScriptedBolt, client: Neo4jClient, clock: Clock) -> None:
    for _ in range(2):
        failure(client)
        clock.seconds += 60
    server.code = "Neo.ClientError.Statement.SyntaxError"
    assert failure(client).machine_code == "projection.failed"
    client.close()
    server.code = None
    assert failure(client).machine_code == "projection.slow"
    asked = server.accepted
    clock.seconds += 4.9
    failure(client)
    assert server.accepted == asked
    clock.seconds += 0.2
    failure(client)
    assert server.accepted > asked


def test_an_answer_that_comes_late_ends_it_too(server: ScriptedBolt, client: Neo4jClient, clock: Clock) -> None:
    server.code, server.slow = "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration", True
    assert failure(client).machine_code == "projection.slow"
    asked = server.accepted
    failure(client)
    assert server.accepted == asked, "it is left alone"
    server.slow = False
    for _ in range(1_000):
        failure(client)
        if server.accepted > asked:
            return
        time.sleep(0.01)
    pytest.fail("it is still left alone")


def test_the_server_is_given_less_time_than_is_waited(server: ScriptedBolt, client: Neo4jClient) -> None:
    server.code = "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration"
    assert failure(client).machine_code == "projection.slow"
    (run,) = (message for message in server.heard if message[1] == RUN)
    _, _, rest = run.partition(b"tx_timeout\xc9")
    assert struct.unpack(">h", rest[:2]) == (800,)


def test_each_who_waits_is_given_a_failure_of_his_own(client: Neo4jClient) -> None:
    raised = [failure(client) for _ in range(3)]
    assert len({id(one) for one in raised}) == 3
    assert client.failure() is raised[0]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("Neo.ClientError.Statement.SyntaxError", "SyntaxError"),
        ("Neo.ClientError.Statement.\x1b[2J\r\nAll is well", "ClientError"),
        ("Neo.ClientError.Statement.SyntaxError\n", "ClientError"),
        ("Neo.ClientError.Statement." + "x" * 61, "ClientError"),
        ("anything\x1b]0;title\x07", "DatabaseError"),
    ],
)
def test_of_what_a_server_says_only_a_code_is_told(
    server: ScriptedBolt, client: Neo4jClient, code: str, kind: str
) -> None:
    server.code = code
    told = failure(client)
    assert (told.message, told.details) == (f"Neo4j refused a statement ({kind}).", {"kind": kind})


def test_what_the_driver_logs_is_not_written(
    server: ScriptedBolt, client: Neo4jClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "CONNECT_SECONDS", 0.5)
    server.code = "Neo.TransientError.General.DatabaseUnavailable"
    with caplog.at_level(logging.DEBUG), pytest.raises(ProjectionUnavailable):
        client.rows(ASKED, {})
    assert caplog.text == ""
