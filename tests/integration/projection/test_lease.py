"""One worker at a time has an owner's projection, and one that has lost it writes nothing any more."""

from __future__ import annotations

import threading
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from memory.errors import ProjectionBusy
from memory.models import GraphProjection, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.projection import lease as leases
from memory.services.projection.building import build
from memory.services.projection.erasing import give_up
from memory.services.projection.projecting import project
from memory.services.projection.turn import Turn
from tests.bolt.server import BoltServer
from tests.integration.projection import conftest as looks
from tests.integration.projection.conftest import catch_up, nodes, small_graph

pytestmark = pytest.mark.django_db(transaction=True)


def test_who_changes_the_graph_for_long_keeps_it_busy(
    alice: Actor, projected: BoltServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    catch_up(alice)
    generation = looks.standing(alice).generation
    monkeypatch.setattr(leases, "PATIENCE", "50ms")
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with owner_scope(alice.owner_id), connection.cursor() as cursor:
            cursor.execute(leases.LOCK[1], {"owner": alice.owner_id})
            held.set()
            done.wait(60)
        connection.close()

    holding = threading.Thread(target=hold)
    holding.start()
    try:
        assert held.wait(60)
        out = StringIO()
        with pytest.raises(SystemExit):
            call_command("graph", "rebuild", stdout=out)
        assert "Somebody has been changing" in out.getvalue()
        assert "(projection.busy)" in out.getvalue()
    finally:
        done.set()
        holding.join()
    assert looks.standing(alice).generation == generation
    catch_up(alice, anew=True)


def test_one_worker_at_a_time_and_one_that_was_held_up_writes_nothing(alice: Actor, projected: BoltServer) -> None:
    small_graph(alice)
    catch_up(alice)
    held_up = leases.take(alice.owner_id)
    with pytest.raises(ProjectionBusy):
        project(owner_id=alice.owner_id, turn=Turn())
    GraphProjection.objects.filter(owner_id=alice.owner_id).update(leased_until=now() - timedelta(minutes=1))
    catch_up(alice)
    with pytest.raises(leases.LeaseLost):
        held_up.write([("CREATE (:Entity {user_id: $owner, id: 'late'})", {})], seq=0)
    with pytest.raises(leases.LeaseLost):
        build(held_up, looks.standing(alice), Turn())
    assert len(nodes(alice, "Entity")) == 2


def test_a_worker_in_the_middle_of_a_projection_that_is_given_up_writes_nothing(
    alice: Actor, projected: BoltServer
) -> None:
    small_graph(alice)
    leases.ensure(alice.owner_id, text="names")
    first = leases.take(alice.owner_id)
    leases.begin(first, text="names")
    give_up(owner_id=alice.owner_id)
    GraphProjection.objects.filter(owner_id=alice.owner_id).update(leased_until=None)
    leases.ensure(alice.owner_id, text="names")
    second = leases.take(alice.owner_id)
    assert second.fence == first.fence, "numbers begin anew"
    with pytest.raises(leases.LeaseLost):
        first.save(position={"part": 1, "after": str(alice.owner_id)})
    with pytest.raises(leases.LeaseLost):
        first.write([("CREATE (:Entity {user_id: $owner, id: 'late'})", {})], seq=1)
    first.let_go()
    with pytest.raises(ProjectionBusy):
        leases.take(alice.owner_id)
    second.extend()
    assert not looks.standing(alice).position
