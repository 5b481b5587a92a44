"""Rotation of text keys: everything moves, nothing is lost, and what is destroyed opens nothing."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, connections

from memory import tasks
from memory.crypto.keyring import keyring
from memory.errors import Conflict, KeysUnavailable
from memory.models import DueWork, Memory, owner_scope
from memory.services.actors import Actor
from memory.services.changes import change_memory
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.due_work import run_due_work
from memory.services.keys import rekeying, rotation
from memory.services.keys.rekeying import move_rows
from memory.services.keys.rotation import begin_rotation, key_status, rotation_turn, seal_now
from memory.services.keys.sealed_tables import rows_sealed_with
from memory.services.remember import remember
from tests.environment import PROJECT
from tests.integration.keys.filled import copied, database_urls, filled, opened, stored_text, token_versions

pytestmark = pytest.mark.django_db(transaction=True)

# Seconds after which a thread no longer waits for a test that has failed.
PATIENCE = 30.0

KILLED = """
import os, signal, sys
from uuid import UUID
import django
django.setup()
from memory.services.clock import now
from memory.services.keys import rekeying, rotation

def die():
    os.kill(os.getpid(), signal.SIGKILL)

rekeying.BATCH = 4
owner_id, where, batches = UUID(sys.argv[1]), sys.argv[2], int(sys.argv[3])
done = 0
write = rekeying._write

def writing(*arguments):
    global done
    count = write(*arguments)
    done += 1
    if where == "within" and done > batches:
        die()
    return count

def after_batch():
    if where == "between" and done > batches:
        die()

rekeying._write = writing
rotation.rotation_turn(owner_id=owner_id, at=now(), after_batch=after_batch)
"""


@pytest.fixture(autouse=True)
def _settles_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "SETTLING", timedelta(0))


@pytest.fixture
def agent(alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> Actor:
    return make_agent(alice)[0]


def versions(actor: Actor) -> set[int]:
    return set(keyring().vault.load(actor.owner_id).text_seeds)


def text_of(actor: Actor, memory_id: UUID) -> Any:
    with owner_scope(actor.owner_id):
        return Memory.objects.get(pk=memory_id).text


def raw_text(actor: Actor, memory_id: UUID) -> str:
    with owner_scope(actor.owner_id), connection.cursor() as cursor:
        cursor.execute("SELECT text FROM memory_memory WHERE id = %s", [memory_id])
        return str(cursor.fetchone()[0])


def damage(actor: Actor, memory_id: UUID) -> None:
    with owner_scope(actor.owner_id), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE memory_memory SET text = overlay(text PLACING 'AAAA' FROM 12) WHERE id = %s", [memory_id]
        )


class TestEverythingMoves:
    def test_all_rows_move_and_copies_made_before_open_no_more(self, alice: Actor, agent: Actor) -> None:
        ids = filled(alice, agent)
        before, plain = copied(alice), opened(alice)
        assert len({place.table for place in plain}) >= 12
        assert any(agent_id for _, agent_id, _ in before)
        begin_rotation(owner_id=alice.owner_id)
        run_due_work()
        assert versions(alice) == {2}
        assert opened(alice) == plain
        assert "enc:v1:" not in stored_text(alice)
        assert token_versions(alice) == {2}
        ring = keyring().of(alice.owner_id)
        for place, agent_id, value in before:
            with pytest.raises(KeysUnavailable):
                ring.unseal(value, place=place, agent_id=agent_id)
        with owner_scope(alice.owner_id):
            private = Memory.objects.get(pk=ids["private"])
        sealed = private.__dict__["text"]
        place = Memory._meta.get_field("text").place(private)
        with pytest.raises(KeysUnavailable):
            ring.unseal(sealed, place=place)
        assert ring.unseal(sealed, place=place, agent_id=agent.agent_id) == "The agent's own note."

    def test_another_owner_is_left_alone(self, alice: Actor, mallory: Actor, agent: Actor) -> None:
        filled(alice, agent)
        other = remember(actor=mallory, draft=Draft(text="Not hers.")).memory_id
        before = raw_text(mallory, other)
        seal_now(owner_id=alice.owner_id)
        assert (versions(alice), versions(mallory)) == ({2}, {1})
        assert raw_text(mallory, other) == before
        assert text_of(mallory, other) == "Not hers."

    def test_repeating_moves_nothing_and_every_rotation_counts_up(self, alice: Actor) -> None:
        remember(actor=alice, draft=Draft(text="Tea."))
        assert seal_now(owner_id=alice.owner_id) > 0
        run_due_work()
        assert rotation_turn(owner_id=alice.owner_id, at=now()).moved == 0
        seal_now(owner_id=alice.owner_id)
        assert versions(alice) == {3}

    def test_what_is_written_meanwhile_has_the_new_version(self, alice: Actor) -> None:
        begin_rotation(owner_id=alice.owner_id)
        assert raw_text(alice, remember(actor=alice, draft=Draft(text="Tea.")).memory_id).startswith("enc:v2:")


class TestWhenDue:
    def test_after_the_days_of_the_setting_workers_rotate(self, alice: Actor, settings: Any) -> None:
        memory_id = remember(actor=alice, draft=Draft(text="Tea.")).memory_id
        assert tasks.call_for_rotation() == 0
        later = now() + timedelta(days=91)
        settings.KEY_ROTATION_DAYS = 0
        assert rotation.call_for_rotation(at=later) == 0
        settings.KEY_ROTATION_DAYS = 90
        assert rotation.call_for_rotation(at=later) == 1
        assert run_due_work(at=later)[DueWork.REKEY] > 0
        assert versions(alice) == {2}
        assert text_of(alice, memory_id) == "Tea."

    def test_an_unfinished_rotation_is_taken_up_again(self, alice: Actor) -> None:
        remember(actor=alice, draft=Draft(text="Tea."))
        begin_rotation(owner_id=alice.owner_id)
        DueWork.objects.all().delete()
        status = key_status(owner_id=alice.owner_id)
        assert [one.version for one in status.versions] == [1, 2]
        assert status.waiting["memory_memory"] == 1
        assert tasks.call_for_rotation() == 1
        run_due_work()
        assert key_status(owner_id=alice.owner_id).waiting == {}
        assert versions(alice) == {2}

    def test_an_overdue_rotation_is_told(self, alice: Actor, settings: Any) -> None:
        assert rotation.rotation_finding().status == "ok"
        vault, keys = keyring().vault, keyring().vault.load(alice.owner_id)
        old = replace(keys, made_at={1: now() - timedelta(days=95)})
        vault.replace(alice.owner_id, vault.entry_of(alice.owner_id, old))  # type: ignore[attr-defined]
        assert rotation.rotation_finding().status == "degraded"
        assert key_status(owner_id=alice.owner_id).overdue
        settings.KEY_ROTATION_DAYS = 0
        assert rotation.rotation_finding().status == "ok"

    def test_a_rotation_that_does_not_end_is_told(self, alice: Actor) -> None:
        vault = keyring().vault
        vault.add_version(alice.owner_id, after=1, at=now())
        assert rotation.rotation_finding().status == "ok"
        vault.add_version(alice.owner_id, after=2, at=now() - timedelta(days=4))
        assert "has not ended" in rotation.rotation_finding().detail


class TestInterruption:
    @pytest.mark.parametrize("batches", [0, 1, 3])
    @pytest.mark.parametrize("where", ["between", "within"])
    def test_killed_it_goes_on_and_nothing_is_lost(self, alice: Actor, agent: Actor, where: str, batches: int) -> None:
        filled(alice, agent)
        for number in range(6):
            remember(actor=alice, draft=Draft(text=f"Note {number}."))
        plain = opened(alice)
        begin_rotation(owner_id=alice.owner_id)
        ended = subprocess.run(
            [sys.executable, "-c", KILLED, str(alice.owner_id), where, str(batches)],
            cwd=PROJECT,
            env={**os.environ, **database_urls()},
            capture_output=True,
            check=False,
        )
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        assert versions(alice) == {1, 2}
        assert opened(alice) == plain
        left = sum(rows_sealed_with(owner_id=alice.owner_id, versions=[1]).values())
        assert left > 0
        run_due_work()
        assert versions(alice) == {2}
        assert opened(alice) == plain
        assert "enc:v1:" not in stored_text(alice)

    def test_a_turn_that_runs_out_of_time_is_followed_by_another(self, alice: Actor) -> None:
        remember(actor=alice, draft=Draft(text="Tea."))
        begin_rotation(owner_id=alice.owner_id)
        moment = now()
        turn = rotation_turn(owner_id=alice.owner_id, at=moment, seconds=0)
        assert (turn.moved, turn.finished, turn.again_at) == (0, False, moment)
        assert versions(alice) == {1, 2}


class TestOthersAtWork:
    def test_writers_lose_nothing(self, alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rekeying, "BATCH", 3)
        ids = [remember(actor=alice, draft=Draft(text=f"Note {number}.")).memory_id for number in range(12)]
        begin_rotation(owner_id=alice.owner_id)
        failures: list[BaseException] = []

        def write() -> None:
            try:
                for memory_id in ids:
                    change_memory(actor=alice, memory_id=memory_id, changes={"text": f"Changed {memory_id}."})
            except BaseException as error:
                failures.append(error)
            finally:
                connections.close_all()

        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        while writer.is_alive():
            move_rows(owner_id=alice.owner_id, versions=[1])
        writer.join()
        assert not failures
        run_due_work()
        assert {text_of(alice, memory_id) for memory_id in ids} == {f"Changed {memory_id}." for memory_id in ids}
        assert versions(alice) == {2}

    def test_a_row_in_use_is_passed_over_and_moved_later(self, alice: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text="Tea.")).memory_id
        begin_rotation(owner_id=alice.owner_id)
        held, go = threading.Event(), threading.Event()

        def hold() -> None:
            with owner_scope(alice.owner_id):
                row = Memory.objects.select_for_update().get(pk=memory_id)
                held.set()
                go.wait(PATIENCE)
                row.text = "Coffee."
                row.save()
            connections.close_all()

        holder = threading.Thread(target=hold, daemon=True)
        holder.start()
        held.wait()
        turn = rotation_turn(owner_id=alice.owner_id, at=now())
        go.set()
        holder.join()
        assert (turn.left, turn.closed, turn.finished) == (1, 0, False)
        assert rotation_turn(owner_id=alice.owner_id, at=now()).finished
        assert text_of(alice, memory_id) == "Coffee."

    def test_a_row_loaded_before_is_saved_with_the_new_version(self, alice: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text="Tea.")).memory_id
        with owner_scope(alice.owner_id):
            row = Memory.objects.get(pk=memory_id)
        begin_rotation(owner_id=alice.owner_id)
        move_rows(owner_id=alice.owner_id, versions=[1])
        with owner_scope(alice.owner_id):
            row.save()
        assert raw_text(alice, memory_id).startswith("enc:v2:")
        assert text_of(alice, memory_id) == "Tea."

    def test_a_row_loaded_before_its_key_went_does_not_come_back(self, alice: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text="Tea.")).memory_id
        with owner_scope(alice.owner_id):
            row = Memory.objects.get(pk=memory_id)
        seal_now(owner_id=alice.owner_id)
        with pytest.raises(KeysUnavailable), owner_scope(alice.owner_id):
            row.save()
        assert text_of(alice, memory_id) == "Tea."

    def test_a_version_waits_for_transactions_that_began_before(self, alice: Actor) -> None:
        remember(actor=alice, draft=Draft(text="Tea."))
        held, go = threading.Event(), threading.Event()

        def hold() -> None:
            with owner_scope(alice.owner_id):
                assert Memory.objects.count() == 1
                held.set()
                go.wait(PATIENCE)
            connections.close_all()

        holder = threading.Thread(target=hold, daemon=True)
        holder.start()
        held.wait()
        begin_rotation(owner_id=alice.owner_id)
        turn = rotation_turn(owner_id=alice.owner_id, at=now())
        assert (turn.left, turn.finished) == (0, False)
        assert versions(alice) == {1, 2}
        go.set()
        holder.join()
        assert rotation_turn(owner_id=alice.owner_id, at=now()).finished

    def test_a_version_waits_until_every_process_knows_the_next(
        self, alice: Actor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rotation, "SETTLING", timedelta(hours=1))
        begin_rotation(owner_id=alice.owner_id)
        assert not rotation_turn(owner_id=alice.owner_id, at=now()).finished
        assert versions(alice) == {1, 2}


class TestDamage:
    def test_it_keeps_the_version_until_somebody_decides(self, alice: Actor, caplog: pytest.LogCaptureFixture) -> None:
        kept = remember(actor=alice, draft=Draft(text="Tea.")).memory_id
        broken = remember(actor=alice, draft=Draft(text="Coffee.")).memory_id
        damage(alice, broken)
        with caplog.at_level(logging.DEBUG), pytest.raises(Conflict, match="keys verify"):
            seal_now(owner_id=alice.owner_id)
        assert "1 rows of owner" in caplog.text
        assert versions(alice) == {1, 2}
        assert raw_text(alice, kept).startswith("enc:v2:")
        seal_now(owner_id=alice.owner_id, despite_damage=True)
        assert versions(alice) == {3}
        assert text_of(alice, kept) == "Tea."
        assert key_status(owner_id=alice.owner_id).without_key == {"memory_memory": 1}


def test_no_key_is_logged_or_shown(alice: Actor, caplog: pytest.LogCaptureFixture) -> None:
    remember(actor=alice, draft=Draft(text="Tea."))
    secrets = [keyring().vault.load(alice.owner_id)]
    with caplog.at_level(logging.DEBUG):
        seal_now(owner_id=alice.owner_id)
    secrets.append(keyring().vault.load(alice.owner_id))
    ring = keyring().of(alice.owner_id)
    ring.seal("x", place=copied(alice)[0][0])
    shown = caplog.text + repr(ring) + repr(secrets) + repr(keyring()) + repr(keyring().vault)
    for keys in secrets:
        for secret in (keys.root, *keys.text_seeds.values(), *ring._text.values(), *ring._named.values()):
            for form in (repr(secret), secret.hex(), str(list(secret))):
                assert form not in shown
