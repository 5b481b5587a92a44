"""The channel layer, whatever notices travel by: what travels is small, and nothing is kept.

Each process that has channels listens on one connection of its own. Whatever goes to a group, or to a channel of
another process, travels as a notice; channels without `!` in their names stay in the process. What cannot be delivered
is not kept: instead the receivers get a message that says so, and look for themselves what there is now.

`notify_layer.py` has the one over PostgreSQL's LISTEN and NOTIFY, `redis_layer.py` the one over Redis.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from copy import deepcopy
from typing import Any, ClassVar, Final
from uuid import uuid4

from channels.exceptions import ChannelFull
from channels.layers import BaseChannelLayer

from memory.live.inbox import Inbox, Message
from memory.live.notices import AGAIN, EVERY_GROUP, Wire, read, written

logger = logging.getLogger(__name__)

CAPACITY: Final = 100
EXPIRY_SECONDS: Final = 60
FIRST_DELAY: Final = 0.25
LONGEST_DELAY: Final = 15.0
# A connection that says nothing may be one that nobody holds at the other end, or one that no notice comes through.
PROBE_SECONDS: Final = 30.0
PROBE_PATIENCE: Final = 10.0
# How long a channel waits for the listener before it joins all the same; it is told to look anew later.
JOIN_PATIENCE: Final = 5.0


class TravellingLayer(BaseChannelLayer):  # type: ignore[misc]
    """What all our layers share; one belongs to the event loop that first receives with it, and other threads may send.

    A layer says how a notice is sent (`_travel`) and where notices are heard (`_wire`).
    """

    extensions: Final = ["groups", "flush"]
    failures: ClassVar[tuple[type[Exception], ...]] = (OSError, TimeoutError)
    """What may happen to a connection on which notices are heard."""
    remedy: ClassVar[str] = ""
    """What an operator is told where notices are not heard."""

    def __init__(
        self, *, expiry: float = EXPIRY_SECONDS, capacity: int = CAPACITY, channel_capacity: Any = None
    ) -> None:
        """Set the limits.

        Args:
            expiry: seconds for which a message waits for its reader.
            capacity: messages that wait in one channel at most.
            channel_capacity: other capacities by patterns of channel names.
        """
        super().__init__(expiry=expiry, capacity=capacity)
        self.channel_capacity = self.compile_capacities(channel_capacity or {})
        self._process = uuid4().hex[:12]
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listener: asyncio.Task[None] | None = None
        self._begin()

    def _begin(self) -> None:
        self._inboxes: dict[str, Inbox] = {}
        self._groups: dict[str, set[str]] = {}
        self._heard = asyncio.Event()
        self._swept_at = time.monotonic()

    @property
    def hears(self) -> bool:
        """Tell whether notices are heard now; from any thread."""
        return self._heard.is_set()

    @property
    def listens(self) -> bool:
        """Tell whether it tries to hear notices, as it does from the first channel that joins a group on."""
        return self._listener is not None and not self._listener.done()

    async def send(self, channel: str, message: Message) -> None:
        """Send to one channel.

        Raises:
            TypeError: no name of a channel, or a value that does not travel.
            ChannelFull: it is a channel of this process and its reader is far behind.
        """
        assert isinstance(message, dict), "a message is a dict"
        assert "__asgi_channel__" not in message
        self.require_valid_channel_name(channel)
        if "!" in channel and not self._is_ours(channel):
            await self._travel(written("c", channel, message))
            return
        loop = self._loop_of_readers()
        if loop is asyncio.get_running_loop():
            self._put(channel, message)
        else:
            loop.call_soon_threadsafe(self._put_or_say, channel, deepcopy(message))

    async def group_send(self, group: str, message: Message) -> None:
        """Send to all channels of a group, in all processes; from within a transaction, when that commits.

        Raises:
            TypeError: no name of a group, or a value that does not travel.
        """
        assert isinstance(message, dict), "a message is a dict"
        self.require_valid_group_name(group)
        await self._travel(written("g", group, message))

    async def _travel(self, payload: str) -> None:
        """Send a notice on its way; from within a transaction, when that commits."""
        raise NotImplementedError

    async def _travel_now(self, payload: str) -> None:
        """Send a notice the same way, and fail where that cannot be done."""
        await self._travel(payload)

    def _wire(self) -> AbstractAsyncContextManager[Wire]:
        """Open a connection on which notices are heard."""
        raise NotImplementedError

    async def new_channel(self, prefix: str = "specific") -> str:
        """Make the name of a channel that only this process receives on."""
        return f"{prefix}.{self._process}!{uuid4().hex}"

    async def receive(self, channel: str) -> Message:
        """Wait for the next message on a channel; of several readers one gets it."""
        self.require_valid_channel_name(channel)
        self._adopt()
        inbox = self._inbox(channel)
        inbox.readers += 1
        try:
            while (message := inbox.take()) is None:
                await inbox.arrived.wait()
            return message
        finally:
            inbox.readers -= 1
            self._drop_if_unused(channel)

    async def group_add(self, group: str, channel: str) -> None:
        """Put a channel of this process into a group, and see to it that notices are heard."""
        self.require_valid_group_name(group)
        self.require_valid_channel_name(channel)
        self._adopt()
        self._inbox(channel).groups.add(group)
        self._groups.setdefault(group, set()).add(channel)
        if not self.listens:
            self._listener = asyncio.create_task(self._listen(), name="live notices")
        try:
            await asyncio.wait_for(self._heard.wait(), JOIN_PATIENCE)
        except TimeoutError:
            logger.warning("a channel has joined a group while no notices can be heard")

    async def group_discard(self, group: str, channel: str) -> None:
        """Take a channel out of a group, whether it is in it or not."""
        self.require_valid_group_name(group)
        self.require_valid_channel_name(channel)
        members = self._groups.get(group)
        if members is None or channel not in members:
            return
        members.discard(channel)
        if not members:
            del self._groups[group]
        inbox = self._inboxes[channel]
        inbox.groups.discard(group)
        # What came through the group is nothing to whoever has left it.
        if not inbox.groups and "!" in channel:
            inbox.waiting.clear()
        self._drop_if_unused(channel)

    async def flush(self) -> None:
        """Forget the channels and groups of this process."""
        self._begin()

    async def close(self) -> None:
        """Stop listening."""
        listener, self._listener = self._listener, None
        if listener is not None and self._loop is asyncio.get_running_loop():
            listener.cancel()
            await asyncio.gather(listener, return_exceptions=True)
        self._heard.clear()

    def _is_ours(self, channel: str) -> bool:
        return "!" in channel and channel.partition("!")[0].endswith(f".{self._process}")

    def _loop_of_readers(self) -> asyncio.AbstractEventLoop:
        return self._adopt() if self._loop is None or self._loop.is_closed() else self._loop

    def _adopt(self) -> asyncio.AbstractEventLoop:
        """Belong to the running loop; what belonged to a former one has ended with it."""
        running = asyncio.get_running_loop()
        if self._loop is running:
            return running
        if self._loop is not None and self._listener is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._listener.cancel)
        self._loop, self._listener = running, None
        self._begin()
        return running

    def _inbox(self, channel: str) -> Inbox:
        now = time.monotonic()
        if now - self._swept_at > self.expiry:
            self._swept_at = now
            for name, inbox in list(self._inboxes.items()):
                if inbox.waiting and inbox.waiting[-1][0] <= now:
                    inbox.take()
                    self._drop_if_unused(name)
        return self._inboxes.setdefault(channel, Inbox())

    def _drop_if_unused(self, channel: str) -> None:
        inbox = self._inboxes.get(channel)
        if inbox is not None and not (inbox.readers or inbox.groups or inbox.waiting):
            del self._inboxes[channel]

    def _put(self, channel: str, message: Message) -> None:
        inbox = self._inbox(channel)
        if len(inbox.waiting) >= self.get_capacity(channel):
            raise ChannelFull(channel)
        inbox.put(message, self.expiry)

    def _put_or_say(self, channel: str, message: Message) -> None:
        try:
            self._put(channel, message)
        except ChannelFull:
            logger.warning("a message to a channel was dropped, since its reader is far behind")

    def _put_in_group(self, channel: str, message: Mapping[str, Any]) -> None:
        """Deliver to a member; where too many wait, one message that says so takes the place of all."""
        inbox = self._inbox(channel)
        if len(inbox.waiting) >= self.get_capacity(channel):
            inbox.waiting.clear()
            message = {"type": AGAIN}
        inbox.put(dict(message), self.expiry)

    def _put_in_every_group(self, message: Mapping[str, Any]) -> None:
        for channel in {one for members in self._groups.values() for one in members}:
            self._put_in_group(channel, message)

    async def _listen(self) -> None:
        delay = FIRST_DELAY
        while True:
            try:
                async with self._wire() as wire:
                    await self._probe(wire)
                    delay = FIRST_DELAY
                    self._heard.set()
                    # Whoever joined before may have missed something.
                    self._put_in_every_group({"type": AGAIN})
                    await self._hear(wire)
            except self.failures as error:
                # Without its message, which may name a host and a user.
                logger.warning("notices of changes are not heard: %s; trying again", type(error).__name__)
            finally:
                self._heard.clear()
            await asyncio.sleep(delay * random.uniform(0.5, 1.0))  # noqa: S311  (spreads load, keeps no secret)
            delay = min(delay * 2, LONGEST_DELAY)

    async def _hear(self, wire: Wire) -> None:
        while True:
            async for payload in wire.until_silent(PROBE_SECONDS):
                self._deliver(payload)
            await self._probe(wire)

    async def _probe(self, wire: Wire) -> None:
        """Send a notice on the way that all take, and wait until it is heard; a pooler may keep notices to itself.

        Raises:
            TimeoutError: it was not heard.
        """
        probe = written("c", f"probe.{self._process}!{uuid4().hex}", {"type": "live.probe"})
        is_heard = False
        async with asyncio.timeout(PROBE_PATIENCE):
            await self._travel_now(probe)
            while not is_heard:
                async for payload in wire.some():
                    if payload == probe:
                        is_heard = True
                    else:
                        self._deliver(payload)

    def _deliver(self, payload: str) -> None:
        found = read(payload)
        if found is None:
            logger.warning("a notice that is none of ours was passed over")
            return
        to, name, message = found
        if to == "g" and name == EVERY_GROUP:
            self._put_in_every_group(message)
        elif to == "g":
            for channel in tuple(self._groups.get(name, ())):
                self._put_in_group(channel, message)
        elif self._is_ours(name):
            self._put_or_say(name, message)
