"""Run the product's processes under one supervisor: start, restart, and stop all of them together.

Children write to the supervisor's own output. Each leads a process group, so that stopping it reaches what it started.
"""

from __future__ import annotations

import math
import os
import select
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import psutil

from runtime import watchdog

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
LONGEST_WAIT = 1.0
GROUP_POLL = 0.1


@dataclass(frozen=True, slots=True)
class Service:
    """One child process; `environment` adds to the supervisor's own.

    One that is `bare` gets `environment` and nothing else: a program of other makers needs no secrets of ours.
    One that is not `essential` is given up without stopping the others.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: Path | None = None
    essential: bool = True
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """How patient the supervisor is; all in seconds but `failures`."""

    first_delay: float = 1.0
    longest_delay: float = 30.0
    failures: int = 5
    window: float = 60.0
    grace: float = 10.0


class _Child:
    """One service through its lives: running, draining after its leader ended, waiting for the next start."""

    def __init__(self, service: Service, limits: Limits) -> None:
        self.service = service
        self.limits = limits
        self.process: subprocess.Popen[bytes] | None = None
        self.group: int | None = None
        self.ended: deque[float] = deque()
        self.delay = limits.first_delay
        self.next_start = 0.0
        self.kill_at: float | None = None
        self.group_asked = False

    def launch(self) -> None:
        """Start the process; raises OSError when the command cannot be run."""
        self.process = subprocess.Popen(
            list(self.service.command),
            stdin=subprocess.DEVNULL,
            env={**({} if self.service.bare else os.environ), **self.service.environment},
            cwd=self.service.directory,
            process_group=0,
        )
        self.group = self.process.pid
        self.kill_at = None
        self.group_asked = False

    def leader_ended(self) -> bool:
        """Tell once that the leader has ended."""
        if self.process is None or self.process.poll() is None:
            return False
        self.process = None
        return True

    def note_failure(self) -> bool:
        """Count an unexpected end and set the next start; tell whether there were too many."""
        now = time.monotonic()
        while self.ended and self.ended[0] < now - self.limits.window:
            self.ended.popleft()
        if not self.ended:
            self.delay = self.limits.first_delay
        self.ended.append(now)
        self.next_start = now + self.delay
        self.delay = min(self.delay * 2, self.limits.longest_delay)
        return len(self.ended) >= self.limits.failures

    def terminate(self) -> None:
        """Ask the leader to end and, once it is gone, what is left of its group; set the moment of force.

        The leader comes first: it knows how to end its own children, for example after the job in hand.
        """
        if self.group is None:
            return
        if self.process is not None:
            if self.kill_at is None:
                self.process.send_signal(signal.SIGTERM)
        elif not self.group_asked:
            self.group_asked = True
            watchdog.signal_group(self.group, signal.SIGTERM)
        if self.kill_at is None:
            self.kill_at = time.monotonic() + self.limits.grace

    def kill(self) -> None:
        """End what is left of the group by force."""
        if self.group is not None:
            watchdog.signal_group(self.group, signal.SIGKILL)

    def drained(self) -> bool:
        """Tell whether nothing is left of the group; use force after the grace."""
        if self.group is None:
            return True
        if self.process is None:
            # As process 1 of a container we inherit what the leader left and must reap it.
            with suppress(ChildProcessError):
                while os.waitpid(-self.group, os.WNOHANG)[0]:
                    pass
        if self.process is None and not _anything_left(self.group):
            return True
        if self.kill_at is not None and time.monotonic() >= self.kill_at:
            self.kill()
        return False


class Supervisor:
    """Runs services until a signal stops them or one of them cannot be kept running."""

    def __init__(
        self, services: Sequence[Service], *, say: Callable[[str], None] | None = None, limits: Limits | None = None
    ) -> None:
        """Name the services.

        Args:
            services: at least one, with names of their own.
            say: takes one line for the operator at a time; standard error when left out.
            limits: delays and counts of restarts.
        """
        if not services or len({service.name for service in services}) != len(services):
            raise ValueError("a supervisor needs at least one service, and each a name of its own")
        self._limits = limits or Limits()
        self._say = say or _say_on_stderr
        self._children = [_Child(service, self._limits) for service in services]
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._signals = 0
        self._stopping = False
        self._gave_up = False

    def run(self) -> int:
        """Run until stopped; call it from the main thread.

        SIGTERM, SIGINT or SIGHUP stops the services; a second one stops them by force. A service that ends is started
        again after 1 s, doubling to 30 s, and given up after 5 ends within 60 s.

        Returns:
            0 when it was asked to stop, 1 when an essential service was given up.
        """
        with self._signal_pipe() as pipe:
            try:
                self._loop(pipe)
            finally:
                self._end_everything()
        return 1 if self._gave_up else 0

    def _loop(self, pipe: int) -> None:
        while True:
            self._keep_watchdog()
            if self._signals and not self._stopping:
                self._stop()
            if self._stopping and self._signals > 1:
                for child in self._children:
                    child.kill()
            for child in self._children:
                self._tend(child)
            if self._stopping and all(child.group is None for child in self._children):
                return
            self._sleep(pipe)

    def _tend(self, child: _Child) -> None:
        if child.process is not None:
            self._look_after_leader(child)
        if child.process is None and child.group is not None and child.drained():
            self._tell_watchdog("-", child.group)
            child.group = child.kill_at = None
        ready = child.group is None and not self._stopping and time.monotonic() >= child.next_start
        if ready:
            self._launch(child)

    def _look_after_leader(self, child: _Child) -> None:
        code = child.process.poll() if child.process is not None else None
        if child.leader_ended():
            child.terminate()
            if not self._stopping:
                self._count(child, _ending(code))
        else:
            child.drained()

    def _launch(self, child: _Child) -> None:
        try:
            child.launch()
        except OSError as error:
            self._count(child, f"cannot be started ({error.strerror or error})")
            return
        if child.group is not None:
            self._tell_watchdog("+", child.group)

    def _count(self, child: _Child, ending: str) -> None:
        if child.note_failure():
            self._give_up(child, f"{ending}, {self._limits.failures} times within {self._limits.window:g} s")
        else:
            wait = max(0.0, child.next_start - time.monotonic())
            self._say(f"{child.service.name} {ending}. Starting it again in {wait:.0f} s.")

    def _give_up(self, child: _Child, ending: str) -> None:
        if not child.service.essential:
            child.next_start = math.inf
            self._say(
                f"{child.service.name} {ending}. It is left off until the next start; the rest goes on without it."
            )
            return
        self._say(f"{child.service.name} {ending}. Giving up; the lines above should say why.")
        self._gave_up = True
        self._stop()

    def _stop(self) -> None:
        self._stopping = True
        for child in self._children:
            child.terminate()

    def _sleep(self, pipe: int) -> None:
        moments = [child.next_start for child in self._children if child.group is None and not self._stopping]
        moments += [child.kill_at for child in self._children if child.kill_at is not None]
        wait = min([moment - time.monotonic() for moment in moments] + [LONGEST_WAIT])
        # The end of a group's last member gives no signal, so a draining group is looked at often.
        if any(child.kill_at is not None for child in self._children):
            wait = min(wait, GROUP_POLL)
        if select.select([pipe], [], [], max(0.0, wait))[0]:
            os.read(pipe, 4096)

    def _keep_watchdog(self) -> None:
        if self._watchdog is not None and self._watchdog.poll() is None:
            return
        self._watchdog = subprocess.Popen(
            [sys.executable, "-I", "-S", watchdog.__file__, str(self._limits.grace)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
        )
        for child in self._children:
            if child.group is not None:
                self._tell_watchdog("+", child.group)

    def _tell_watchdog(self, sign: str, group: int) -> None:
        if self._watchdog is None or self._watchdog.stdin is None:
            return
        # A broken pipe means that the watchdog died; the next round starts another and tells it everything.
        with suppress(BrokenPipeError):
            self._watchdog.stdin.write(f"{sign}{group}\n".encode())
            self._watchdog.stdin.flush()

    def _end_everything(self) -> None:
        # After an orderly stop nothing is left. After an error of ours the watchdog ends what is.
        if self._watchdog is not None and self._watchdog.stdin is not None:
            with suppress(BrokenPipeError):
                self._watchdog.stdin.close()
            self._watchdog.wait()

    @contextmanager
    def _signal_pipe(self) -> Iterator[int]:
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        os.set_blocking(reading, False)
        before = {number: signal.signal(number, self._on_signal) for number in STOP_SIGNALS}
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, _ignore)
        wakeup = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        try:
            yield reading
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(reading)
            os.close(writing)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1


def _anything_left(group: int) -> bool:
    # The kernel counts ended processes that nobody has reaped yet, which can take for ever under some process 1.
    if not watchdog.signal_group(group, 0):
        return False
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                return True
    return False


def _ignore(number: int, frame: FrameType | None) -> None:
    """Let SIGCHLD wake the loop; a signal without a handler would not."""


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def _say_on_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
