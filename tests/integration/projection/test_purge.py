"""Purges reach what stands in Neo4j, count it in their verification, and are not done while it cannot be asked."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client, override_settings
from django.urls import reverse

from memory.api.serializers.purges import PurgeRowSerializer
from memory.crypto.keyring import keyring
from memory.errors import ProjectionOff, ProjectionUnavailable
from memory.models import GraphProjection, Owner, Purge, PurgeState, owner_scope
from memory.palace.privacy_view import purge_view
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.projection.projecting import project_owner
from memory.services.projection.standing import standing
from memory.services.purge.held import held_up
from memory.services.purge.owner_purge import RowsLeft
from memory.services.purge.partial_requests import PartialRequest, begin_partial
from memory.services.purge.receipts import verify_receipt
from memory.services.purge.registry import Subject, targets
from memory.services.purge.requests import begin_purge
from memory.services.purge.runner import purge_is_due, run_due, run_purge
from tests.bolt.server import BoltServer
from tests.integration.graph.conftest import entity, relate
from tests.integration.projection.conftest import asked, catch_up, nodes, small_graph
from tests.integration.purge.test_interrupted import write_past_the_door

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])


def test_a_purge_takes_the_owner_out_of_neo4j_and_says_so(alice: Actor, mallory: Actor, projected: BoltServer) -> None:
    for owner in (alice, mallory):
        small_graph(owner)
        catch_up(owner)
    made = begin_purge(actor=alice)
    done = run_purge(purge_id=made.purge.pk, most=2)
    assert done.state == PurgeState.DONE
    assert done.receipt is not None
    assert verify_receipt(done.receipt)
    assert done.receipt["erased"]["neo4j"] >= 6
    assert any("Neo4j" in stay["what"] for stay in done.receipt["stays"])
    assert asked("MATCH (n {user_id: $owner}) RETURN count(n) AS n", owner=str(alice.owner_id))[0]["n"] == 0
    assert not GraphProjection.objects.filter(owner_id=alice.owner_id).exists()
    assert len(nodes(mallory, "Entity")) == 2


def rows_of(actor: Actor) -> dict[str, int]:
    """Count the owner's rows that are left, by target."""
    owner = Owner.objects.get(pk=actor.owner_id)
    subject = Subject(owner.pk, owner.pseudonym)
    with owner_scope(owner.pk, purging=True):
        counts = {target.name: target.count(subject) for target in targets() if not target.outside}
    # The purge itself is none of the others.
    return {name: count for name, count in counts.items() if count and name != "purges"}


def told(*arguments: str) -> str:
    """Give what a command of purges says that ends with something to attend to."""
    said = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("purge", *arguments, stdout=said)
    assert ended.value.code == 3
    return said.getvalue()


def test_neo4j_holds_up_the_end_of_a_purge_and_nothing_else(alice: Actor, projected: BoltServer) -> None:
    small_graph(alice)
    catch_up(alice)
    entity(alice, "Ben")
    projected.kill()
    project_owner(owner_id=alice.owner_id, at=now())
    assert (standing().failing, standing().behind_since is None) == (1, False)
    made = begin_purge(actor=alice)
    with pytest.raises(ProjectionUnavailable):
        run_purge(purge_id=made.purge.pk, most=3)
    told_of = standing()
    assert (told_of.failing, told_of.waiting, told_of.behind_since) == (0, 0, None), "the purge waits, no projection"
    made.purge.refresh_from_db()
    assert (made.purge.state, made.purge.error_code) == (PurgeState.WAITING, "projection.unavailable")
    assert Owner.objects.filter(pk=alice.owner_id).exists()
    assert rows_of(alice) == {"graph_projections": 1}, "only what is needed to clean Neo4j"
    assert alice.owner_id not in keyring().vault.owners()
    assert made.purge.receipt is None

    said = told("status", str(made.purge.pk))
    assert "held up by Neo4j (projection.unavailable)" in said
    assert "Everything else is erased, with the root key." in said
    assert json.loads(told("status", str(made.purge.pk), "--json"))["purges"][0]["held"] == [
        {"store": "neo4j", "error": "projection.unavailable"}
    ]
    asked_for = (
        Client().get(reverse("api:purge-receipt", args=[made.purge.pk]), headers={"X-Purge-Token": made.token}).json()
    )
    assert (asked_for["code"], asked_for["held"]) == (
        "receipt.not_yet",
        [{"store": "neo4j", "error": "projection.unavailable"}],
    )
    made.purge.refresh_from_db()
    assert PurgeRowSerializer(made.purge).data["held"] == asked_for["held"]
    page = Client().get(reverse("palace:purge-state", args=[made.purge.pk, made.token])).content.decode()
    assert "Everything here is erased, and the keys are destroyed." in page
    assert "Neo4j cannot be looked at now (projection.unavailable)." in page

    # However often it was tried in vain, it goes on a minute later; in between nobody asks.
    made.purge.position["failures"] = 20
    made.purge.save(update_fields=["position"])
    tried = now() + timedelta(hours=2)
    assert run_due(at=tried) == 0
    assert not purge_is_due(at=tried + timedelta(seconds=59))
    projected.again()
    with override_settings(NEO4J_TIMEOUT=21):
        assert run_due(at=tried + timedelta(minutes=1)) == 1
        done = Purge.objects.get(pk=made.purge.pk)
        assert done.state == PurgeState.DONE
        assert done.receipt is not None
        assert done.receipt["erased"]["neo4j"] >= 6
        assert done.receipt["erased"]["graph_projections"] == 1
        assert done.receipt["keys"] == {"root": "destroyed"}
        assert held_up(done) == []
        assert not Owner.objects.filter(pk=alice.owner_id).exists()
        assert asked("MATCH (n) RETURN count(n) AS n")[0]["n"] == 0


def test_a_purge_that_neo4j_holds_up_does_not_hide_what_is_left_here(alice: Actor, projected: BoltServer) -> None:
    small_graph(alice)
    catch_up(alice)
    projected.kill()
    made = begin_purge(actor=alice)

    def write_late(step: str) -> None:
        if step == "keys":
            write_past_the_door(alice)

    with pytest.raises(RowsLeft):
        run_purge(purge_id=made.purge.pk, after_step=write_late)
    made.purge.refresh_from_db()
    assert made.purge.error_code == "purge.left"
    assert [held.code for held in held_up(made.purge)] == ["projection.unavailable"]
    said = told("status", str(made.purge.pk))
    assert "failed with purge.left" in said
    assert "Everything else goes on." in said
    page = Client().get(reverse("palace:purge-state", args=[made.purge.pk, made.token])).content.decode()
    assert "Everything here is erased" not in page
    assert "It was interrupted (purge.left)" in page

    # Each turn of several rounds is work: its pauses grow as those of others do.
    made.purge.position["failures"] = 20
    made.purge.save(update_fields=["position"])
    tried = now() + timedelta(hours=2)
    with pytest.raises(RowsLeft):
        run_purge(purge_id=made.purge.pk, at=tried, after_step=write_late)
    assert not purge_is_due(at=tried + timedelta(minutes=59))


def test_a_purge_is_not_done_where_neo4j_is_not_named_any_more(alice: Actor, projected: BoltServer) -> None:
    small_graph(alice)
    catch_up(alice)
    made = begin_purge(actor=alice)
    with override_settings(NEO4J_URI=""):
        with pytest.raises(ProjectionOff):
            run_purge(purge_id=made.purge.pk)
        assert rows_of(alice) == {"graph_projections": 1}
        made.purge.refresh_from_db()
        made.purge.position["failures"] = 20
        made.purge.save(update_fields=["position"])
        with pytest.raises(ProjectionOff):
            run_purge(purge_id=made.purge.pk, at=now())
        assert not purge_is_due(at=now() + timedelta(minutes=50)), "it waits for a person"
        assert "run `manage.py graph forget --all --lost`" in told("status", str(made.purge.pk))
        call_command("graph", "forget", "--lost", "--all")
        done = run_purge(purge_id=made.purge.pk, at=now() + timedelta(hours=2))
    assert done.state == PurgeState.DONE
    assert done.receipt is not None
    assert [one for one in done.receipt["stays"] if "has given up as gone" in one["what"]], "nobody has looked there"


def test_what_came_back_later_is_found_and_erased_too(alice: Actor, projected: BoltServer) -> None:
    small_graph(alice)
    catch_up(alice)
    made = begin_purge(actor=alice)
    late: list[str] = []

    def write_late(step: str) -> None:
        if step == "keys" and not late:
            late.append(step)
            asked("CREATE (:Entity {user_id: $owner, id: 'late'})", owner=str(alice.owner_id))

    done = run_purge(purge_id=made.purge.pk, after_step=write_late)
    assert late
    assert done.state == PurgeState.DONE
    assert asked("MATCH (n) RETURN count(n) AS n")[0]["n"] == 0


def test_a_purge_of_memories_is_done_when_neo4j_has_followed(alice: Actor, projected: BoltServer) -> None:
    made = small_graph(alice)
    ben = entity(alice, "Ben", memory_id=made["memory"])
    knows = relate(alice, made["anna"], "knows", ben, memory_id=made["memory"]).relation.pk
    catch_up(alice)
    asked_for = begin_partial(actor=alice, request=PartialRequest(memories=(made["memory"],)))
    projected.kill()
    with pytest.raises(ProjectionUnavailable):
        run_purge(purge_id=asked_for.purge.pk)
    said = told("status", str(asked_for.purge.pk))
    assert "held up by Neo4j (projection.unavailable)" in said
    assert "Everything else is erased. " in said
    waits = Purge.objects.get(pk=asked_for.purge.pk)
    assert PurgeRowSerializer(waits).data["held"] == [{"store": "neo4j", "error": "projection.unavailable"}]
    shown = purge_view(waits, now())
    assert shown.sentence == "What was to go is erased here. It is not done yet:"
    assert shown.held == [
        "Neo4j cannot be looked at now (projection.unavailable). What stands there is erased by itself later."
    ]
    waits.position["failures"] = 20
    waits.save(update_fields=["position"])
    tried = now() + timedelta(hours=2)
    assert run_due(at=tried) == 0, "a store that is away is no fault of the job"
    assert not purge_is_due(at=tried + timedelta(seconds=59))
    projected.again()
    with override_settings(NEO4J_TIMEOUT=21):
        assert run_due(at=tried + timedelta(minutes=1)) == 1
        done = Purge.objects.get(pk=asked_for.purge.pk)
        assert done.state == PurgeState.DONE
        assert held_up(done) == []
        assert not asked("MATCH ()-[r:RELATES_TO {id: $id}]->() RETURN r.id AS id", id=str(knows))
