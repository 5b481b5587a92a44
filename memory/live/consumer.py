"""The websocket at `/live/`: a client says what it watches, and hears that something of it has changed, never what."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from enum import IntEnum
from typing import Any, Final, TypeVar

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import Error as DatabaseFailure

from memory.errors import KeysUnavailable, LociError, NotAuthenticated, OwnerPurging, PermissionRefused, RateLimited
from memory.live.callers import Caller, judge_again, let_in, shown
from memory.live.notices import group_of
from memory.live.sockets import open_sockets
from memory.live.sorts import SORTS
from memory.ports.live import ACCESS
from memory.services.health.heartbeat import WORKERS, worker_is_silent

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Close(IntEnum):
    """Why a socket was closed by us; the numbers from 4000 on are the application's own (RFC 6455, 7.4.2)."""

    MALFORMED = 4400
    NOT_AUTHENTICATED = 4401
    NOTHING_WATCHED = 4408
    OWNER_PURGING = 4410
    TOO_MANY = 4429
    TRY_AGAIN = 1013
    FAILED = 1011


MOST_SORTS: Final = 32
LONGEST_SORT: Final = 32
MOST_MESSAGES: Final = 20
MESSAGES_SECONDS: Final = 10.0
# A socket that watches nothing is of no use to anybody.
WATCH_SECONDS: Final = 30.0
# Nobody announces that a worker fell silent, so sockets look; no oftener than this.
WORKER_SECONDS: Final = 15.0
# What ends without a notice, such as a key that runs out, is noticed within this time.
JUDGE_SECONDS: Final = 60.0
# Changes that come together are told together, so that a burst asks the database once.
PAUSE_SECONDS: Final = 0.1
MOST_PENDING: Final = 64

# Few, so that many sockets never take the connections that requests need.
_threads: Final = ThreadPoolExecutor(max_workers=3, thread_name_prefix="live")


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """One socket. Before anything is told, its caller is judged anew."""

    caller: Caller | None = None
    teller: asyncio.Task[None] | None = None
    over = False
    worker_silent: bool | None = None
    worker_looked_at = float("-inf")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve the socket; however it ends, nothing of it is left."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._let_go()

    async def _let_go(self) -> None:
        self.over = True
        open_sockets.remove(self)
        if self.teller is not None:
            self.teller.cancel()
        if self.caller is not None:
            await self.channel_layer.group_discard(self.group, self.channel_name)

    async def connect(self) -> None:
        """Let the client in, or say why not; a browser only sees the reason of a socket that was open."""
        self.watched: frozenset[str] = frozenset()
        self.pending: dict[tuple[str, str], int] = {}
        self.wake = asyncio.Event()
        self.loop = asyncio.get_running_loop()
        self.told_at: deque[float] = deque(maxlen=MOST_MESSAGES)
        await self.accept()
        credentials = shown(self.scope["headers"], self.scope.get("client"))
        caller = await self._judged(let_in, credentials)
        if caller is None:
            return
        owner_id = caller.actor.owner_id
        if not open_sockets.add(self, owner_id=owner_id, caller_id=caller.counted_as):
            await self.close(Close.TOO_MANY)
            return
        self.group = group_of(owner_id)
        self.caller = caller
        await self.channel_layer.group_add(self.group, self.channel_name)
        if not self.channel_layer.hears:
            # A page that looks by itself is better off than one that believes to be told.
            await self.close(Close.TRY_AGAIN)
            return
        self.teller = asyncio.create_task(self._tell(), name="live teller")
        self.teller.add_done_callback(self._ended)

    async def send(self, text_data: str | None = None, bytes_data: bytes | None = None, close: bool = False) -> None:
        """Send, unless the socket is closed or the client has gone without a word."""
        if not self.over:
            with suppress(OSError):
                await super().send(text_data=text_data, bytes_data=bytes_data, close=close)

    async def close(self, code: int | None = None, reason: str | None = None) -> None:
        """Close once, for the first reason that there is."""
        if not self.over:
            self.over = True
            with suppress(OSError):
                await super().close(code, reason)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Take `{"watch": [sorts]}`, which replaces what was watched before."""
        if self.caller is None or self.over:
            return
        now = time.monotonic()
        if len(self.told_at) == MOST_MESSAGES and now - self.told_at[0] < MESSAGES_SECONDS:
            await self.close(Close.TOO_MANY)
            return
        self.told_at.append(now)
        wanted = _wanted(text_data)
        if wanted is None:
            await self.close(Close.MALFORMED)
            return
        caller = await self._judged(judge_again, self.caller)
        if caller is None:
            return
        self.caller = caller
        refused = {sort: code for sort in wanted if (code := _refusal(caller, sort))}
        self.watched = frozenset(wanted) - refused.keys()
        await self._look_for_worker()
        answer: dict[str, Any] = {"watching": sorted(self.watched)}
        if refused:
            answer["refused"] = [{"sort": sort, "code": code} for sort, code in sorted(refused.items())]
        await self.send(json.dumps(answer))

    # From the channel layer

    async def live_change(self, event: dict[str, Any]) -> None:
        """Note a change, to be told after the caller was judged."""
        sort = event["sort"]
        if sort in self.watched:
            if len(self.pending) >= MOST_PENDING:
                self.pending = dict.fromkeys(((one, "") for one, _ in self.pending), 0)
                self.pending[sort, ""] = 0
            else:
                self.pending[sort, event["id"]] = event["version"]
            self.wake.set()
        elif sort == ACCESS:
            self.wake.set()

    async def live_again(self, event: dict[str, Any]) -> None:
        """Tell that changes may have been missed: whatever is watched may be another."""
        self.pending = {(sort, ""): 0 for sort in self.watched}
        self.wake.set()

    def judge_soon(self) -> None:
        """Have the caller judged anew; may be called from any thread."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.wake.set)

    # Telling

    async def _tell(self) -> None:
        """Tell what has changed, for as long as the caller may hear it."""
        begun = time.monotonic()
        while True:
            patience = JUDGE_SECONDS if self.watched else min(JUDGE_SECONDS, WATCH_SECONDS)
            try:
                await asyncio.wait_for(self.wake.wait(), patience)
            except TimeoutError:
                if not self.watched and time.monotonic() - begun >= WATCH_SECONDS:
                    await self.close(Close.NOTHING_WATCHED)
                    return
            self.wake.clear()
            assert self.caller is not None
            caller = await self._judged(judge_again, self.caller)
            if caller is None:
                return
            self.caller = caller
            await self._look_for_worker()
            if self.over:
                return
            pending, self.pending = self.pending, {}
            for (sort, object_id), version in pending.items():
                if sort in self.watched and not _refusal(caller, sort):
                    await self.send(json.dumps({"sort": sort, "id": object_id, "version": version}))
            await asyncio.sleep(PAUSE_SECONDS)

    async def _look_for_worker(self) -> None:
        """Note a change when the last worker has fallen silent, or one is back, since this socket looked before."""
        now = time.monotonic()
        if WORKERS not in self.watched or now < self.worker_looked_at + WORKER_SECONDS:
            return
        self.worker_looked_at = now
        silent = await self._in_thread(worker_is_silent)
        if silent is None or silent == self.worker_silent:
            return
        # The page itself was told at first, when it began to watch.
        if self.worker_silent is not None:
            self.pending[WORKERS, ""] = 0
        self.worker_silent = silent

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            logger.error("a socket was closed after an error: %s", type(error).__name__, exc_info=error)
            self.closing = asyncio.create_task(self.close(Close.FAILED))

    async def _judged(self, judge: Any, subject: Any) -> Caller | None:
        """Judge in a thread; None when the socket was closed."""
        judged: Caller | None = await self._in_thread(judge, subject)
        return judged

    async def _in_thread(self, look: Callable[..., T], *subjects: Any) -> T | None:
        """Ask the database in a thread; None when that failed and the socket was closed."""
        try:
            found: T = await database_sync_to_async(look, thread_sensitive=False, executor=_threads)(*subjects)
        except (LociError, DatabaseFailure) as error:
            await self.close(_reason(error))
            return None
        return found


def _reason(error: Exception) -> Close:
    """Give the code that says why somebody may not listen."""
    if isinstance(error, NotAuthenticated):
        return Close.NOT_AUTHENTICATED
    if isinstance(error, OwnerPurging):
        return Close.OWNER_PURGING
    if isinstance(error, RateLimited):
        return Close.TOO_MANY
    if isinstance(error, DatabaseFailure | KeysUnavailable):
        # Without its message, which may hold what was asked.
        logger.warning("a socket was closed, since its caller cannot be judged now: %s", type(error).__name__)
        return Close.TRY_AGAIN
    raise error


def _wanted(text: str | None) -> list[str] | None:
    """Read what a client wants to watch; None for anything but `{"watch": [names]}`."""
    try:
        found = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    names = found.get("watch") if isinstance(found, dict) and found.keys() == {"watch"} else None
    if not isinstance(names, list) or len(names) > MOST_SORTS:
        return None
    sound = all(isinstance(name, str) and len(name) <= LONGEST_SORT for name in names)
    return names if sound else None


def _refusal(caller: Caller, sort: str) -> str | None:
    """Give the code with which a sort is refused; None for one that may be watched."""
    if sort not in SORTS:
        return "sort.unknown"
    try:
        caller.actor.require(SORTS[sort])
    except PermissionRefused as error:
        return error.machine_code
    return None
