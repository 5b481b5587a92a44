"""The record of each attempt to send something: noted before the first byte leaves, and again with its outcome."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from memory.ids import new_id
from memory.ports.outbound import SENDING, OutboundRecorder, Outgoing, present_behalf

LONGEST_COMPONENT: Final = 32
LONGEST_HOST: Final = 253
LONGEST_OUTCOME: Final = 32

_recorder: OutboundRecorder | None = None
_unowned: Counter[str] = Counter()
_lock: Final = threading.Lock()


class Attempt:
    """An attempt under way; whoever makes it says how it ended."""

    def __init__(self) -> None:
        """Begin without an outcome."""
        self.outcome = ""

    def answered(self, status: int) -> None:
        """Take the status of the answer."""
        self.outcome = f"{status // 100}xx"


def install(recorder: OutboundRecorder | None) -> None:
    """Set what keeps the records of this process; done once by the app's configuration."""
    global _recorder
    _recorder = recorder


def unowned() -> Mapping[str, int]:
    """Count by kind what this process has sent on nobody's behalf: probes, and what learns the width of vectors."""
    with _lock:
        return dict(_unowned)


@contextmanager
def attempt(*, kind: str, component: str, host: str, size: int, digest: bytes) -> Iterator[Attempt]:
    """Note an attempt before its first byte leaves, and how it ended; an error's class where it ended in one.

    What is sent on nobody's behalf is counted only.

    Args:
        kind: `embedding`, `llm` or `rerank`.
        component: the part that asks, where it is known better than by `on_behalf_of`.
        host: where to.
        size: bytes of the body.
        digest: SHA-256 of the body.
    """
    made = Attempt()
    behalf, recorder = present_behalf(), _recorder
    if behalf is None or recorder is None:
        with _lock:
            _unowned[kind] += 1
        yield made
        return
    request = Outgoing(
        id=new_id(),
        behalf=replace(behalf, component=(component or behalf.component)[:LONGEST_COMPONENT]),
        kind=kind,
        host=host[:LONGEST_HOST],
        size=size,
        digest=digest,
        outcome=SENDING,
        at=datetime.now(UTC),
    )
    recorder(request)
    try:
        yield made
    except BaseException as error:
        made.outcome = made.outcome or type(error).__name__
        raise
    finally:
        recorder(replace(request, outcome=(made.outcome or SENDING)[:LONGEST_OUTCOME]))
