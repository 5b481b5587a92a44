"""A model is ordered while the queue is in Redis and Redis is away: the order stands, and is carried out later."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django_q.conf import Conf
from django_q.models import Schedule
from django_q.scheduler import scheduler
from pytest_django import Settings

from memory.providers.composition import forget_providers
from memory.redis.connection import connection
from memory.redis.waiting import entries
from memory.services import model_fetch
from memory.services.clock import now
from memory.services.model_fetch import ask_for_fetch, go_on, present_fetch
from tests.integration.palace.conftest import client_of
from tests.ollama_like import OllamaLike
from tests.redis_server import RedisServer, dying_redis_in_use, mortal_redis, waited_for

__all__ = ["dying_redis_in_use", "mortal_redis"]

MODEL = "nomic-embed-text"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ollama(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaLike]:
    """A server without the model, and the queue in Redis."""
    monkeypatch.setattr(model_fetch, "SECONDS_BETWEEN_NOTES", 0.0)
    monkeypatch.setattr(Conf, "BROKER_CLASS", "memory.redis.broker.RedisBroker")
    settings.QUEUE_BROKER = "redis"
    with OllamaLike() as server:
        settings.EMBEDDING_PROVIDER = "ollama"
        settings.EMBEDDING_MODEL = ""
        settings.EMBEDDING_BASE_URL = server.address
        forget_providers()
        yield server
    forget_providers()


def minute_passes() -> None:
    """Have the queue look for schedules as it does twice a minute, the order's being due."""
    Schedule.objects.filter(name=model_fetch.NAME).update(next_run=now() - timedelta(seconds=1))
    scheduler()


def test_an_order_stands_and_is_carried_out_when_redis_is_back(
    dying_redis_in_use: RedisServer, ollama: OllamaLike
) -> None:
    dying_redis_in_use.kill()
    assert ask_for_fetch(model=MODEL).state == "waiting"
    minute_passes()
    assert present_fetch() is not None
    dying_redis_in_use.start()
    waited_for(connection().answers, "Redis to be used again")
    assert entries() == []
    scheduler()
    assert len(entries()) == 1
    assert go_on() == 1
    assert ollama.has(MODEL)


def test_a_turn_that_ends_without_a_queue_is_no_failure(
    dying_redis_in_use: RedisServer, ollama: OllamaLike, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_fetch, "TURN_SECONDS", 0.0)
    ask_for_fetch(model=MODEL)
    dying_redis_in_use.kill()
    assert go_on() == 0
    order = present_fetch()
    assert order is not None
    assert (order.state, order.tries, order.error) == ("waiting", 0, "")


def test_the_button_works_while_redis_is_away(
    dying_redis_in_use: RedisServer, ollama: OllamaLike, make_owner: Any
) -> None:
    boss = client_of(make_owner("boss", staff=True))
    dying_redis_in_use.kill()
    assert boss.post("/embedding/fetch/", {"next": "/archive/"}).status_code == 302
    assert present_fetch() is not None
