"""The channel layer over PostgreSQL's LISTEN and NOTIFY: one connection for each process, and nothing is kept."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from asgiref.sync import sync_to_async
from django.db import Error as DatabaseFailure
from django.utils.translation import gettext_noop

from memory.live.layer import TravellingLayer
from memory.live.listening import listening_parameters
from memory.live.notices import WIRE, Wire, notify_once


class NotifyLayer(TravellingLayer):
    """The layer over PostgreSQL's notices."""

    failures = (psycopg.Error, DatabaseFailure, OSError, TimeoutError)
    remedy = gettext_noop("Check that DATABASE_URL, or LIVE_DATABASE_URL, leads past a pooler.")

    async def _travel(self, payload: str) -> None:
        # From synchronous code this runs in the caller's own thread, and so on its connection and in its transaction.
        await sync_to_async(notify_once)(payload)

    @asynccontextmanager
    async def _wire(self) -> AsyncIterator[Wire]:
        async with await psycopg.AsyncConnection.connect(**listening_parameters()) as listening:
            await listening.execute(f"LISTEN {WIRE}")
            yield _Notices(listening)


class _Notices:
    """The notices of one connection."""

    def __init__(self, listening: psycopg.AsyncConnection[Any]) -> None:
        self._listening = listening

    async def some(self) -> AsyncGenerator[str, None]:
        async for notice in self._listening.notifies(stop_after=1):
            yield notice.payload

    async def until_silent(self, seconds: float) -> AsyncGenerator[str, None]:
        async for notice in self._listening.notifies(timeout=seconds):
            yield notice.payload
