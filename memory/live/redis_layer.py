"""The channel layer over Redis's publish and subscribe: one connection for each process, and nothing is kept."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Final

from asgiref.sync import sync_to_async
from django.utils.translation import gettext_noop
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from memory.live.layer import TravellingLayer
from memory.live.notices import Wire
from memory.live.publishing import opened, publish_on_commit, sealed, wire
from memory.redis.connection import client_parameters

# So that waiting for a notice can be given up between two looks.
LOOK_SECONDS: Final = 5.0


class RedisLayer(TravellingLayer):
    """The layer over Redis."""

    failures: ClassVar[tuple[type[Exception], ...]] = (RedisError, OSError, TimeoutError)
    remedy: ClassVar[str] = gettext_noop("Check that Redis runs and that REDIS_URL leads to it.")

    async def _travel(self, payload: str) -> None:
        # From synchronous code this runs in the caller's own thread, and so in its transaction.
        await sync_to_async(publish_on_commit)(payload)

    async def _travel_now(self, payload: str) -> None:
        async with _client() as client:
            await client.publish(wire(), sealed(payload))

    @asynccontextmanager
    async def _wire(self) -> AsyncIterator[Wire]:
        async with _client() as client, client.pubsub(ignore_subscribe_messages=True) as subscribed:
            await subscribed.subscribe(wire())
            yield _Published(subscribed)


@asynccontextmanager
async def _client() -> AsyncIterator[Any]:
    # Without repetitions: one of a subscription would begin anew without a word, and what came meanwhile be lost.
    async with Redis(**client_parameters(), retry=Retry(NoBackoff(), 0)) as client:
        yield client


class _Published:
    """What is published on one connection."""

    def __init__(self, subscribed: PubSub) -> None:
        self._subscribed = subscribed

    async def some(self) -> AsyncGenerator[str, None]:
        while (payload := await self._next(LOOK_SECONDS)) is None:
            pass
        yield payload

    async def until_silent(self, seconds: float) -> AsyncGenerator[str, None]:
        while (payload := await self._next(seconds)) is not None:
            yield payload

    async def _next(self, seconds: float) -> str | None:
        """Give the next notice; an empty one, which is passed over, for what is none of ours."""
        found = await self._subscribed.get_message(timeout=seconds)
        return None if found is None else opened(found["data"]) or ""
