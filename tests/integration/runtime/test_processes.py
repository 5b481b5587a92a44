"""The supervisor with real children."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from runtime.processes import Service, Supervisor
from tests.integration.runtime.waiting import PATIENCE, wait_for

# Children write their process number and wait. `stubborn` ignores SIGTERM; `family` starts one of its own.
SUPERVISE = """
import os
import sys
from pathlib import Path
from runtime.processes import Limits, Service, Supervisor
place = Path(sys.argv[1])
kinds = {
    "plain": 'echo $$ >> plain; exec sleep 600',
    "family": 'echo $$ >> family; sleep 600 & echo $! >> family.child; wait; sleep 600',
    "stubborn": 'trap "" TERM; echo $$ >> stubborn; while :; do sleep 1; done',
    "failing": 'echo $$ >> failing; exit 7',
    "dispensable": 'echo $$ >> dispensable; exit 7',
    "bare": 'echo $$ >> bare; exec sleep 600',
    "missing": None,
}
services = [
    Service(
        name,
        ["sh", "-c", kinds[name]] if kinds[name] else ["/nonexistent/program"],
        directory=place,
        essential=name != "dispensable",
        environment={"PATH": os.environ["PATH"], "OF_ITS_OWN": "yes"},
        bare=name == "bare",
    )
    for name in sys.argv[3:]
]
limits = Limits(first_delay=0.05, longest_delay=0.2, failures=3, window=30, grace=float(sys.argv[2]))
sys.exit(Supervisor(services, limits=limits).run())
"""


class Run:
    """A supervisor in a process of its own."""

    def __init__(self, place: Path, *kinds: str, grace: float = 30) -> None:
        self.place = place
        # A file and not a pipe: children that outlive the supervisor would hold a pipe open.
        with (place / "said").open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-c", SUPERVISE, str(place), str(grace), *kinds], stderr=said
            )

    def numbers(self, name: str) -> list[int]:
        """Give the process numbers that children of a name have written so far."""
        path = self.place / name
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def newest(self, name: str, count: int = 1) -> int:
        """Wait until a child of a name has been started so many times; give the last one's number."""
        wait_for(lambda: len(self.numbers(name)) >= count, f"start {count} of {name}")
        return self.numbers(name)[-1]

    def end(self) -> tuple[int, str]:
        """Wait for the supervisor's end; give its exit code and what it said."""
        return self.process.wait(PATIENCE), (self.place / "said").read_text()

    def end_by_force(self) -> None:
        """End the supervisor and every child that has written its number."""
        self.process.kill()
        self.process.wait()
        for path in self.place.iterdir():
            for pid in self.numbers(path.name) if path.name != "said" else []:
                if alive(pid):
                    psutil.Process(pid).kill()


@pytest.fixture
def runs() -> Iterator[list[Run]]:
    """Collect supervisors, so that a failed test leaves none behind."""
    started: list[Run] = []
    yield started
    for run in started:
        run.end_by_force()


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_signal_stops_all_children_and_what_they_started(tmp_path: Path, runs: list[Run]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        place = tmp_path / number.name
        place.mkdir()
        run = Run(place, "plain", "family")
        runs.append(run)
        pids = [run.newest("plain"), run.newest("family"), run.newest("family.child")]
        assert all(alive(pid) for pid in pids)
        run.process.send_signal(number)
        assert run.end() == (0, "")
        assert not any(alive(pid) for pid in pids)


def test_a_dead_child_is_started_again_and_the_others_are_left_alone(tmp_path: Path, runs: list[Run]) -> None:
    run = Run(tmp_path, "plain", "family")
    runs.append(run)
    first, other = run.newest("plain"), run.newest("family")
    psutil.Process(first).kill()
    second = run.newest("plain", 2)
    assert second != first
    assert alive(second)
    assert alive(other)
    run.process.terminate()
    code, said = run.end()
    assert code == 0
    assert "plain was ended by SIGKILL. Starting it again" in said
    assert len(run.numbers("family")) == 1


def test_what_a_dead_child_had_started_is_ended_before_the_next_one(tmp_path: Path, runs: list[Run]) -> None:
    run = Run(tmp_path, "family")
    runs.append(run)
    leader, grandchild = run.newest("family"), run.newest("family.child")
    psutil.Process(leader).kill()
    run.newest("family", 2)
    assert not alive(grandchild)


def test_a_child_that_keeps_failing_is_given_up_and_the_others_are_stopped(tmp_path: Path, runs: list[Run]) -> None:
    run = Run(tmp_path, "plain", "failing")
    runs.append(run)
    code, said = run.end()
    assert code == 1
    assert "failing ended with exit code 7, 3 times within 30 s. Giving up" in said
    assert len(run.numbers("failing")) == 3
    assert not alive(run.newest("plain"))


def test_one_that_is_not_essential_is_given_up_and_the_others_go_on(tmp_path: Path, runs: list[Run]) -> None:
    run = Run(tmp_path, "plain", "dispensable")
    runs.append(run)
    wait_for(lambda: "left off" in (tmp_path / "said").read_text(), "give it up")
    assert len(run.numbers("dispensable")) == 3
    assert alive(run.newest("plain"))
    run.process.terminate()
    code, said = run.end()
    assert code == 0
    assert "dispensable ended with exit code 7, 3 times within 30 s. It is left off" in said


def test_a_command_that_does_not_exist_is_given_up(tmp_path: Path, runs: list[Run]) -> None:
    run = Run(tmp_path, "missing")
    runs.append(run)
    code, said = run.end()
    assert code == 1
    assert "missing cannot be started (No such file or directory)" in said


def test_a_child_that_does_not_listen_is_ended_by_force(tmp_path: Path, runs: list[Run]) -> None:
    run = Run(tmp_path, "stubborn", grace=0.3)
    runs.append(run)
    pid = run.newest("stubborn")
    run.process.terminate()
    assert run.end() == (0, "")
    assert not alive(pid)


def test_a_second_signal_does_not_wait_for_the_grace(tmp_path: Path, runs: list[Run]) -> None:
    run = Run(tmp_path, "plain", "stubborn", grace=3600)
    runs.append(run)
    plain, pid = run.newest("plain"), run.newest("stubborn")
    run.process.terminate()
    wait_for(lambda: not alive(plain), "the end of the obedient child")
    assert alive(pid)
    run.process.send_signal(signal.SIGINT)
    assert run.end() == (0, "")
    assert not alive(pid)


def test_children_do_not_outlive_a_killed_supervisor(tmp_path: Path, runs: list[Run]) -> None:
    run = Run(tmp_path, "plain", "family", "stubborn", grace=0.5)
    runs.append(run)
    pids = [run.newest(name) for name in ("plain", "family", "family.child", "stubborn")]
    run.process.kill()
    run.end()
    wait_for(lambda: not any(alive(pid) for pid in pids), "the children's end")


def test_children_do_not_outlive_a_killed_supervisor_whose_watchdog_was_killed_before(
    tmp_path: Path, runs: list[Run]
) -> None:
    run = Run(tmp_path, "plain")
    runs.append(run)
    pid = run.newest("plain")

    def watchdogs() -> list[psutil.Process]:
        children = psutil.Process(run.process.pid).children()
        return [child for child in children if any(part.endswith("watchdog.py") for part in child.cmdline())]

    (first,) = watchdogs()
    first.kill()
    wait_for(lambda: [other.pid for other in watchdogs()] not in ([], [first.pid]), "another watchdog")
    assert alive(pid)
    run.process.kill()
    run.end()
    wait_for(lambda: not alive(pid), "the child's end")


def test_a_bare_service_sees_nothing_of_the_supervisors_environment(
    tmp_path: Path, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_LOCI", "secret")
    run = Run(tmp_path, "plain", "bare")
    runs.append(run)
    seen = {name: psutil.Process(run.newest(name)).environ() for name in ("plain", "bare")}
    assert {name: found["OF_ITS_OWN"] for name, found in seen.items()} == {"plain": "yes", "bare": "yes"}
    assert seen["plain"]["OF_LOCI"] == "secret"
    assert "OF_LOCI" not in seen["bare"]
    run.process.terminate()
    assert run.end() == (0, "")


def test_services_need_names_of_their_own() -> None:
    with pytest.raises(ValueError, match="name"):
        Supervisor([Service("web", ["true"]), Service("web", ["true"])])
    with pytest.raises(ValueError, match="at least one"):
        Supervisor([])
