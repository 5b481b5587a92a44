"""Filling a space beside the one in use: batches, interruptions, embedders that fail, texts that do not open."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.errors import BudgetExceeded, Conflict, EmbedderUnavailable
from memory.models import DueWork, EmbeddingSpace, PendingVector, SpaceFill, SpaceState, owner_scope
from memory.palace.meaning import embedder_status
from memory.providers.composition import embedder, forget_providers, second_embedder
from memory.providers.guarded_embedder import GuardedEmbedder
from memory.services.actors import Actor
from memory.services.backfill import BATCH, LONGEST_DELAY, backfill_vectors
from memory.services.changes import change_memory
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.embedding import embed_texts, embedded_by
from memory.services.health import embedder_finding, health_findings
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember_many
from memory.services.spaces import filling
from memory.services.spaces.filling import fill_spaces, look_after_spaces
from memory.services.spaces.in_use import spaces_in_use
from memory.services.spaces.moving import fill_now, open_space, switch_space
from memory.services.spaces.progress import progress_of
from tests.environment import PROJECT
from tests.integration.keys.filled import database_urls
from tests.integration.spaces.looking import (
    NEW,
    OLD,
    active,
    found,
    live,
    quiet,
    space_of,
    states,
    stored,
    with_vector,
    work,
)

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])

PATIENCE = 90.0


def away(monkeypatch: pytest.MonkeyPatch, model: Any, error: type[EmbedderUnavailable] = EmbedderUnavailable) -> None:
    """Let an embedder fail at every call."""

    def fail(texts: Any) -> Any:
        raise error

    assert model is not None
    monkeypatch.setattr(model, "embed", fail)


def test_what_is_stored_and_changed_meanwhile_stands_in_both(alice: Actor) -> None:
    (before,) = stored(alice, "The ferry leaves at nine.")
    open_space(tell=quiet)
    (after,) = stored(alice, "The ferry is late.")
    assert with_vector(alice, NEW) == {after}
    change_memory(actor=alice, memory_id=before, changes={"text": "The ferry leaves at ten."})
    assert with_vector(alice, NEW) == {before, after}
    assert with_vector(alice, OLD) == {before, after}
    assert found(alice, "The ferry leaves at ten.")[0] == "The ferry leaves at ten."


def test_a_turn_ends_for_other_work_and_goes_on_where_it_was(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(alice, *(f"Number {number} of many." for number in range(BATCH + 3)))
    open_space(tell=quiet)
    DueWork.objects.create(owner_id=alice.owner_id, job=DueWork.EXPIRE, due_at=now() - timedelta(hours=1))
    moment = now()
    assert fill_spaces(owner_id=alice.owner_id, at=moment) == (BATCH, moment)
    assert progress_of(space_of(NEW)).done == BATCH
    assert progress_of(space_of(NEW)).owners_whole == 0
    DueWork.objects.filter(job=DueWork.EXPIRE).delete()
    assert fill_spaces(owner_id=alice.owner_id, at=now()) == (3, None)
    progress = progress_of(space_of(NEW))
    assert (progress.done, progress.total, progress.owners_whole, progress.percent) == (67, 67, 1, 100)
    assert fill_spaces(owner_id=alice.owner_id, at=now()) == (0, None)


def test_between_batches_the_worker_rests_by_its_share(
    alice: Actor, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float] = []
    settings.EMBEDDING_FILL_SHARE = 0.25
    monkeypatch.setattr("memory.services.spaces.filling.time.sleep", rests.append)
    # On a slow machine other work becomes due meanwhile, and ends the turn.
    monkeypatch.setattr("memory.services.spaces.filling._others_wait", lambda: False)
    filling._rest(2.0)
    assert rests == [6.0]
    stored(alice, *(f"Number {number} of many." for number in range(2 * BATCH)))
    open_space(tell=quiet)
    assert fill_spaces(owner_id=alice.owner_id, at=now())[0] == 2 * BATCH
    assert len(rests) == 3
    assert all(rest > 0 for rest in rests)


@pytest.mark.slow
def test_a_killed_filler_loses_nothing(alice: Actor, tmp_path: Path) -> None:
    stored(alice, *(f"Number {number} of many." for number in range(2 * BATCH + 5)))
    open_space(tell=quiet)
    reached = tmp_path / "reached"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.integration.spaces.dying_filler", str(alice.owner_id), str(reached)],
        cwd=PROJECT,
        env={
            **os.environ,
            **database_urls(),
            "EMBEDDING_MODEL": OLD,
            "EMBEDDING_SECOND_PROVIDER": "stub",
            "EMBEDDING_SECOND_MODEL": NEW,
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while not reached.exists():
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            assert time.monotonic() < deadline, "the second batch was not reached"
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        assert process.wait(timeout=PATIENCE) == -signal.SIGKILL
    finally:
        process.kill()
        process.communicate()
    assert len(with_vector(alice, NEW)) == BATCH
    work()
    assert with_vector(alice, NEW) == live(alice)
    assert switch_space(tell=quiet).missing == 0


class TestAnEmbedderThatFails:
    def test_that_of_the_filling_space_pauses_it_and_writes_go_on(
        self, alice: Actor, mallory: Actor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stored(alice, "One.", "Two.")
        stored(mallory, "Three.")
        open_space(tell=quiet)
        with monkeypatch.context() as gone:
            away(gone, second_embedder())
            (late,) = stored(alice, "Stored meanwhile.")
            assert late in with_vector(alice, OLD)
            work()
            space = space_of(NEW)
            assert (space.state, space.pause) == (SpaceState.FILLING, "embedder.unavailable")
            assert found(alice, "Stored meanwhile.")[0] == "Stored meanwhile."
            # A pause calls nobody: neither a write nor the clock, while the embedder fails.
            stored(alice, "Stored in the pause.")
            assert not DueWork.objects.filter(job=DueWork.SPACES).exists()
            assert not look_after_spaces()
            told = {one.name: one for one in health_findings()}["second space"]
            assert told.status == "degraded"
            assert "embedder.unavailable" in told.detail
            with pytest.raises(EmbedderUnavailable):
                switch_space(tell=quiet)
            with pytest.raises(EmbedderUnavailable):
                fill_now(tell=quiet)
        assert look_after_spaces()
        assert space_of(NEW).pause == ""
        work()
        for owner in (alice, mallory):
            assert with_vector(owner, NEW) == live(owner)
        told = {one.name: one for one in health_findings()}["second space"]
        assert (told.status, told.detail) == (
            "ok",
            "The space of stub/characters-768 is being filled: 5 of 5 memories. Recall goes on in the one in use.",
        )

    def test_that_of_the_space_in_use_leaves_the_other_one_to_stand_in(
        self, alice: Actor, mallory: Actor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stored(alice, "The notice period is sixty days.")
        open_space(tell=quiet)
        work()
        with monkeypatch.context() as gone:
            away(gone, embedder())
            request = RecallRequest(query="The notice period is sixty days.", record=False)
            answer = recall(actor=alice, request=request)
            assert answer.degraded == ["embedder.standby"]
            assert answer.hits[0].reasons["arms"]["dense"]["score"] == pytest.approx(1, abs=0.01)
            # What is stored meanwhile stands in the other space at once and waits for its vector in this one.
            (late,) = stored(alice, "Kept by the other one.")
            assert late in with_vector(alice, NEW)
            assert late not in with_vector(alice, OLD)
            with owner_scope(alice.owner_id):
                assert PendingVector.objects.filter(memory_id=late).exists()
            # Whose vectors are not all there is not served by half of them.
            stored(mallory, "Three.")
            SpaceFill.objects.filter(owner_id=mallory.owner_id).delete()
            answer = recall(actor=mallory, request=RecallRequest(query="Three.", record=False))
            assert answer.degraded == ["embedder.unavailable"]
        work()
        assert with_vector(alice, OLD) == with_vector(alice, NEW) == live(alice)
        assert found(alice, "Kept by the other one.")[0] == "Kept by the other one."

    def test_health_and_pages_name_the_one_that_stands_in(
        self, alice: Actor, mallory: Actor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stored(alice, "The notice period is sixty days.")
        open_space(tell=quiet)
        work()
        stored(mallory, "The kettle sings.")
        SpaceFill.objects.filter(owner_id=mallory.owner_id).delete()

        def noticed_away(model: Any) -> None:
            away(monkeypatch, model._embedder)
            with pytest.raises(EmbedderUnavailable):
                model.embed(["Are you there?"])

        noticed_away(embedder())
        told = {one.name: one for one in health_findings()}["embedder"]
        assert told == embedder_finding()
        assert told.status == "degraded"
        assert "Recall goes on with stub/characters-768, and by words where its vectors are missing." in told.detail
        assert "the one that stands by" in embedder_status(alice.owner_id, 0).sentence
        # Whose vectors are not all there is answered by words alone.
        assert "I search by words" in embedder_status(mallory.owner_id, 0).sentence
        with monkeypatch.context() as lacking:
            lacking.setattr(GuardedEmbedder, "lacks_model", True)
            told_to = embedder_status(alice.owner_id, 0)
            assert (told_to.state, "the one that stands by" in told_to.sentence) == ("missing", True)
            assert "not there yet" in embedder_status(mallory.owner_id, 0).sentence
        noticed_away(second_embedder())
        told = {one.name: one for one in health_findings()}["embedder"]
        assert told.detail.endswith("Recall works by words.")
        assert "I search by words" in embedder_status(alice.owner_id, 0).sentence

    def test_an_incomplete_write_takes_the_right_to_stand_in_until_it_is_made_good(
        self, alice: Actor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stored(alice, "One.")
        open_space(tell=quiet)
        work()
        with monkeypatch.context() as gone:
            away(gone, second_embedder())
            stored(alice, "Two.")
        with monkeypatch.context() as gone:
            away(gone, embedder())
            answer = recall(actor=alice, request=RecallRequest(query="Two.", record=False))
            assert "embedder.unavailable" in answer.degraded
        work()
        with monkeypatch.context() as gone:
            away(gone, embedder())
            answer = recall(actor=alice, request=RecallRequest(query="Two.", record=False))
            assert answer.degraded == ["embedder.standby"]

    def test_a_budget_that_is_used_up_puts_off_its_owner_only(
        self, alice: Actor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stored(alice, "One.")
        open_space(tell=quiet)
        moment = now()
        with monkeypatch.context() as gone:
            away(gone, second_embedder(), BudgetExceeded)
            assert fill_spaces(owner_id=alice.owner_id, at=moment) == (0, moment + filling.OUT_OF_BUDGET)
        assert space_of(NEW).pause == ""

    def test_one_that_is_configured_no_more_pauses_too(self, alice: Actor, settings: Any) -> None:
        stored(alice, "One.")
        open_space(tell=quiet)
        settings.EMBEDDING_SECOND_PROVIDER = "none"
        forget_providers()
        work()
        assert space_of(NEW).pause == filling.NOT_CONFIGURED
        assert not look_after_spaces()
        settings.EMBEDDING_SECOND_PROVIDER = "stub"
        forget_providers()
        assert look_after_spaces()

    def test_another_width_pauses_and_never_meets(self, alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        stored(alice, "One.")
        open_space(tell=quiet)
        EmbeddingSpace.objects.filter(model=NEW).update(dimension=700)
        work()
        assert space_of(NEW).pause == "embedder.unavailable"
        assert with_vector(alice, NEW) == set()


def test_a_text_that_does_not_open_is_counted_and_does_not_stop_the_switch(alice: Actor) -> None:
    damaged, _ = stored(alice, "One.", "Two.")
    with owner_scope(alice.owner_id), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE memory_memory SET text = 'enc:v1:AAAA' WHERE owner_id = %s AND id = %s", [alice.owner_id, damaged]
        )
    open_space(tell=quiet)
    work()
    progress = progress_of(space_of(NEW))
    assert (progress.done, progress.total, progress.closed, progress.percent) == (1, 2, 1, 100)
    assert switch_space(tell=quiet).missing == 0


def refuses(monkeypatch: pytest.MonkeyPatch, model: Any, *words: str) -> list[int]:
    """Let an embedder refuse texts with one of some words, and note how many texts each call had."""
    calls: list[int] = []
    embed = model.embed

    def judged(texts: Any) -> Any:
        calls.append(len(texts))
        if any(word in text for word in words for text in texts):
            raise EmbedderUnavailable(input_refused=True)
        return embed(texts)

    monkeypatch.setattr(model, "embed", judged)
    return calls


class TestRefusedTexts:
    """A text that an embedder refuses by itself, as servers do with an error of their own, stops nothing."""

    def test_in_the_space_beside_the_one_in_use(self, alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        texts = [f"Number {number} of some." for number in range(9)]
        *sound, poisoned = stored(alice, *texts, "Poison.")
        calls = refuses(monkeypatch, second_embedder(), "Poison")
        open_space(tell=quiet)
        calls.clear()
        work()
        assert with_vector(alice, NEW) == set(sound)
        progress = progress_of(space_of(NEW))
        assert (progress.done, progress.closed, progress.percent, space_of(NEW).pause) == (9, 1, 100, "")
        assert len(calls) < 12
        # It alone is missing now, and still it is not the server that is away.
        assert fill_spaces(owner_id=alice.owner_id, at=now()) == (0, None)
        assert space_of(NEW).pause == ""
        assert switch_space(tell=quiet).missing == 0
        assert poisoned not in with_vector(alice, NEW)

    def test_in_the_space_in_use(self, alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        embed_texts(["The first space is opened."], owner_id=alice.owner_id)
        refuses(monkeypatch, embedder(), "Poison")
        items = remember_many(actor=alice, drafts=[Draft(text=text) for text in ("One.", "Poison.", "Three.")])
        first, poisoned, third = (one.stored.memory_id for one in items if one.stored)
        assert with_vector(alice, OLD) == set()
        moment = now()
        assert backfill_vectors(owner_id=alice.owner_id, at=moment) == (2, moment + LONGEST_DELAY)
        assert with_vector(alice, OLD) == {first, third}
        with owner_scope(alice.owner_id):
            assert list(PendingVector.objects.values_list("memory_id", flat=True)) == [poisoned]

    def test_a_server_that_refuses_everything_is_away(self, alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        stored(alice, *(f"Number {number} of some." for number in range(9)))
        open_space(tell=quiet)
        calls = refuses(monkeypatch, second_embedder(), "")
        assert fill_spaces(owner_id=alice.owner_id, at=now()) == (0, None)
        assert space_of(NEW).pause == "embedder.unavailable"
        assert progress_of(space_of(NEW)).closed == 0
        assert len(calls) < 8


def test_who_wrote_before_the_switch_and_commits_after_it_gets_the_vector(
    alice: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(alice, "One.")
    open_space(tell=quiet)
    work()
    # As a process does that began to embed while it knew of the former space only.
    former = spaces_in_use().active
    switch_space(tell=quiet)
    work()
    monkeypatch.setattr(
        "memory.services.remember.embed_texts",
        lambda texts, **options: embedded_by(former, texts, owner_id=alice.owner_id),
    )
    (late,) = stored(alice, "Written with the former model.")
    assert late in with_vector(alice, OLD)
    assert late not in with_vector(alice, NEW)
    work()
    assert with_vector(alice, NEW) == live(alice)


def test_one_that_was_interrupted_before_it_called_anybody_is_taken_up(alice: Actor) -> None:
    stored(alice, "One.")
    EmbeddingSpace.objects.create(provider="stub", model=NEW, dimension=768, state=SpaceState.FILLING)
    assert look_after_spaces()
    work()
    assert with_vector(alice, NEW) == live(alice)
    assert not look_after_spaces()
    with pytest.raises(Conflict, match="indexes"):
        switch_space(tell=quiet)
    open_space(tell=quiet)
    switch_space(tell=quiet)
    assert states() == {NEW: "active", OLD: "standby"}


def test_storing_costs_no_statement_more_while_a_space_is_filled(alice: Actor, settings: Any) -> None:
    stored(alice, "Zero.")

    def statements(text: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            stored(alice, text)
        return len(captured)

    def asked(query: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            found(alice, query)
        return len(captured)

    alone, asked_alone = statements("The kettle sings."), asked("Zero.")
    open_space(tell=quiet)
    work()
    assert statements("The kettle boils.") == alone
    assert asked("Zero.") == asked_alone


def test_work_that_has_nothing_to_do_costs_little(alice: Actor) -> None:
    stored(alice, "One.")
    with CaptureQueriesContext(connection) as captured:
        assert fill_spaces(owner_id=alice.owner_id, at=now()) == (0, None)
    # The space in use, a scope around one look at what is missing, and the space beside it.
    assert len([one for one in captured if one["sql"].startswith(("SELECT", "\n    SELECT"))]) == 4
    assert active().model == OLD


def test_embedding_gives_both(make_owner: Callable[..., Actor]) -> None:
    alice = make_owner("alice")
    stored(alice, "One.")
    open_space(tell=quiet)
    made = embed_texts(["a", "b", "c"], owner_id=alice.owner_id)
    assert made is not None
    assert made.beside is not None
    chosen = made.chosen([2, 0])
    assert chosen.beside is not None
    assert (chosen.vectors.shape, chosen.beside.vectors.shape) == ((2, 384), (2, 768))
