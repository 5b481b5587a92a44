"""Recall searches in a streaming replica while that has what was stored before the question, else in the database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import psycopg
import pytest
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InternalError, ProgrammingError, connections
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from memory.models import Memory, OwnerSettings, owner_scope
from memory.ports.reading import REPLICA, reading_from, reading_place
from memory.recall import lexical
from memory.services import replica as replicas
from memory.services import server_checks
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.questions import RecallRequest
from memory.services.recall import Recalled, recall
from memory.services.remember import remember
from memory.services.replica_probe import probed_replica
from memory.services.server_checks import server_of, unfit
from runtime.postgres.cluster import Cluster
from runtime.postgres.provision import superuser_conninfo
from tests.integration.postgres.conftest import Observer
from tests.integration.postgres.streaming import ask, wait_for_replay, wait_until

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema", REPLICA])

KETTLE: Final = "The kettle whistles at six."


def asked(actor: Actor, query: str = "Which kettle whistles?") -> Recalled:
    return recall(actor=actor, request=RecallRequest(query=query))


def texts(answer: Recalled) -> list[str]:
    return [hit.memory.text for hit in answer.hits]


@pytest.fixture
def paused(replica: Cluster, cluster: Cluster) -> Iterator[Cluster]:
    """Stop the replica's replay between transactions: in the midst of one it keeps locks that stop readers."""
    wait_for_replay(replica, of=cluster)
    ask(replica, "SELECT pg_wal_replay_pause()")
    wait_until(replica, "pg_get_wal_replay_pause_state() = 'paused'")
    yield replica
    ask(replica, "SELECT pg_wal_replay_resume()")


def test_recall_searches_in_the_replica(replica: Cluster, alice: Actor, observer: Observer) -> None:
    remember(actor=alice, draft=Draft(text=KETTLE))
    with (
        CaptureQueriesContext(connections[REPLICA]) as there,
        CaptureQueriesContext(connections[DEFAULT_DB_ALIAS]) as here,
    ):
        answer = asked(alice)
    assert texts(answer) == [KETTLE]
    assert answer.degraded == []
    assert observer.places == ["replica"]
    assert any("lexposting" in query["sql"] for query in there.captured_queries)
    assert not any("lexposting" in query["sql"] for query in here.captured_queries)
    assert replicas.replica_findings()[0].detail == "Recall searches in the replica."


def test_what_was_stored_is_recalled_at_once(replica: Cluster, alice: Actor, observer: Observer) -> None:
    for number in range(30):
        text = f"Errand number {number} leads to street {number * 7}."
        remember(actor=alice, draft=Draft(text=text))
        assert text in texts(asked(alice, f"Where does errand number {number} lead?"))
    assert set(observer.places) == {"replica"}


def test_a_replica_that_is_behind_is_passed_over(
    paused: Cluster, alice: Actor, observer: Observer, settings: Settings
) -> None:
    settings.DATABASE_REPLICA_WAIT = 20
    remember(actor=alice, draft=Draft(text=KETTLE))
    for _ in range(replicas.BEHIND_IN_A_ROW):
        assert texts(asked(alice)) == [KETTLE]
    assert set(observer.places) == {"behind"}
    found = replicas.replica_findings()[0]
    assert found.status == "degraded"
    assert "behind" in found.detail
    assert probed_replica()[0].detail == "The replica's replay is paused."

    settings.DATABASE_REPLICA_WAIT = 5_000
    ask(paused, "SELECT pg_wal_replay_resume()")
    assert texts(asked(alice)) == [KETTLE]
    assert observer.places[-1] == "replica"
    assert replicas.replica_findings()[0].status == "ok"


def test_whoever_waits_for_the_replay_asks_whose_replica_it_is_once(
    paused: Cluster, alice: Actor, settings: Settings
) -> None:
    settings.DATABASE_REPLICA_WAIT = 100
    remember(actor=alice, draft=Draft(text=KETTLE))
    with CaptureQueriesContext(connections[REPLICA]) as there:
        asked(alice)
    looks = [query["sql"] for query in there.captured_queries if "pg_last_wal_replay_lsn" in query["sql"]]
    assert len(looks) > 1
    assert ["pg_control_system" in look for look in looks] == [True] + [False] * (len(looks) - 1)


def test_a_database_that_may_not_say_which_it_is_answers_itself(
    replica: Cluster, cluster: Cluster, alice: Actor, observer: Observer
) -> None:
    remember(actor=alice, draft=Draft(text=KETTLE))
    name = connections[DEFAULT_DB_ALIAS].settings_dict["NAME"]
    with psycopg.connect(superuser_conninfo(cluster.socket_directory, name), autocommit=True) as administrator:
        administrator.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
        try:
            answer = asked(alice)
        finally:
            administrator.execute("GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC")
    assert texts(answer) == [KETTLE]
    assert answer.degraded == []
    assert observer.places == ["paused"]
    found = replicas.replica_findings()[0]
    assert found.status == "degraded"
    assert "InsufficientPrivilege" in found.detail
    wait_for_replay(replica, of=cluster)
    replicas.forget()
    assert texts(asked(alice)) == [KETTLE]
    assert observer.places[-1] == "replica"


def test_a_replica_that_is_gone_costs_nothing_but_a_word(replica: Cluster, alice: Actor, observer: Observer) -> None:
    remember(actor=alice, draft=Draft(text=KETTLE))
    assert texts(asked(alice)) == [KETTLE]
    replica.stop()
    for _ in range(2):
        answer = asked(alice)
        assert texts(answer) == [KETTLE]
        assert answer.degraded == []
    # The second one does not even try.
    assert observer.places == ["replica", "failed", "paused"]
    found = replicas.replica_findings()[0]
    assert found.status == "degraded"
    assert "OperationalError" in found.detail
    assert probed_replica()[0].status == "degraded"

    replica.start()
    replicas.forget()
    assert texts(asked(alice)) == [KETTLE]
    assert observer.places[-1] == "replica"


def test_a_connection_that_was_cut_is_made_anew(replica: Cluster, alice: Actor, observer: Observer) -> None:
    remember(actor=alice, draft=Draft(text=KETTLE))
    asked(alice)
    ask(replica, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'loci_app'")
    assert texts(asked(alice)) == [KETTLE]
    replicas.forget()
    assert texts(asked(alice)) == [KETTLE]
    assert observer.places[-1] == "replica"


def test_a_part_that_fails_there_is_asked_of_the_database(
    replica: Cluster, alice: Actor, observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(actor=alice, draft=Draft(text=KETTLE))
    search = lexical.search

    def removed_by_replay(*arguments: Any) -> Any:
        if reading_place() == REPLICA:
            raise DatabaseError("canceling statement due to conflict with recovery")
        return search(*arguments)

    monkeypatch.setattr(lexical, "search", removed_by_replay)
    answer = asked(alice)
    assert texts(answer) == [KETTLE]
    assert answer.degraded == []
    assert observer.places == ["failed"]


def test_rows_of_the_replica_are_changed_in_the_database(replica: Cluster, alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text=KETTLE))
    row = asked(alice).hits[0].memory
    assert row._state.db == REPLICA
    with owner_scope(alice.owner_id):
        row.importance = 0.9
        row.save(update_fields=["importance"])
        assert Memory.objects.using(DEFAULT_DB_ALIAS).get(pk=row.pk).importance == 0.9


def test_nothing_is_written_on_the_way_to_the_replica(replica: Cluster, alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text=KETTLE))
    asked(alice)
    with reading_from(REPLICA), owner_scope(alice.owner_id):
        with pytest.raises(ProgrammingError, match="row-level security"):
            OwnerSettings.objects.create(owner_id=alice.owner_id)
        with pytest.raises(InternalError, match="read-only"), connections[REPLICA].cursor() as cursor:
            cursor.execute("DELETE FROM memory_memory WHERE owner_id = %s", [alice.owner_id])


def test_the_wall_between_owners_stands_there_too(replica: Cluster, alice: Actor, mallory: Actor) -> None:
    remember(actor=alice, draft=Draft(text=KETTLE))
    assert texts(asked(alice)) == [KETTLE]
    assert texts(asked(mallory)) == []
    with reading_from(REPLICA), owner_scope(mallory.owner_id), connections[REPLICA].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM memory_memory")
        assert cursor.fetchone()[0] == 0


def test_doctor_knows_a_replica_from_another_server(
    replica: Cluster, cluster: Cluster, alice: Actor, observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert probed_replica()[0].status == "ok"
    connections[REPLICA].close()
    there = connections[REPLICA].settings_dict
    monkeypatch.setitem(there, "HOST", str(cluster.socket_directory))
    remember(actor=alice, draft=Draft(text=KETTLE))
    assert probed_replica()[0].detail == "The server of DATABASE_REPLICA_URL is no replica."
    monkeypatch.setitem(there, "NAME", "another")
    connections[REPLICA].close()
    assert probed_replica()[0].status == "degraded"
    connections[REPLICA].close()


def test_a_server_that_is_no_replica_is_never_searched(
    replica: Cluster, cluster: Cluster, alice: Actor, observer: Observer, settings: Settings
) -> None:
    settings.DATABASE_REPLICA_WAIT = 0
    connections[REPLICA].close()
    there = connections[REPLICA].settings_dict
    before, there["HOST"] = there["HOST"], str(cluster.socket_directory)
    remember(actor=alice, draft=Draft(text=KETTLE))
    try:
        assert texts(asked(alice)) == [KETTLE]
    finally:
        connections[REPLICA].close()
        there["HOST"] = before
    assert observer.places == ["behind"]


def test_a_replica_is_no_place_to_write(replica: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    assert server_of(REPLICA).replica
    assert server_of(REPLICA).identity == server_of(DEFAULT_DB_ALIAS).identity
    monkeypatch.setattr(server_checks, "server_of", lambda alias: server_of(REPLICA))
    assert "takes no writes" in next(unfit(migrating=False)).detail
