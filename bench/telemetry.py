"""What recording turns costs whoever calls it, how many arrive in a second, and what a stop and a kill lose."""

from __future__ import annotations

import json
import os
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import connection, connections

from bench import telemetry_report
from bench.database import new_owner
from bench.recording_child import COUNTER_BYTES
from memory.crypto import keyring as ring
from memory.crypto.keyring import Keyring
from memory.errors import InvalidInput
from memory.models import owner_scope
from memory.providers.vault_directory import DirectoryVault
from memory.services.actors import Actor
from telemetry.models import TurnEvent
from telemetry.services.turns import recording
from telemetry.services.turns.buffer import MOST_WAITING
from telemetry.services.turns.drafts import TurnDraft
from telemetry.services.turns.recording import record, recording_counts

MOST: Final = 1_000_000
SPOKES: Final = ("direct", "knowledge", "browser", "mail", "fallback", "delegate_task", "calendar", "code")
REQUESTS: Final = (
    "Make me a note about gradient descent, part {}",
    "Write to Ann about invoice {} and remind me on Friday",
    "What did the sensor in room {} report last night?",
    "Book a table for {} people at the new place in Graz",
    "Summarise the {} unread mails of this week and tell me what needs an answer today",
)
CHILD_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class _Vault:
    """A vault whose key another process can be told."""

    folder: Path
    key: bytes


def measure(*, events: int, killed_at: int, report_events: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Record turns in this process and in two others, of which one is killed.

    Args:
        events: recorded without a pause in this process, and by the process that ends by itself.
        killed_at: turns after which the other one is killed.
        report_events: turns of the report that is timed; 0 leaves it out.
        tell: told of progress.

    Returns:
        `record_p50_ms` and `record_p99_ms` of a call within a burst of 5,000; `burst_s` until all of these are stored;
        `events_per_s` stored while events are recorded without a pause; `lost` of those and of a process that ended by
        itself, `lost_killed` of one that was killed and at most `most_waiting`; and `report_s` with what
        `bench.telemetry_report` measures.

    Raises:
        InvalidInput: a number out of range.
    """
    if not (1 <= events <= MOST and 1 <= killed_at <= MOST and 0 <= report_events <= MOST):
        raise InvalidInput(f"Numbers of events lie between 1 and {MOST}.", code="bench.range")
    with _known_vault() as vault:
        figures = _burst(min(events, MOST_WAITING))
        tell(f"a call takes {figures['record_p50_ms']} ms, a burst is stored after {figures['burst_s']} s")
        sustained = _sustained(events)
        tell(f"{sustained['events_per_s']} events are stored in a second")
        stopped = _stopped(vault, events)
        tell(f"{stopped} events are lost when a process ends")
        killed = _killed(vault, killed_at)
        tell(f"{killed} events are lost when a process is killed; {MOST_WAITING} may be")
        figures |= {
            "events_per_s": sustained["events_per_s"],
            "lost": figures.pop("lost") + sustained["lost"] + stopped,
            "lost_killed": killed,
            "most_waiting": MOST_WAITING,
        }
    if report_events:
        figures |= telemetry_report.measure_report(events=report_events, tell=tell)
    return figures


@contextmanager
def _known_vault() -> Iterator[_Vault]:
    former = ring.keyring()
    with tempfile.TemporaryDirectory(prefix="loci-bench-telemetry-") as folder:
        found = _Vault(Path(folder) / "keys", secrets.token_bytes(32))
        vault = DirectoryVault(found.folder, found.key)
        ring.install(Keyring(lambda: vault))
        try:
            yield found
        finally:
            ring.install(former)


def _turn(number: int) -> TurnDraft:
    request = REQUESTS[number % len(REQUESTS)].format(number)
    return TurnDraft(request=request, matched_spoke=SPOKES[number % len(SPOKES)], tool_call_count=2, duration_ms=900)


def _burst(events: int) -> dict[str, Any]:
    actor = new_owner()
    turns = [_turn(number) for number in range(events)]
    times = []
    began = time.perf_counter()
    for turn in turns:
        before = time.perf_counter()
        record(actor=actor, event=turn)
        times.append(time.perf_counter() - before)
    _written()
    seconds = time.perf_counter() - began
    return {
        "record_p50_ms": round(statistics.median(times) * 1_000, 4),
        "record_p99_ms": round(sorted(times)[int(len(times) * 0.99)] * 1_000, 4),
        "burst": events,
        "burst_s": round(seconds, 3),
        "lost": events - _stored(actor),
    }


def _sustained(events: int) -> dict[str, Any]:
    actor = new_owner()
    began = time.perf_counter()
    for number in range(events):
        record(actor=actor, event=_turn(number))
    _written()
    seconds = time.perf_counter() - began
    return {"events_per_s": round(events / seconds), "lost": _expected(events) - _stored(actor)}


def _written() -> None:
    """Wait until nothing waits any more; what the thread is writing included."""
    recording.flush()
    while recording_counts().waiting:
        recording.flush()


def _stopped(vault: _Vault, events: int) -> int:
    actor = new_owner()
    with _child(vault, actor, events=events) as (process, _):
        if process.wait(timeout=CHILD_SECONDS) != 0:
            raise InvalidInput("The process that records has failed.", code="bench.child")
    return _expected(events) - _stored(actor)


def _killed(vault: _Vault, killed_at: int) -> int:
    actor = new_owner()
    with _child(vault, actor, events=0) as (process, counter):
        while _counted(counter) < killed_at:
            if process.poll() is not None:
                raise InvalidInput("The process that records has failed.", code="bench.child")
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=CHILD_SECONDS)
        recorded = _counted(counter)
    # What it had sent before it was killed is committed or undone once its connection is gone.
    _wait_for_others()
    return max(_expected(recorded) - _stored(actor), 0)


@contextmanager
def _child(vault: _Vault, actor: Actor, *, events: int) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    counter = vault.folder / f"counter-{actor.owner_id}"
    counter.write_bytes(bytes(COUNTER_BYTES))
    told = {
        "owner": str(actor.owner_id),
        "vault": str(vault.folder),
        "key": vault.key.hex(),
        "events": events,
        "counter": str(counter),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.recording_child"],
        cwd=settings.BASE_DIR,
        env={**os.environ, **_database_urls()},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    try:
        assert process.stdin is not None
        process.stdin.write(f"{json.dumps(told)}\n".encode())
        process.stdin.close()
        yield process, counter
    finally:
        process.kill()
        process.wait()


def _database_urls() -> dict[str, str]:
    urls = {}
    for variable, alias in (("DATABASE_URL", "default"), ("DATABASE_SCHEMA_URL", "schema")):
        chosen: dict[str, Any] = connections[alias].settings_dict
        urls[variable] = f"postgresql://{chosen['USER']}@/{chosen['NAME']}?host={chosen['HOST']}"
    return urls


def _counted(counter: Path) -> int:
    return int.from_bytes(counter.read_bytes(), "little")


def _expected(events: int) -> int:
    """Tell how many of so many events are kept: the oldest of too many make room."""
    return min(events, settings.TELEMETRY_MOST_EVENTS)


def _stored(actor: Actor) -> int:
    with owner_scope(actor.owner_id):
        return int(TurnEvent.objects.count())


def _wait_for_others() -> None:
    with connection.cursor() as cursor:
        while True:
            cursor.execute(
                """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                AND pid <> pg_backend_pid() AND state <> 'idle' AND backend_type = 'client backend'"""
            )
            if not cursor.fetchone()[0]:
                return
            time.sleep(0.02)
