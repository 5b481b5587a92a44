"""A purge that is killed at any moment ends as if it had not been; one worker works on it at a time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection

from memory.errors import Conflict, KeysUnavailable
from memory.models import Owner, Purge, PurgeState, RecallRecord, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.purge import owner_purge
from memory.services.purge.lease import LONGEST_PAUSE, SILENCE, LeaseLost, pause_after
from memory.services.purge.receipts import verify_receipt
from memory.services.purge.requests import begin_purge, preview_owner
from memory.services.purge.runner import purge_is_due, run_due, run_purge
from memory.services.remember import remember
from tests.integration.purge.everything import everything_stored, fill_everything

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])

Make = Callable[..., tuple[Actor, str]]


class Killed(BaseException):
    """What no code of a purge catches, like the end of the process."""


def test_killed_after_every_stage_and_step(alice: Actor, make_agent: Make) -> None:
    fill_everything(alice, make_agent(alice)[0])
    expected = preview_owner(owner_id=alice.owner_id)
    made = begin_purge(actor=alice)
    survived: list[str] = []

    def kill_at_something_new(step: str) -> None:
        if step not in survived:
            survived.append(step)
            raise Killed

    while Purge.objects.get(pk=made.purge.pk).state != PurgeState.DONE:
        try:
            run_purge(purge_id=made.purge.pk, most=2, after_step=kill_at_something_new)
        except Killed:
            row = Purge.objects.get(pk=made.purge.pk)
            assert row.state == PurgeState.RUNNING
            fall_silent(made.purge.pk)

    done = Purge.objects.get(pk=made.purge.pk)
    assert len(survived) > 65
    assert {"ledger", "settle", "collect", "erase", "reindex", "keys", "verify"} <= set(survived)
    assert done.attempts == len(survived) + 1
    assert done.receipt is not None
    assert verify_receipt(done.receipt)
    # Nothing is counted twice, and nothing is forgotten.
    assert done.receipt["erased"] == expected | {"audit_moved": expected["audit_moved"] + 1}
    assert done.receipt["keys"] == {"root": "destroyed"}
    assert str(alice.owner_id) not in "\n".join(everything_stored(alice.owner_id))


def test_the_time_of_a_turn_is_kept_and_the_next_one_goes_on(alice: Actor) -> None:
    for number in range(6):
        remember(actor=alice, draft=Draft(text=f"Number {number}."))
    made = begin_purge(actor=alice)
    turns = 0
    while Purge.objects.get(pk=made.purge.pk).state == PurgeState.WAITING:
        assert purge_is_due()
        run_purge(purge_id=made.purge.pk, seconds=0.02)
        turns += 1
        assert turns < 1_000

    assert turns > 1
    assert Purge.objects.get(pk=made.purge.pk).state == PurgeState.DONE
    assert not purge_is_due()


def test_two_workers_at_once(alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text="One of them."))
    made = begin_purge(actor=alice)
    refused: list[str] = []

    steps: list[str] = []

    def try_too(step: str) -> None:
        steps.append(step)
        try:
            run_purge(purge_id=made.purge.pk)
        except Conflict as error:
            refused.append(error.machine_code)
        assert run_due() == 0

    done = run_purge(purge_id=made.purge.pk, after_step=try_too)

    assert done.state == PurgeState.DONE
    assert refused == ["purge.running"] * len(steps)
    assert done.attempts == 1


def test_a_worker_that_was_overtaken_writes_nothing_more(alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text="One of them."))
    made = begin_purge(actor=alice)

    def overtake(step: str) -> None:
        if step == "erase.vectors":
            fall_silent(made.purge.pk)
            assert run_due() == 1

    with pytest.raises(LeaseLost):
        run_purge(purge_id=made.purge.pk, after_step=overtake)

    done = Purge.objects.get(pk=made.purge.pk)
    assert (done.state, done.attempts) == (PurgeState.DONE, 2)
    assert done.receipt is not None
    assert done.receipt["erased"]["memories"] == 1
    assert not Owner.objects.filter(pk=alice.owner_id).exists()


def test_a_row_that_comes_late_is_erased_too(alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text="In time."))
    made = begin_purge(actor=alice)
    steps: list[str] = []

    def write_late(step: str) -> None:
        steps.append(step)
        if steps.count("verify.done") == 1 and step == "verify.done":
            write_past_the_door(alice)

    done = run_purge(purge_id=made.purge.pk, after_step=write_late)

    assert "close.late" in steps
    assert done.state == PurgeState.DONE
    assert done.receipt is not None
    assert done.receipt["erased"]["recall_records"] == 1
    assert str(alice.owner_id) not in "\n".join(everything_stored(alice.owner_id))


def test_rows_that_come_again_and_again_are_no_reason_to_sign(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner_purge, "MOST_ROUNDS", 2)
    made = begin_purge(actor=alice)

    with pytest.raises(owner_purge.RowsLeft):
        run_purge(
            purge_id=made.purge.pk,
            after_step=lambda step: write_past_the_door(alice) if step == "verify.done" else None,
        )

    failed = Purge.objects.get(pk=made.purge.pk)
    assert (failed.state, failed.error_code, failed.receipt) == (PurgeState.WAITING, "purge.left", None)
    assert Owner.objects.filter(pk=alice.owner_id).exists()
    assert not purge_is_due()
    assert purge_is_due(at=now() + timedelta(seconds=6))
    assert run_due(at=now() + timedelta(seconds=6)) == 1
    assert str(alice.owner_id) not in "\n".join(everything_stored(alice.owner_id))


def test_a_failing_purge_is_seen_and_tried_again_with_growing_pauses(
    alice: Actor, mallory: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(actor=alice, draft=Draft(text="Still there."))
    first, second = begin_purge(actor=alice), begin_purge(actor=mallory)

    def refuse(*, owner_id: object, **_: object) -> None:
        if owner_id == alice.owner_id:
            raise KeysUnavailable("The ledger cannot be written.")

    monkeypatch.setattr(owner_purge, "note_owner", refuse)
    moment = now()
    with pytest.raises(KeysUnavailable):
        run_due(at=moment)

    failed, other = (Purge.objects.get(pk=made.purge.pk) for made in (first, second))
    assert (failed.state, failed.error_code, failed.stage) == (PurgeState.WAITING, "keys.unavailable", "ledger")
    assert other.state == PurgeState.DONE, "one that fails keeps no other waiting"
    with owner_scope(alice.owner_id, purging=True):
        assert not failed.erased
    assert run_due(at=moment) == 0
    with pytest.raises(KeysUnavailable):
        run_due(at=moment + timedelta(seconds=6))
    assert run_due(at=moment + timedelta(seconds=12)) == 0

    monkeypatch.undo()
    assert run_due(at=moment + timedelta(seconds=30)) == 1
    assert Purge.objects.get(pk=first.purge.pk).error_code == ""


def test_pauses_grow_up_to_an_hour() -> None:
    pauses = [pause_after(failures) for failures in range(1, 40)]
    assert pauses[:3] == [timedelta(seconds=5), timedelta(seconds=10), timedelta(seconds=20)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_PAUSE


def fall_silent(purge_id: UUID) -> None:
    """Let a purge look as if nothing had been heard of its worker for long."""
    Purge.objects.filter(pk=purge_id).update(heartbeat_at=now() - SILENCE - timedelta(seconds=1))


def write_past_the_door(owner: Actor) -> None:
    """Write a row as a transaction does that began before the owner was closed; the keys are gone by now."""
    with owner_scope(owner.owner_id, purging=True):
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO memory_recallrecord (owner_id, id, caller, explanation, created_at)"
                " VALUES (%s, gen_random_uuid(), %s, 'enc:v1:late', now())",
                [owner.owner_id, owner.owner_id],
            )
        assert RecallRecord.objects.exists()
