"""A purge goes over Redis too, and is not done while Redis cannot be looked at."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from django_q.conf import Conf
from django_q.tasks import async_task
from pytest_django import Settings

from memory.crypto.keyring import keyring
from memory.errors import QueueUnavailable, RedisUnavailable
from memory.models import AgentKey, Owner, Purge, PurgeState, owner_scope
from memory.redis.connection import connection
from memory.redis.waiting import entries
from memory.services.actors import Actor
from memory.services.health import health_findings
from memory.services.jobs import RUN_DUE_WORK, RUN_PURGES, call_worker
from memory.services.limits import caller_of, count_shared
from memory.services.purge import registry
from memory.services.purge.held import held_up
from memory.services.purge.redis_store import RedisTarget
from memory.services.purge.requests import begin_purge, preview_owner
from memory.services.purge.runner import purge_is_due, run_purge
from memory.services.purge.targets import register_targets
from memory.services.queue_state import queue_state, run_now
from telemetry.metrics.standing import from_database
from tests.redis_server import (
    RedisServer,
    dying_redis_in_use,
    mortal_redis,
    redis_in_use,
    shared_redis,
    waited_for,
)

__all__ = ["dying_redis_in_use", "mortal_redis", "redis_in_use", "shared_redis"]

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])

Make = Callable[..., tuple[Actor, str]]


@pytest.fixture(autouse=True)
def queue_in_redis(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the queue in Redis, and purges go over it, as they do where a process starts with REDIS_URL."""
    settings.QUEUE_BROKER = "redis"
    monkeypatch.setattr(Conf, "BROKER_CLASS", "memory.redis.broker.RedisBroker")
    registry.load_announced()
    targets = {**registry._targets, "redis": (registry.Phase.STORES, RedisTarget())}
    monkeypatch.setattr(registry, "_targets", targets)


def requests_of(*actors: Actor) -> None:
    for actor in actors:
        caller = caller_of(actor.owner_id, actor.key_id)
        judged = count_shared(caller=caller, rate="write", most=10, seconds=3600)
        assert judged is not None
        assert judged.allowed


def test_counters_and_calls_of_the_owner_go_and_others_stay(
    redis_in_use: RedisServer, alice: Actor, mallory: Actor, make_agent: Make
) -> None:
    requests_of(alice, make_agent(alice)[0])
    others = set(redis_in_use.content())
    requests_of(mallory, make_agent(mallory)[0])
    others = set(redis_in_use.content()) - others
    call_worker()
    for owner in (alice, mallory):
        async_task("memory.tasks.run_due_work", owner.owner_id, str(owner.owner_id), {"of": owner.owner_id.hex})
    assert len(entries()) == 3
    assert preview_owner(owner_id=alice.owner_id)["redis"] == 3

    made = begin_purge(actor=alice)
    done = run_purge(purge_id=made.purge.pk)

    assert done.state == PurgeState.DONE
    assert done.erased["redis"] == 3
    assert len(others) == 2
    assert others < set(redis_in_use.content())
    # The two others', and the call for the purge itself.
    assert len(entries()) == 3
    assert not any(str(alice.owner_id).encode() in value for value in redis_in_use.content().values())
    assert len(redis_in_use.content()) == 3


@pytest.mark.parametrize("used", [True, False])
def test_purges_go_over_redis_where_it_is_used(
    used: bool, redis_in_use: RedisServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not used:
        settings.REDIS = {}
    monkeypatch.setattr(registry, "_targets", {})
    register_targets()
    assert ("redis" in [target.name for target in registry.targets(registry.Phase.STORES)]) is used


def test_redis_holds_up_the_end_of_a_purge_and_nothing_else(
    dying_redis_in_use: RedisServer, alice: Actor, make_agent: Make
) -> None:
    agent = make_agent(alice)[0]
    made = begin_purge(actor=alice)
    dying_redis_in_use.kill()
    with pytest.raises(RedisUnavailable):
        run_purge(purge_id=made.purge.pk)
    waits = Purge.objects.get(pk=made.purge.pk)
    assert (waits.state, waits.error_code) == (PurgeState.WAITING, "redis.unavailable")
    assert Owner.objects.filter(pk=alice.owner_id).exists()
    assert waits.erased["agent_keys"] == 1
    with owner_scope(alice.owner_id, purging=True):
        assert not AgentKey.objects.exists()
    assert alice.owner_id not in keyring().vault.owners()
    assert [(held.name, held.code) for held in held_up(waits)] == [("Redis", "redis.unavailable")]

    dying_redis_in_use.start()
    waited_for(connection().answers, "Redis to be used again")
    requests_of(alice, agent)
    assert len(dying_redis_in_use.content()) == 2
    done = run_purge(purge_id=made.purge.pk)
    assert done.state == PurgeState.DONE
    assert dying_redis_in_use.content() == {}, "found although the rows of the keys were gone"
    assert done.receipt is not None
    said = [stay["what"] for stay in done.receipt["stays"]]
    assert any(what.startswith("Counts of failed logins in Redis") for what in said)
    assert any(stay["until"].endswith("a week for the marks.") for stay in done.receipt["stays"])
    assert any("append-only file and its snapshots" in what for what in said)
    assert not any("of the web process," in what for what in said)


def test_a_purge_can_be_asked_for_while_redis_is_away(dying_redis_in_use: RedisServer, alice: Actor) -> None:
    dying_redis_in_use.kill()
    assert preview_owner(owner_id=alice.owner_id).get("redis") is None
    begin_purge(actor=alice)
    assert purge_is_due()


def test_a_call_is_refused_clearly_while_redis_is_away(dying_redis_in_use: RedisServer, db: Any) -> None:
    dying_redis_in_use.kill()
    with pytest.raises(QueueUnavailable):
        run_now(task=RUN_PURGES)
    state = queue_state()
    assert (state.waiting, state.oldest) == (None, None)
    found = {finding.name: finding for finding in health_findings()}
    assert found["queue"].status == "degraded"
    assert "does not answer" in found["queue"].detail
    names = {definition.name: values for definition, values in from_database().items()}
    assert names["loci_queue_tasks"] == names["loci_queue_lag_seconds"] == []


def test_what_waits_and_since_when_is_told(redis_in_use: RedisServer, alice: Actor) -> None:
    before = time.time()
    call_worker()
    call_worker(RUN_DUE_WORK)
    state = queue_state()
    assert state.waiting == 2
    assert state.oldest is not None
    assert before - 1 <= state.oldest.timestamp() <= time.time() + 1
    found = {finding.name: finding for finding in health_findings()}
    assert found["queue"].detail == "2 tasks wait."
    values = {definition.name: values for definition, values in from_database().items()}
    assert values["loci_queue_tasks"] == [((), 2.0)]


def test_what_somebody_else_has_put_there_breaks_nothing(redis_in_use: RedisServer, alice: Actor) -> None:
    call_worker()
    (key,) = redis_in_use.content()
    with redis_in_use.client() as client:
        for entry in (b"", b"x", b"\xff\xfe|\xff", b"1e999|x", b"nan|x"):
            client.lpush(key, entry)
            assert queue_state().waiting
            assert RedisTarget().count(registry.Subject(alice.owner_id, alice.owner_id)) == 0
