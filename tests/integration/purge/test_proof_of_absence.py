"""What a search finds keeps the receipt from being signed: the searches are part of the purge, from end to end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.contrib.sessions.models import Session as BrowserSession
from django.db import connection

from memory.models import Memory, Owner, Purge, PurgeState, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.purge import owner_purge
from memory.services.purge.requests import begin_purge
from memory.services.purge.runner import run_purge
from memory.services.remember import remember
from runtime.postgres.cluster import Cluster
from runtime.postgres.provision import superuser_conninfo
from tests.integration.purge.everything import everything_stored

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])

UNREAD = "memory_recallrecord"


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up after two rounds instead of five."""
    monkeypatch.setattr(owner_purge, "MOST_ROUNDS", 2)


def unsigned(owner: Actor, leave: Callable[[str], None]) -> dict[str, Any]:
    """Have a purge refused for what `leave` puts in its way, and give what was found."""
    made = begin_purge(actor=owner)
    with pytest.raises(owner_purge.RowsLeft):
        run_purge(purge_id=made.purge.pk, after_step=leave)
    row = Purge.objects.get(pk=made.purge.pk)
    assert (row.state, row.error_code, row.receipt) == (PurgeState.WAITING, "purge.left", None)
    assert Owner.objects.filter(pk=owner.owner_id).exists()
    found: dict[str, Any] = row.position["left"]
    return found


def goes_on(owner: Actor) -> None:
    done = run_purge(purge_id=Purge.objects.get(of_owner=owner.owner_id).pk)
    assert done.receipt is not None
    assert str(owner.owner_id) not in "\n".join(everything_stored(owner.owner_id))


def text_of(owner: Actor) -> str:
    with owner_scope(owner.owner_id, purging=True):
        return str(Memory.objects.get().__dict__["text"])


def put(owner: Actor, text: str) -> None:
    with owner_scope(owner.owner_id), connection.cursor() as cursor:
        cursor.execute("UPDATE memory_memory SET text = %s WHERE owner_id = %s", [text, owner.owner_id])


def test_a_sealed_value_in_the_row_of_another(alice: Actor, mallory: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Copied into the rows of another."))
    remember(actor=mallory, draft=Draft(text="Mine."))
    own, stolen = text_of(mallory), text_of(alice)
    put(mallory, stolen)

    assert unsigned(alice, lambda step: None) == {"samples in rows of others": 1}

    put(mallory, own)
    goes_on(alice)


def test_a_sealed_value_outside_the_walls(alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Copied where it does not belong."))
    BrowserSession.objects.create(session_key="k", session_data=f"see {text_of(alice)}", expire_date=now())

    assert unsigned(alice, lambda step: None) == {"django_session (content)": 1}

    BrowserSession.objects.all().delete()
    goes_on(alice)


def test_a_vector_under_the_same_memory(alice: Actor, mallory: Actor) -> None:
    kept = remember(actor=alice, draft=Draft(text="Where this goes.")).memory_id
    other = remember(actor=mallory, draft=Draft(text="Where this goes.")).memory_id

    def take_the_others(step: str) -> None:
        # The numbers of memories are given once, so that the sample takes on the number of the other one here.
        if step == "collect.sampled":
            samples = Purge.objects.get().samples or {}
            assert [one for one, _ in samples["vectors"]] == [str(kept)]
            samples["vectors"][0][0] = str(other)
            Purge.objects.update(samples=samples)
            raise InterruptedError

    made = begin_purge(actor=alice)
    with pytest.raises(InterruptedError):
        run_purge(purge_id=made.purge.pk, after_step=take_the_others)
    with pytest.raises(owner_purge.RowsLeft):
        run_purge(purge_id=made.purge.pk)
    assert Purge.objects.get().position["left"] == {"samples in rows of others": 1}


def test_a_row_that_no_index_knows(alice: Actor, cluster: Cluster) -> None:
    """A damaged index hides a row from whoever asks through it; each table is read row by row as well."""

    def hide(step: str) -> None:
        if step == "keys":
            with damaged_indexes(cluster, UNREAD):
                write(alice)

    assert unsigned(alice, hide)[UNREAD] >= 1

    with psycopg.connect(superuser_conninfo(cluster.socket_directory, database()), autocommit=True) as admin:
        admin.execute(f"REINDEX TABLE {UNREAD}".encode())
    goes_on(alice)


def database() -> str:
    return str(connection.settings_dict["NAME"])


@contextmanager
def damaged_indexes(cluster: Cluster, table: str) -> Iterator[None]:
    """Let indexes of a table miss what is written meanwhile."""
    statement = "UPDATE pg_index SET indisready = %s WHERE indrelid = %s::regclass"
    with psycopg.connect(superuser_conninfo(cluster.socket_directory, database()), autocommit=True) as admin:
        admin.execute(statement, [False, table])
        connection.close()
        try:
            yield
        finally:
            admin.execute(statement, [True, table])
            connection.close()


def write(owner: Actor) -> None:
    with owner_scope(owner.owner_id, purging=True), connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {UNREAD} (owner_id, id, caller, explanation, created_at)"
            " VALUES (%s, gen_random_uuid(), %s, 'enc:v1:late', now())",
            [owner.owner_id, owner.owner_id],
        )
