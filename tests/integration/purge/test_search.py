"""What a verification finds: rows, ids, stored values and vectors, wherever they were left."""

from __future__ import annotations

import base64
import pickle
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.contrib.sessions.models import Session as BrowserSession
from django.db import connection
from django_q.models import OrmQ, Task
from django_q.signing import SignedPackage

from memory.crypto.sealing import Sealed
from memory.ids import new_id
from memory.models import Memory, MemoryVector, Owner, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.purge.queue import QueueTarget
from memory.services.purge.registry import Subject, Traces
from memory.services.purge.samples import Search, search_others, take_samples, traces_of
from memory.services.purge.verification import Look, look_through
from memory.services.remember import remember

pytestmark = pytest.mark.django_db

Make = Callable[..., Actor]


def quiet() -> None:
    """Say nothing."""


def subject_of(actor: Actor) -> Subject:
    owner = Owner.objects.get(pk=actor.owner_id)
    return Subject(owner.pk, owner.pseudonym, new_id(), owner.user_id)


def looked(actor: Actor, traces: Traces | None = None) -> dict[str, int]:
    look = Look()
    look_through(subject_of(actor), traces or Traces(), look=look, tell=quiet)
    return look.left


def searched(actor: Actor, traces: Traces) -> Search:
    search = Search()
    search_others(actor.owner_id, traces, search=search, seconds=60, tell=quiet)
    return search


def test_rows_of_the_owner_are_found_by_table_and_by_target(alice: Actor, mallory: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Here I am."))
    found = looked(alice)

    assert (found["memory_memory"], found["memories"]) == (1, 1)
    assert (found["memory_lexposting"], found["postings"]) == (3, 3)
    assert (found["keys"], found["login"]) == (1, 1)
    assert "memory_memory" not in looked(mallory)


@pytest.mark.parametrize("form", ["text", "digits"])
def test_ids_are_found_in_tables_outside_the_walls(alice: Actor, form: str) -> None:
    before = looked(alice).get("django_session (content)", 0)
    written = str(alice.owner_id) if form == "text" else alice.owner_id.hex
    BrowserSession.objects.create(session_key="k", session_data=f"x{written}y", expire_date=now())

    assert looked(alice)["django_session (content)"] == before + 1


def test_stored_values_are_found_in_tables_outside_the_walls(alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Copied where it does not belong."))
    with owner_scope(alice.owner_id):
        traces = traces_of(take_samples(alice.owner_id))
        stolen = Memory.objects.get().__dict__["text"]
    BrowserSession.objects.create(session_key="k", session_data=f"see {stolen}", expire_date=now())

    assert looked(alice, traces)["django_session (content)"] == 1


def test_samples_are_found_in_the_rows_of_others(alice: Actor, mallory: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Copied into the rows of another."))
    kept = remember(actor=mallory, draft=Draft(text="Mine.")).memory_id
    with owner_scope(alice.owner_id):
        traces = traces_of(take_samples(alice.owner_id))
        stolen = Memory.objects.get().__dict__["text"]
    assert searched(alice, traces).found == 0

    with owner_scope(mallory.owner_id), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE memory_memory SET text = %s WHERE owner_id = %s AND id = %s", [stolen, mallory.owner_id, kept]
        )

    assert searched(alice, traces).found == 1


def test_equal_vectors_of_others_are_their_own(alice: Actor, mallory: Actor) -> None:
    for owner in (alice, mallory):
        remember(actor=owner, draft=Draft(text="Both of us say this."))
    with owner_scope(alice.owner_id):
        traces = traces_of(take_samples(alice.owner_id))
        (vector,) = MemoryVector.objects.values_list("vec", flat=True)
    assert len(traces.vectors) == 1
    assert searched(alice, traces).found == 0

    with owner_scope(mallory.owner_id):
        ((mine, theirs),) = MemoryVector.objects.values_list("memory_id", "vec")
    assert str(theirs) == str(vector)
    moved = Traces(vectors=[(str(mine), traces.vectors[0][1])])
    assert searched(alice, moved).found == 1


def test_a_search_is_bounded_and_goes_on(make_owner: Make) -> None:
    owners = [make_owner(f"owner{number}") for number in range(4)]
    for owner in owners:
        remember(actor=owner, draft=Draft(text="Something."))
    with owner_scope(owners[0].owner_id):
        traces = traces_of(take_samples(owners[0].owner_id))
    bounded = Search()
    search_others(owners[0].owner_id, traces, search=bounded, seconds=1e-9, tell=quiet)
    assert (bounded.owners, bounded.complete) == (1, False)

    interrupted = Search()

    def interrupt() -> None:
        if interrupted.owners == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        search_others(owners[0].owner_id, traces, search=interrupted, seconds=60, tell=interrupt)
    search_others(owners[0].owner_id, traces, search=interrupted, seconds=60, tell=quiet)
    assert (interrupted.owners, interrupted.complete) == (3, True)


def test_an_interrupted_look_goes_on_and_forgets_nothing(alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Here I am."))
    whole = looked(alice)
    look, steps = Look(), 0

    def interrupt() -> None:
        nonlocal steps
        steps += 1
        raise InterruptedError

    while True:
        try:
            look_through(subject_of(alice), Traces(), look=look, tell=interrupt)
            break
        except InterruptedError:
            continue
    # The number of this purge is another one each time, and stands nowhere.
    assert look.left == whole
    assert steps == len(look.done) > 100


def test_samples_hold_beginnings_only(alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text="long " * 10_000, tags=["a"]))
    with owner_scope(alice.owner_id):
        samples = take_samples(alice.owner_id)
        text = Memory.objects.get().__dict__["text"]
    assert isinstance(text, Sealed)
    (kept,) = samples["sealed"]["memory_memory"]["text"]
    assert text.startswith(kept)
    assert len(kept) == 64
    assert set(samples["sealed"]["memory_memory"]) == {"text", "tags"}


def packed(value: Any) -> list[str]:
    """Write a value in the ways in which the queue's tables hold it."""
    plain = base64.b64encode(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)).decode()
    pressed = base64.b64encode(zlib.compress(pickle.dumps(value))).decode()
    return [plain, pressed, SignedPackage.dumps(value), SignedPackage.dumps(value, compressed=True)]


@pytest.mark.parametrize(
    "shown",
    [lambda one: one, str, lambda one: one.hex, lambda one: {"deep": [("in", one)]}, lambda one: one.bytes],
    ids=["uuid", "text", "digits", "nested", "bytes"],
)
def test_tasks_that_name_an_owner_are_found_in_every_form(
    alice: Actor, mallory: Actor, shown: Callable[[UUID], Any]
) -> None:
    for payload in packed(shown(alice.owner_id)):
        OrmQ.objects.create(key="loci", payload=payload, lock=now())
    Task.objects.create(
        id="a", name="a", func="f", args=(shown(alice.owner_id),), kwargs={}, started=now(), stopped=now()
    )
    Task.objects.create(
        id="b", name="b", func="f", args=(), kwargs={}, result=shown(alice.owner_id), started=now(), stopped=now()
    )
    Task.objects.create(id="c", name="c", func="f", args=(1, "x"), result=None, started=now(), stopped=now())
    target = QueueTarget()

    assert target.count(subject_of(alice)) == 6
    assert target.count(subject_of(mallory)) == 0
    erased = [target.erase(subject_of(alice), 2) for _ in range(6)]

    assert sum(erased) == 6
    assert erased[-1] == 0
    assert list(Task.objects.values_list("id", flat=True)) == ["c"]
    assert not OrmQ.objects.exists()


def test_broken_payloads_are_passed_over_and_never_run(alice: Actor, tmp_path: Path) -> None:
    made = tmp_path / "made"
    program = f"cposix\nmkdir\n(V{made}\ntR.".encode()
    for content in (b"\x80\x05broken", program):
        OrmQ.objects.create(key="loci", payload=base64.b64encode(content).decode(), lock=now())
    for payload in ["", ":", "no base64 at all !", "."]:
        OrmQ.objects.create(key="loci", payload=payload, lock=now())

    assert QueueTarget().count(subject_of(alice)) == 0
    assert QueueTarget().erase(subject_of(alice), 10) == 0
    assert OrmQ.objects.count() == 6
    assert not made.exists()
    pickle.loads(program)
    assert made.exists(), "it would have run"
