"""What several processes count is added up, survives their end, and does not pile up in files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

from config import shared_counts
from telemetry.metrics import shared
from tests.environment import PROJECT

RUNS = 'loci_job_runs_total{"outcome": "ok", "task": "seal"}'
PREAMBLE = """
import json, os, signal, sys
from pathlib import Path
from telemetry.metrics import shared
from telemetry.metrics.counting import change, increase, observe, set_to
from telemetry.metrics.definitions import (
    EVENTS_WAITING, JOB_LAST_SUCCESS, JOB_RUNS, RECALL_HITS, EVENTS_RECORDED
)

place = shared.directory()

def everything():
    return {
        sample.name + json.dumps(sample.labels, sort_keys=True): sample.value
        for family in shared.counted_by_all(place) for sample in family.samples
    }

def in_a_child(work, *, end=lambda: os._exit(0)):
    child = os.fork()
    if child == 0:
        try:
            work()
            end()
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1]

def files():
    return sorted(path.name for path in place.glob("*.db"))
"""


def ran(script: str, place: Path) -> Any:
    """Run a script in a process of its own that counts with others; give what it prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", f"{PREAMBLE}\nRUNS = {RUNS!r}\n{textwrap.dedent(script)}"],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT), shared.VARIABLE: str(place)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_forked_children_count_is_added_up(tmp_path: Path) -> None:
    found = ran(
        """
        increase(JOB_RUNS, "seal", "ok")
        observe(RECALL_HITS, 3, "default")
        def work():
            increase(JOB_RUNS, "seal", "ok", by=10)
            observe(RECALL_HITS, 0, "default")
        codes = [in_a_child(work) for _ in range(3)]
        print(json.dumps({"codes": codes, "all": everything()}))
        """,
        tmp_path,
    )
    assert found["codes"] == [0, 0, 0]
    assert found["all"][RUNS] == 31
    assert found["all"]['loci_recall_hits_count{"profile": "default"}'] == 4
    assert found["all"]['loci_recall_hits_bucket{"le": "0.0", "profile": "default"}'] == 3
    assert found["all"]['loci_recall_hits_bucket{"le": "3.0", "profile": "default"}'] == 4
    assert found["all"]['loci_recall_hits_sum{"profile": "default"}'] == 3


def test_files_of_ended_processes_do_not_pile_up_and_nothing_is_lost(tmp_path: Path) -> None:
    found = ran(
        """
        def work():
            increase(JOB_RUNS, "seal", "ok")
            observe(RECALL_HITS, 1, "default")
            set_to(JOB_LAST_SUCCESS, 5.0, "seal")
        seen = []
        for number in range(12):
            in_a_child(work)
            before = len(files())
            shared.put_together()
            seen.append((before, len(files()), everything()))
        print(json.dumps({"seen": seen, "files": files()}))
        """,
        tmp_path,
    )
    assert all(after <= 3 for _, after, _ in found["seen"])
    assert found["files"] == ["counter_ended.db", "gauge_max_ended.db", "histogram_ended.db"]
    for number, (_, _, values) in enumerate(found["seen"], start=1):
        assert values[RUNS] == number
        assert values['loci_recall_hits_bucket{"le": "1.0", "profile": "default"}'] == number
        # The highest of all, and not their sum.
        assert values['loci_job_last_success_timestamp_seconds{"task": "seal"}'] == 5.0


def test_what_waits_in_a_process_that_is_gone_waits_no_more(tmp_path: Path) -> None:
    found = ran(
        """
        set_to(EVENTS_WAITING, 2)
        in_a_child(lambda: set_to(EVENTS_WAITING, 40), end=lambda: os.kill(os.getpid(), signal.SIGKILL))
        print(json.dumps(everything()))
        """,
        tmp_path,
    )
    assert found["loci_turn_events_waiting{}"] == 2


def test_what_a_killed_process_counted_stays(tmp_path: Path) -> None:
    found = ran(
        """
        in_a_child(lambda: increase(EVENTS_RECORDED, by=7), end=lambda: os.kill(os.getpid(), signal.SIGKILL))
        shared.put_together()
        shared.put_together()
        print(json.dumps(everything()))
        """,
        tmp_path,
    )
    assert found["loci_turn_events_recorded_total{}"] == 7


def test_counting_goes_on_while_files_are_put_together(tmp_path: Path) -> None:
    found = ran(
        """
        def counting_child():
            for _ in range(2000):
                increase(JOB_RUNS, "seal", "ok")
        children = []
        for _ in range(6):
            child = os.fork()
            if child == 0:
                try:
                    counting_child()
                    os._exit(0)
                finally:
                    os._exit(1)
            children.append(child)
        seen = []
        while children:
            ended, _ = os.waitpid(-1, os.WNOHANG)
            if ended:
                children.remove(ended)
            seen.append(everything().get(RUNS, 0))
        seen.append(everything()[RUNS])
        print(json.dumps(seen))
        """,
        tmp_path,
    )
    assert found[-1] == 12_000
    # A counter that goes back looks like a restart to whoever reads it.
    assert found == sorted(found)


def test_a_process_that_has_just_begun_its_file_is_passed_over(tmp_path: Path) -> None:
    found = ran(
        """
        increase(JOB_RUNS, "seal", "ok")
        (place / f"counter_{os.getpid()}-1.db").touch()
        print(json.dumps(everything()[RUNS]))
        """,
        tmp_path,
    )
    assert found == 1


def test_a_full_disk_costs_counts_and_no_process(tmp_path: Path) -> None:
    found = ran(
        """
        import resource
        increase(JOB_RUNS, "seal", "ok")
        # What the disk does not give beyond this is refused as if it were full.
        room = max(path.stat().st_size for path in place.glob("*.db"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        for number in range(2000):
            increase(JOB_RUNS, f"job{number}", "ok")
        increase(JOB_RUNS, "seal", "ok")
        in_a_child(lambda: increase(JOB_RUNS, "seal", "ok", by=5))
        # Nor can files be put together any more, or the lock be written.
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, room))
        values = everything()
        shared.put_together()
        print(json.dumps({"seal": values[RUNS], "kept": len(values)}))
        """,
        tmp_path,
    )
    assert found["seal"] == 7
    assert 100 < found["kept"] < 1500


def test_files_have_no_holes(tmp_path: Path) -> None:
    blocks = ran(
        """
        for number in range(1000):
            increase(JOB_RUNS, f"job{number}", "ok")
        stats = [path.stat() for path in place.glob("*.db")]
        print(json.dumps([[one.st_size, one.st_blocks * 512] for one in stats]))
        """,
        tmp_path,
    )
    assert blocks
    assert all(taken >= size for size, taken in blocks)


def test_a_damaged_file_of_an_ended_process_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "counter_1-1.db").write_bytes(b"\xff\xff\xff\x7f" * 40)
    found = ran('increase(JOB_RUNS, "seal", "ok"); print(json.dumps(everything()))', tmp_path)
    assert found[RUNS] == 1
    assert not (tmp_path / "counter_1-1.db").exists()


def test_a_number_of_a_process_that_came_again_is_another_process() -> None:
    name = shared.process_name()
    assert shared.is_alive(name)
    pid = name.partition("-")[0]
    assert not shared.is_alive(f"{pid}-1")
    assert not shared.is_alive("no process")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert not shared.is_alive(f"{ended.pid}-{shared._UNKNOWN}")
    assert shared.is_alive(f"{os.getpid()}-{shared._UNKNOWN}")


BESIDE = """
shared._numbering = lambda: "of-another"
shared._name_of.cache_clear()
increase(JOB_RUNS, "seal", "ok", by=40)
set_to(EVENTS_WAITING, 3)
print("counted", flush=True)
sys.stdin.read()
"""


class TestOtherNumberings:
    """A process in another container counts into the same directory and cannot be seen from here."""

    def beside(self, place: Path) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", PREAMBLE + BESIDE],
            cwd=PROJECT,
            env={**os.environ, "PYTHONPATH": str(PROJECT), shared.VARIABLE: str(place)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "counted\n"
        return process

    def seen(self, place: Path) -> Any:
        return ran(
            """
            increase(JOB_RUNS, "seal", "ok", by=2)
            set_to(EVENTS_WAITING, 1)
            first = everything()
            shared.put_together()
            print(json.dumps([first, everything(), files()]))
            """,
            place,
        )

    def test_it_is_added_and_left_alone_while_it_lives(self, tmp_path: Path) -> None:
        process = self.beside(tmp_path)
        mine = sorted(tmp_path.glob("*of-another.db"))
        assert mine
        try:
            for before, after, files in (self.seen(tmp_path), self.seen(tmp_path)):
                assert before["loci_turn_events_waiting{}"] == after["loci_turn_events_waiting{}"] == 4
                assert {path.name for path in mine} <= set(files)
            assert after[RUNS] == 44
        finally:
            process.communicate("")

    def test_what_it_has_counted_stays_when_it_was_killed(self, tmp_path: Path) -> None:
        process = self.beside(tmp_path)
        process.kill()
        process.communicate()
        before, after, files = self.seen(tmp_path)
        assert before[RUNS] == after[RUNS] == 42
        assert after["loci_turn_events_waiting{}"] == 1
        assert not [name for name in files if "of-another" in name]
        assert not list(tmp_path.glob("*of-another.alive"))

    def test_a_child_that_goes_on_does_not_keep_its_parent_alive(self, tmp_path: Path) -> None:
        found = ran(
            """
            import time
            read, write = os.pipe()
            parent = os.fork()
            if parent == 0:
                shared._numbering = lambda: "another"
                shared._name_of.cache_clear()
                increase(JOB_RUNS, "seal", "ok", by=5)
                child = os.fork()
                if child == 0:
                    os.read(read, 1)
                os._exit(0)
            os.waitpid(parent, 0)
            names = {path.stem.rpartition("_")[2] for path in place.glob("*another.db")}
            print(json.dumps([shared.is_alive(name) for name in names]))
            os.write(write, b"x")
            """,
            tmp_path,
        )
        assert found == [False]


class TestDirectory:
    @pytest.fixture(autouse=True)
    def own(self, tmp_path: Path) -> Any:
        with override_settings(METRICS_DIRECTORY=tmp_path / "metrics"):
            yield

    def test_it_is_made_and_emptied_at_each_start(self) -> None:
        assert shared_counts.counting_environment() == {}
        shared_counts.empty_counts()
        place = shared_counts.counts_directory()
        assert shared_counts.counting_environment() == {shared.VARIABLE: str(place)}
        assert place.stat().st_mode & 0o077 == 0
        (place / "counter_1-1.db").write_bytes(b"")
        (place / "counter_1-1.alive").write_bytes(b"")
        (place / "notes.txt").write_text("the operator's own")
        shared_counts.make_counts_directory()
        assert (place / "counter_1-1.db").exists()
        shared_counts.empty_counts()
        assert sorted(path.name for path in place.iterdir()) == ["notes.txt"]

    def test_each_installation_has_its_own(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        first = shared_counts.counts_directory()
        monkeypatch.setenv("LOCI_DATA_DIR", str(tmp_path / "another"))
        assert shared_counts.counts_directory() != first

    def test_one_that_cannot_be_made_is_an_error_of_the_system(self, tmp_path: Path) -> None:
        (tmp_path / "metrics").write_text("a file in its place")
        with pytest.raises(OSError):
            shared_counts.empty_counts()
        assert shared_counts.counting_environment() == {}


def test_both_variables_are_the_same() -> None:
    assert shared.VARIABLE == shared_counts.VARIABLE
