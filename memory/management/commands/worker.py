"""`manage.py worker`: run background work until stopped; `up` starts it as one of its processes."""

from __future__ import annotations

import logging
import signal
import time
from threading import Thread
from types import FrameType
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, close_old_connections, connections

from memory.errors import QueueUnavailable
from memory.services.jobs import (
    CONSOLIDATE_DUE,
    RUN_PURGES,
    Waker,
    call_at_start,
    consolidation_is_due,
)
from memory.services.purge.runner import purge_is_due

logger = logging.getLogger(__name__)

# A person's delete is erased ten seconds later; this is what it can be late by.
INTERVAL: Final = 1.0
# After an error of the database: it may be restarting.
PAUSE: Final = 5.0
# A signal does not cut a sleep short.
STEP: Final = 0.2


class Command(BaseCommand):
    """Run the queue's workers, and wake them when work becomes due."""

    help = "Run background work until stopped. `up` starts it; run it alone on further machines."

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until SIGTERM or SIGINT; a cluster that dies by itself is an error."""
        # The queue logs several lines a minute of a machine at rest.
        if not logging.getLogger().isEnabledFor(logging.DEBUG):
            logging.getLogger("django-q").setLevel(logging.WARNING)
        from django_q.cluster import Cluster

        cluster = Cluster()
        stopping = _note_signals()
        # The workers are forked: no connection may be open before, and none may be a pool's.
        connections.close_all()
        try:
            cluster.start()
        except RuntimeError:
            # What guards the workers was ended before it had begun.
            if not stopping:
                raise
        _keep_waking(cluster, stopping)
        if not stopping:
            raise CommandError("The workers ended by themselves; the lines above should say why.")
        _stop(cluster)


def _note_signals() -> list[int]:
    """Note signals instead of the queue's own handler, which waits in the middle of whatever was being done."""
    received: list[int] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        received.append(number)

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    return received


def _stop(cluster: Any) -> None:
    """Let the workers finish what they are at, and wait for their end."""
    # What guards the workers gets the signal too where a whole group of processes is ended. Ended while it waits for
    # this event, it never says that it has woken, and whoever sets the event waits for that for ever.
    Thread(target=cluster.stop_event.set, daemon=True).start()
    cluster.sentinel.join()


def _keep_waking(cluster: Any, stopping: list[int]) -> None:
    """Look for due work until a signal comes or the cluster ends; the database may be away for a while."""
    wakers = (
        Waker(),
        Waker(is_due=purge_is_due, task=RUN_PURGES),
        Waker(is_due=consolidation_is_due, task=CONSOLIDATE_DUE),
    )
    greeted = False
    while not stopping and cluster.sentinel.is_alive():
        pause = INTERVAL
        try:
            close_old_connections()
            if not greeted:
                call_at_start()
                greeted = True
            for waker in wakers:
                waker.look()
        except DatabaseError as error:
            logger.warning("the database does not answer (%s), trying again", type(error).__name__)
            pause = PAUSE
        except QueueUnavailable:
            # What is due is looked for again; that Redis is away was said when it was noticed.
            pause = PAUSE
        _rest(pause, stopping)
    connections.close_all()


def _rest(seconds: float, stopping: list[int]) -> None:
    until = time.monotonic() + seconds
    while not stopping and time.monotonic() < until:
        time.sleep(STEP)
