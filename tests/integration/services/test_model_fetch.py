"""A model is fetched by workers, in turns, and every process sees how far it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from django.db import connections
from django_q.models import OrmQ, Schedule
from django_q.scheduler import scheduler

from memory import tasks
from memory.models import DueWork, Owner, PendingVector, owner_scope
from memory.providers.composition import embedder, forget_providers
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.ollama_embedder import OllamaEmbedder
from memory.services import model_fetch
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.health import embedder_finding
from memory.services.jobs import FETCH_MODEL, ensure_schedules
from memory.services.model_fetch import Fetch, ask_for_fetch, cancel_fetch, go_on, present_fetch
from memory.services.remember import remember
from tests.environment import PROJECT
from tests.integration.keys.filled import database_urls
from tests.ollama_like import OllamaLike

MODEL = "nomic-embed-text"
PATIENCE_SECONDS = 150.0
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ollama(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaLike]:
    monkeypatch.setattr(model_fetch, "SECONDS_BETWEEN_NOTES", 0.0)
    with OllamaLike() as server:
        settings.EMBEDDING_PROVIDER = "ollama"
        settings.EMBEDDING_MODEL = ""
        settings.EMBEDDING_BASE_URL = server.address
        forget_providers()
        yield server
        used = embedder().inner
        if isinstance(used, OllamaEmbedder):
            used.close()
    forget_providers()


@contextmanager
def another_worker() -> Iterator[Future[int]]:
    """Carry the order out in another thread, with a connection of its own, while the block runs."""

    def work() -> int:
        try:
            return go_on()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(work)


@pytest.fixture
def held(ollama: OllamaLike) -> threading.Event:
    """Have a fetch wait half way until this is set."""
    ollama.shop.gate = threading.Event()
    return ollama.shop.gate


def order() -> Fetch:
    found = present_fetch()
    assert found is not None
    return found


def overwrite(**values: Any) -> None:
    """Have the order say something else."""
    Schedule.objects.filter(name=model_fetch.NAME).update(kwargs=model_fetch._written(replace(order(), **values)))


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(1_000):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not come to that")


def test_an_order_is_carried_out_and_ends(ollama: OllamaLike) -> None:
    assert present_fetch() is None
    assert go_on() == 0
    assert ask_for_fetch(model=MODEL).state == "waiting"
    assert OrmQ.objects.count() == 1
    assert tasks.fetch_model() == 1
    assert ollama.has(MODEL)
    assert (order().state, order().progress.percent) == ("done", 100)
    assert go_on() == 0
    assert ollama.pulls == 1


def test_others_see_how_far_it_is(ollama: OllamaLike, held: threading.Event) -> None:
    ask_for_fetch(model=MODEL)
    with another_worker() as working:
        assert ollama.half_way.wait(10)
        wait_for(lambda: order().completed == 300_000)
        assert (order().state, order().total) == ("running", 600_000)
        assert order().progress.percent == 50
        with pytest.raises(Exception, match="model"):
            embedder().embed(["x"])
        finding = embedder_finding()
        assert (finding.status, finding.remedy) == ("degraded", "Nothing: a worker has it fetched, 50 % so far.")
        held.set()
        assert working.result(30) == 1


def test_asking_again_changes_nothing_and_two_workers_do_it_once(ollama: OllamaLike, held: threading.Event) -> None:
    ask_for_fetch(model=MODEL)
    with another_worker() as working:
        assert ollama.half_way.wait(10)
        assert ask_for_fetch(model=f"{MODEL}:latest").state == "running"
        assert go_on() == 0
        held.set()
        assert working.result(30) == 1
    assert ollama.pulls == 1
    assert Schedule.objects.filter(name=model_fetch.NAME).count() == 1


def test_giving_it_up_lets_the_server_leave_off(ollama: OllamaLike, held: threading.Event) -> None:
    ask_for_fetch(model=MODEL)
    with another_worker() as working:
        assert ollama.half_way.wait(10)
        assert cancel_fetch()
        assert working.result(30) == 0
        assert ollama.left_off.wait(10)
    assert not cancel_fetch()
    assert present_fetch() is None
    assert not ollama.has(MODEL)


def test_another_model_takes_the_place_of_the_first(ollama: OllamaLike, held: threading.Event) -> None:
    ask_for_fetch(model=MODEL)
    with another_worker() as working:
        assert ollama.half_way.wait(10)
        ask_for_fetch(model="tiny")
        assert working.result(30) == 0
    held.set()
    assert order().model == "tiny"
    assert go_on() == 1
    assert ollama.models == ["tiny:latest"]


def test_a_turn_ends_so_that_other_work_gets_its_own(ollama: OllamaLike, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_fetch, "TURN_SECONDS", 0.0)
    ask_for_fetch(model=MODEL)
    turns = 0
    while go_on() == 0:
        turns += 1
        assert order().state == "waiting"
        assert OrmQ.objects.count() == 1 + turns
        assert turns < 20
    assert turns
    assert ollama.has(MODEL)
    assert order().state == "done"


def test_a_killed_worker_loses_nothing(ollama: OllamaLike) -> None:
    """The queue's own scheduler calls for it again, and the server goes on from where it was."""
    ask_for_fetch(model=MODEL)
    ollama.shop.error = "interrupted"
    go_on()
    ollama.shop.error = ""
    OrmQ.objects.all().delete()
    overwrite(state="running", turn="gone", completed=300_000, total=600_000, noted_at=now() - timedelta(seconds=30))
    assert go_on() == 0
    overwrite(noted_at=now() - timedelta(minutes=2))
    Schedule.objects.update(next_run=now() - timedelta(seconds=1))
    scheduler()
    (called,) = OrmQ.objects.all()
    assert called.task["func"] == FETCH_MODEL
    assert tasks.fetch_model(**called.task["kwargs"]) == 1
    assert ollama.has(MODEL)


def test_a_silence_while_checksums_are_compared_is_no_death(ollama: OllamaLike) -> None:
    ask_for_fetch(model=MODEL)
    long_ago = now() - timedelta(minutes=5)
    overwrite(state="running", turn="busy", completed=600_000, total=600_000, noted_at=long_ago)
    assert go_on() == 0
    overwrite(completed=0)
    assert go_on() == 1


def test_what_may_pass_is_tried_three_times(ollama: OllamaLike) -> None:
    ollama.shop.error = "max retries exceeded"
    ask_for_fetch(model=MODEL)
    for tries in (1, 2):
        assert go_on() == 0
        assert (order().state, order().tries) == ("waiting", tries)
        assert "max retries exceeded" in order().error
    go_on()
    assert order().state == "failed"
    assert Schedule.objects.get(name=model_fetch.NAME).repeats == 0
    assert go_on() == 0
    assert ollama.pulls == 3
    ollama.shop.error = ""
    assert ask_for_fetch(model=MODEL).state == "waiting"
    assert go_on() == 1


def test_what_cannot_pass_ends_at_once(ollama: OllamaLike) -> None:
    ask_for_fetch(model="no-such-model")
    assert go_on() == 0
    assert order().state == "failed"
    assert "file does not exist" in order().error


def test_a_server_that_is_away_is_waited_for(settings: Any, ollama: OllamaLike) -> None:
    settings.EMBEDDING_BASE_URL = "http://127.0.0.1:9"
    ask_for_fetch(model=MODEL)
    assert go_on() == 0
    assert (order().state, order().error) == ("waiting", "Ollama cannot be reached.")


def test_a_model_that_came_otherwise_is_found_there(ollama: OllamaLike) -> None:
    ask_for_fetch(model=MODEL)
    ollama.models.append(f"{MODEL}:latest")
    assert go_on() == 1
    assert ollama.pulls == 0


def test_what_waited_for_the_model_is_embedded_at_once(ollama: OllamaLike, make_owner: Callable[..., Actor]) -> None:
    alice = make_owner("alice")
    remember(actor=alice, draft=Draft(text="We met in Lisbon."))
    with owner_scope(alice.owner_id):
        assert PendingVector.objects.update(next_at=now() + timedelta(hours=1)) == 1
        DueWork.objects.filter(job=DueWork.VECTORS).update(due_at=now() + timedelta(hours=1))
    ask_for_fetch(model=MODEL)
    assert go_on() == 1
    assert tasks.run_due_work()[DueWork.VECTORS] == 1


def test_one_who_is_being_erased_keeps_nobody_from_vectors(
    ollama: OllamaLike, make_owner: Callable[..., Actor]
) -> None:
    for actor in (make_owner("alice"), make_owner("mallory"), make_owner("carol")):
        remember(actor=actor, draft=Draft(text="We met in Lisbon."))
        with owner_scope(actor.owner_id):
            PendingVector.objects.update(next_at=now() + timedelta(hours=1))
    DueWork.objects.filter(job=DueWork.VECTORS).update(due_at=now() + timedelta(hours=1))
    # Whoever comes first; the order of owners is not ours to say.
    first = DueWork.objects.filter(job=DueWork.VECTORS).values_list("owner_id", flat=True).distinct()[0]
    Owner.objects.filter(pk=first).update(purging_at=now())
    ask_for_fetch(model=MODEL)
    assert go_on() == 1
    assert DueWork.objects.filter(job=DueWork.VECTORS, due_at__lte=now()).exclude(owner_id=first).count() == 2


def test_the_schedules_of_the_product_leave_the_order_alone(ollama: OllamaLike) -> None:
    ask_for_fetch(model=MODEL)
    ensure_schedules()
    assert order().model == MODEL


def test_a_row_that_is_none_of_ours_is_no_order(ollama: OllamaLike) -> None:
    for text in ("", "x=1", "{'order': 3}", "{'order': {'model': 'a', 'noted_at': 'b'}}", "__import__('os')"):
        Schedule.objects.all().delete()
        Schedule.objects.create(name=model_fetch.NAME, func=FETCH_MODEL, kwargs=text, repeats=0)
        assert present_fetch() is None
        assert go_on() == 0
    assert ask_for_fetch(model=MODEL).state == "waiting"
    assert Schedule.objects.count() == 1


def test_what_is_no_name_is_not_ordered(ollama: OllamaLike) -> None:
    with pytest.raises(ProviderMisconfigured):
        ask_for_fetch(model="a b")
    assert present_fetch() is None


@pytest.mark.slow
def test_a_real_worker_carries_it_out(ollama: OllamaLike, make_owner: Callable[..., Actor], tmp_path: Path) -> None:
    """Called by nobody but the queue's schedule, as after a restart."""
    make_owner("alice")
    ask_for_fetch(model=MODEL)
    OrmQ.objects.all().delete()
    Schedule.objects.filter(name=model_fetch.NAME).update(next_run=now() - timedelta(seconds=1))
    environment = {
        **os.environ,
        **database_urls(),
        "LOCI_NO_BOOTSTRAP": "1",
        "EMBEDDING_PROVIDER": "ollama",
        "EMBEDDING_BASE_URL": ollama.address,
    }
    said = tmp_path / "said"
    with said.open("wb") as output:
        worker = subprocess.Popen(
            [sys.executable, "manage.py", "worker"],
            cwd=PROJECT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            process_group=0,
        )
    try:
        deadline = monotonic() + PATIENCE_SECONDS
        while order().state != "done":
            assert monotonic() < deadline, said.read_text()
            assert worker.poll() is None, said.read_text()
            threading.Event().wait(0.2)
        assert ollama.has(MODEL)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=PATIENCE_SECONDS) == 0
    finally:
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
