"""What calls itself a replica and is another database's, or shows every owner's rows, is never searched."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from django.db import DEFAULT_DB_ALIAS, connections
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoDbBlocker

from memory.ports.reading import REPLICA
from memory.services import replica as replicas
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.replica_probe import probed_replica
from runtime.postgres.cluster import Cluster
from runtime.postgres.provision import provision, superuser_conninfo
from tests.integration.postgres.conftest import Observer
from tests.integration.postgres.streaming import ask, copy_schema, start_stranger, wait_for_replay, wait_until

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema", REPLICA])

KETTLE: Final = "The kettle whistles at six."


def found(actor: Actor) -> list[str]:
    answer = recall(actor=actor, request=RecallRequest(query="Which kettle whistles?"))
    assert answer.degraded == []
    return [hit.memory.text for hit in answer.hits]


@pytest.fixture
def there(replica: Cluster) -> Iterator[dict[str, Any]]:
    """Give the settings of the replica's connection, to be changed for a while."""
    settings = connections[REPLICA].settings_dict
    former = dict(settings)
    connections[REPLICA].close()
    yield settings
    connections[REPLICA].close()
    settings.update(former)


@pytest.fixture(scope="module")
def second(cluster: Cluster, django_db_setup: None) -> Iterator[str]:
    """Make another database of the tests' server with the same tables, and nothing in them."""
    name = f"{connections[DEFAULT_DB_ALIAS].settings_dict['NAME'][:40]}_second"
    provision(cluster.socket_directory, name)
    copy_schema(cluster, connections[DEFAULT_DB_ALIAS].settings_dict["NAME"], cluster, name)
    yield name
    with psycopg.connect(superuser_conninfo(cluster.socket_directory), autocommit=True) as administrator:
        administrator.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


@pytest.fixture(scope="module")
def stranger(cluster: Cluster, django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Cluster]:
    """Run a replica of another server: with the same database, roles and tables, and further than ours will ever be."""
    home = Path(tempfile.mkdtemp(prefix="loci-", dir="/tmp"))
    made = start_stranger(cluster, connections[DEFAULT_DB_ALIAS].settings_dict["NAME"], home)
    yield made
    made.stop()
    shutil.rmtree(home)


def assert_refused(actor: Actor, observer: Observer, why: str, caplog: pytest.LogCaptureFixture) -> None:
    """See that a recall is answered by the database, that it is said why, and that the next one does not even look."""
    remember(actor=actor, draft=Draft(text=KETTLE))
    with CaptureQueriesContext(connections[REPLICA]) as asked:
        assert found(actor) == [KETTLE]
    assert not any("lexposting" in query["sql"] for query in asked.captured_queries)
    assert found(actor) == [KETTLE]
    assert observer.places == ["refused", "paused"]
    [told] = replicas.replica_findings()
    assert (told.status, told.detail) == ("degraded", why)
    assert caplog.text.count(why) == 1
    [probed] = probed_replica()
    assert (probed.status, probed.detail) == ("failing", why)


@pytest.mark.parametrize("role", ["postgres", "loci_owner", "loci_backup"])
def test_a_role_that_the_walls_do_not_hold(
    there: dict[str, Any], alice: Actor, observer: Observer, role: str, caplog: pytest.LogCaptureFixture
) -> None:
    there["USER"] = role
    assert_refused(alice, observer, replicas.UNHELD, caplog)


def test_another_database_of_the_same_server(
    replica: Cluster,
    there: dict[str, Any],
    second: str,
    alice: Actor,
    observer: Observer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    wait_until(replica, f"EXISTS (SELECT FROM pg_database WHERE datname = '{second}')")
    there["NAME"] = second
    assert_refused(alice, observer, replicas.ANOTHER, caplog)


def test_the_replica_of_another_server(
    stranger: Cluster, there: dict[str, Any], alice: Actor, observer: Observer, caplog: pytest.LogCaptureFixture
) -> None:
    assert ask(stranger, "SELECT pg_is_in_recovery()")
    there["HOST"] = str(stranger.socket_directory)
    assert_refused(alice, observer, replicas.ANOTHER, caplog)


def test_it_is_read_again_when_it_is_put_right(
    there: dict[str, Any], alice: Actor, observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(actor=alice, draft=Draft(text=KETTLE))
    former = there["USER"]
    there["USER"] = "postgres"
    monkeypatch.setattr(replicas, "PAUSE_SECONDS", 0.0)
    assert found(alice) == [KETTLE]
    connections[REPLICA].close()
    there["USER"] = former
    assert found(alice) == [KETTLE]
    assert observer.places == ["refused", "replica"]
    assert replicas.replica_findings()[0].status == "ok"


def test_what_another_database_says_of_an_owner_counts_for_nothing(
    cluster: Cluster,
    replica: Cluster,
    there: dict[str, Any],
    second: str,
    alice: Actor,
    observer: Observer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It says that the owner is being erased; the database itself decides."""
    with psycopg.connect(superuser_conninfo(cluster.socket_directory, second), autocommit=True) as administrator:
        administrator.execute("SET session_replication_role = replica")
        administrator.execute(
            "INSERT INTO memory_owner (id, pseudonym, created_at, purging_at) "
            "VALUES (%s, gen_random_uuid(), now(), now())",
            [alice.owner_id],
        )
    remember(actor=alice, draft=Draft(text=KETTLE))
    wait_for_replay(replica, of=cluster)
    there["NAME"] = second
    assert found(alice) == [KETTLE]
    # The next recall does not ask it again.
    assert found(alice) == [KETTLE]
    assert observer.places == ["failed", "paused"]
    [told] = replicas.replica_findings()
    assert told.status == "degraded"
    assert "it says that the owner is being erased" in told.detail
    assert caplog.text.count("it says that the owner is being erased") == 1
