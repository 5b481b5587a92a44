"""Token vectors beside memories: sealed, in step with the text, and made where they are missing."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from django.db import connection

from memory.crypto.keyring import keyring
from memory.crypto.sealing import sealed_bytes_version
from memory.errors import EmbedderUnavailable, KeysUnavailable
from memory.models import DueWork, EmbeddingSpace, Memory, MemoryVector, PendingVector, TokenVectors, owner_scope
from memory.ports import TokenMatrix, gives_tokens
from memory.providers import composition
from memory.providers.guarded_embedder import GuardedTokenEmbedder
from memory.providers.minilm import MiniLmEmbedder
from memory.recall.token_blobs import open_tokens, reduction_of
from memory.services import missing_tokens
from memory.services.actors import Actor
from memory.services.backfill import spoken_text
from memory.services.changes import change_memory
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.due_work import run_due_work
from memory.services.missing_tokens import call_for_missing_tokens, fill_tokens
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember, remember_many
from memory.services.retirement import archive_memory, delete_memory, restore_memory
from memory.services.turns import TurnDraft, ingest_turns

TEXT = "The notice period of the flat is sixty days."
TWENTY_WORDS = (
    "Caroline said yesterday that the adoption agency answered her letter, so we celebrated with pancakes, "
    "coffee and a long walk."
)


@pytest.fixture(scope="module")
def local() -> MiniLmEmbedder:
    return MiniLmEmbedder(threads=1)


@pytest.fixture(autouse=True)
def _chosen(local: MiniLmEmbedder, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(composition._EMBEDDERS, "local", lambda _: local)
    settings.EMBEDDING_PROVIDER = "local"


def blobs(actor: Actor) -> dict[UUID, bytes]:
    with owner_scope(actor.owner_id):
        return {pk: bytes(value) for pk, value in TokenVectors.objects.values_list("memory_id", "sealed")}


def matrix_of(text: str) -> TokenMatrix:
    model = composition.embedder()
    assert gives_tokens(model)
    return model.embed_with_tokens([text])[1][0].matrix


def opened(actor: Actor, memory_id: UUID, *, agent_id: UUID | None = None, value: bytes | None = None) -> TokenMatrix:
    return open_tokens(
        value or blobs(actor)[memory_id],
        ring=keyring().of(actor.owner_id),
        memory_id=memory_id,
        space_id=EmbeddingSpace.objects.get().pk,
        agent_id=agent_id,
        width=48,
    )


def close(first: TokenMatrix, second: TokenMatrix) -> bool:
    return first.shape == second.shape and bool(np.abs(first.astype(int) - second.astype(int)).max(initial=0) <= 1)


class TestWriting:
    def test_a_statement_has_its_tokens_at_once_and_sealed(self, alice: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text=TEXT)).memory_id
        (value,) = blobs(alice).values()
        matrix = opened(alice, memory_id)
        assert close(matrix, matrix_of(TEXT))
        plain = matrix.tobytes()
        assert len(value) == len(plain) + 36
        assert all(plain[at : at + 8] not in value for at in range(len(plain) - 8))
        assert sealed_bytes_version(value) == keyring().of(alice.owner_id).keys.text_version

    def test_a_turn_has_those_of_its_speaker_too_and_of_the_redacted_text(self, alice: Actor) -> None:
        turns = [
            TurnDraft(draft=Draft(text=f"Write to me at caroline@example.org, {n}.", speaker="Caroline", role="user"))
            for n in range(70)
        ]
        answer = ingest_turns(actor=alice, session="s", turns=turns)
        found = blobs(alice)
        assert set(found) == {turn.memory_id for turn in answer.turns}
        for number in (0, 40, 69):
            memory_id = answer.turns[number].memory_id
            assert memory_id is not None
            with owner_scope(alice.owner_id):
                text = spoken_text(Memory.objects.get(pk=memory_id))
            assert text.startswith("Caroline: ")
            assert "example" not in text
            assert close(opened(alice, memory_id), matrix_of(text))

    def test_a_turn_of_twenty_words_takes_no_more_than_a_kilobyte_and_a_half(self, alice: Actor) -> None:
        assert len(TWENTY_WORDS.split()) == 20
        turn = TurnDraft(draft=Draft(text=TWENTY_WORDS, speaker="Melanie", role="user"))
        ingest_turns(actor=alice, session="s", turns=[turn])
        (value,) = blobs(alice).values()
        assert len(value) <= 1_500

    def test_a_long_text_is_capped(self, alice: Actor) -> None:
        remember(actor=alice, draft=Draft(text="lake heron boat " * 2_000))
        (value,) = blobs(alice).values()
        assert len(value) == 96 * 48 + 36

    def test_a_batch_keeps_each_to_its_own(self, alice: Actor) -> None:
        texts = ["A heron stood in the reeds.", TEXT, "A heron stood in the reeds.", "Tea at four."]
        stored = remember_many(actor=alice, drafts=[Draft(text=text) for text in texts])
        for item, text in zip(stored, texts, strict=True):
            assert item.stored is not None
            assert close(opened(alice, item.stored.memory_id), matrix_of(text))

    def test_a_text_without_words_has_an_empty_matrix(self, alice: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text="?!")).memory_id
        assert opened(alice, memory_id).shape == (0, 48)

    def test_an_embedder_without_tokens_writes_none(self, alice: Actor, settings: Any) -> None:
        settings.EMBEDDING_PROVIDER = "stub"
        remember(actor=alice, draft=Draft(text=TEXT))
        assert blobs(alice) == {}
        assert call_for_missing_tokens() == 0
        assert fill_tokens(owner_id=alice.owner_id, at=now()) == (0, None)


class TestSeal:
    def test_a_moved_value_does_not_open(self, alice: Actor, mallory: Actor) -> None:
        first = remember(actor=alice, draft=Draft(text=TEXT)).memory_id
        second = remember(actor=alice, draft=Draft(text="Tea at four.")).memory_id
        theirs = remember(actor=mallory, draft=Draft(text=TEXT)).memory_id
        value = blobs(alice)[first]
        assert len(opened(alice, first, value=value))
        for actor, memory_id in ((alice, second), (mallory, theirs)):
            with pytest.raises(KeysUnavailable):
                opened(actor, memory_id, value=value)
        with pytest.raises(KeysUnavailable):
            opened(alice, first, value=value[:-4] + bytes(4))

    def test_only_the_agents_key_opens_what_only_it_may_read(
        self, alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
    ) -> None:
        agent, _ = make_agent(alice)
        memory_id = remember(actor=agent, draft=Draft(text=TEXT), scope="agent").memory_id
        assert close(opened(alice, memory_id, agent_id=agent.agent_id), matrix_of(TEXT))
        with pytest.raises(KeysUnavailable):
            opened(alice, memory_id)

    def test_a_move_between_scopes_seals_again(
        self, alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
    ) -> None:
        agent, _ = make_agent(alice)
        memory_id = remember(actor=agent, draft=Draft(text=TEXT), scope="agent").memory_id
        mark = reduction_of(blobs(alice)[memory_id])
        change_memory(actor=agent, memory_id=memory_id, changes={}, scope="owner")
        assert close(opened(alice, memory_id), matrix_of(TEXT))
        with pytest.raises(KeysUnavailable):
            opened(alice, memory_id, agent_id=agent.agent_id)
        change_memory(actor=agent, memory_id=memory_id, changes={}, scope="agent")
        assert close(opened(alice, memory_id, agent_id=agent.agent_id), matrix_of(TEXT))
        assert reduction_of(blobs(alice)[memory_id]) == mark

    def test_a_damaged_value_does_not_hinder_a_move_and_is_made_anew(
        self, alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
    ) -> None:
        agent, _ = make_agent(alice)
        memory_id = remember(actor=agent, draft=Draft(text=TEXT), scope="agent").memory_id
        with owner_scope(alice.owner_id):
            TokenVectors.objects.update(sealed=b"\0\0\0\1" + b"x" * 60)
        change_memory(actor=agent, memory_id=memory_id, changes={}, scope="owner")
        assert blobs(alice) == {}
        assert fill_tokens(owner_id=alice.owner_id, at=now()) == (1, None)
        assert close(opened(alice, memory_id), matrix_of(TEXT))

    def test_another_owner_sees_none(self, alice: Actor, mallory: Actor) -> None:
        remember(actor=alice, draft=Draft(text=TEXT))
        assert blobs(mallory) == {}
        with owner_scope(mallory.owner_id), connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM memory_tokenvectors")
            assert cursor.fetchone() == (0,)


class TestInStep:
    def test_a_changed_text_has_its_own(self, alice: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text=TEXT)).memory_id
        change_memory(actor=alice, memory_id=memory_id, changes={"text": "Two herons."})
        assert close(opened(alice, memory_id), matrix_of("Two herons."))
        before = blobs(alice)
        change_memory(actor=alice, memory_id=memory_id, changes={"importance": 0.9})
        assert blobs(alice) == before

    def test_archiving_removes_and_restoring_brings_back(self, alice: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text=TEXT)).memory_id
        archive_memory(actor=alice, memory_id=memory_id)
        assert blobs(alice) == {}
        restore_memory(actor=alice, memory_id=memory_id)
        assert close(opened(alice, memory_id), matrix_of(TEXT))

    def test_a_deleted_memory_has_none_before_it_is_erased(self, alice: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text=TEXT)).memory_id
        delete_memory(actor=alice, memory_id=memory_id)
        assert blobs(alice) == {}
        run_due_work(at=now() + timedelta(minutes=1))
        with owner_scope(alice.owner_id):
            assert not Memory.objects.exists()


class TestFilling:
    def test_what_was_written_while_it_was_off_is_made_when_it_is_on(
        self, alice: Actor, mallory: Actor, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(missing_tokens, "BATCH", 3)
        settings.LATE_INTERACTION = False
        texts = [f"{number} herons in the reeds." for number in range(10)]
        ids = [remember(actor=alice, draft=Draft(text=text)).memory_id for text in texts]
        assert blobs(alice) == {}
        assert call_for_missing_tokens() == 0
        assert fill_tokens(owner_id=alice.owner_id, at=now()) == (0, None)
        settings.LATE_INTERACTION = True
        assert call_for_missing_tokens() == 1
        assert [work.owner_id for work in DueWork.objects.filter(job=DueWork.TOKENS)] == [alice.owner_id]
        assert run_due_work()[DueWork.TOKENS] == 10
        assert not DueWork.objects.filter(job=DueWork.TOKENS).exists()
        for memory_id, text in zip(ids, texts, strict=True):
            assert close(opened(alice, memory_id), matrix_of(text))
        before = blobs(alice)
        assert call_for_missing_tokens() == 0
        assert fill_tokens(owner_id=alice.owner_id, at=now()) == (0, None)
        assert blobs(alice) == before

    def test_a_run_does_a_part_and_the_next_goes_on(
        self, alice: Actor, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(missing_tokens, "BATCH", 2)
        monkeypatch.setattr(missing_tokens, "MOST_BATCHES", 2)
        settings.LATE_INTERACTION = False
        remember_many(actor=alice, drafts=[Draft(text=f"Statement {number}.") for number in range(5)])
        settings.LATE_INTERACTION = True
        moment = now()
        assert fill_tokens(owner_id=alice.owner_id, at=moment) == (4, moment)
        assert fill_tokens(owner_id=alice.owner_id, at=moment) == (1, None)
        assert len(blobs(alice)) == 5

    def test_a_text_without_tokens_is_not_tried_again(self, alice: Actor, settings: Any) -> None:
        settings.LATE_INTERACTION = False
        memory_id = remember(actor=alice, draft=Draft(text="...!")).memory_id
        settings.LATE_INTERACTION = True
        assert fill_tokens(owner_id=alice.owner_id, at=now()) == (1, None)
        assert opened(alice, memory_id).shape == (0, 48)
        assert call_for_missing_tokens() == 0

    def test_those_made_in_another_way_are_made_anew(self, alice: Actor) -> None:
        memory_id = remember(actor=alice, draft=Draft(text=TEXT)).memory_id
        with owner_scope(alice.owner_id):
            TokenVectors.objects.update(sealed=blobs(alice)[memory_id][:-4] + b"old.")
        assert call_for_missing_tokens() == 1
        assert fill_tokens(owner_id=alice.owner_id, at=now()) == (1, None)
        assert close(opened(alice, memory_id), matrix_of(TEXT))

    def test_a_failing_embedder_is_asked_again_later(
        self, alice: Actor, local: MiniLmEmbedder, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.LATE_INTERACTION = False
        remember(actor=alice, draft=Draft(text=TEXT))
        settings.LATE_INTERACTION = True

        class Away(MiniLmEmbedder):
            def embed_with_tokens(self, texts: Any) -> Any:
                raise EmbedderUnavailable

        monkeypatch.setattr(missing_tokens, "embedder_in_use", lambda: GuardedTokenEmbedder(Away()))
        moment = now()
        assert fill_tokens(owner_id=alice.owner_id, at=moment) == (0, moment + missing_tokens.TRY_AGAIN)

    def test_queued_vectors_come_with_tokens(
        self, alice: Actor, local: MiniLmEmbedder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as away:
            away.setattr("memory.services.remember.embed_texts", lambda texts, **_: None)
            memory_id = remember(actor=alice, draft=Draft(text=TEXT)).memory_id
        with owner_scope(alice.owner_id):
            assert PendingVector.objects.count() == 1
            assert MemoryVector.objects.count() == 0
        run_due_work()
        assert close(opened(alice, memory_id), matrix_of(TEXT))

    def test_a_text_that_does_not_open_is_passed_over_without_its_content(
        self, alice: Actor, settings: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        settings.LATE_INTERACTION = False
        damaged, intact = (remember(actor=alice, draft=Draft(text=text)).memory_id for text in ("One.", "Two."))
        settings.LATE_INTERACTION = True
        with owner_scope(alice.owner_id), connection.cursor() as cursor:
            cursor.execute(
                "UPDATE memory_memory SET text = 'enc:v1:AAAA' WHERE owner_id = %s AND id = %s",
                [alice.owner_id, damaged],
            )
        with caplog.at_level(logging.ERROR):
            assert fill_tokens(owner_id=alice.owner_id, at=now()) == (1, None)
        assert set(blobs(alice)) == {intact}
        assert "1 texts do not open" in caplog.text

    def test_a_row_changed_while_the_model_works_keeps_what_its_change_made(
        self, alice: Actor, local: MiniLmEmbedder, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.LATE_INTERACTION = False
        changed, archived = (remember(actor=alice, draft=Draft(text=text)).memory_id for text in ("One.", "Two."))
        settings.LATE_INTERACTION = True

        class Slow(MiniLmEmbedder):
            def embed_with_tokens(self, texts: Any) -> Any:
                change_memory(actor=alice, memory_id=changed, changes={"text": "Three herons."})
                archive_memory(actor=alice, memory_id=archived)
                return local.embed_with_tokens(texts)

        monkeypatch.setattr(missing_tokens, "embedder_in_use", lambda: GuardedTokenEmbedder(Slow()))
        assert fill_tokens(owner_id=alice.owner_id, at=now()) == (0, None)
        assert set(blobs(alice)) == {changed}
        assert close(opened(alice, changed), matrix_of("Three herons."))


def test_a_text_of_unknown_signs_is_found_by_its_words_only(alice: Actor, local: MiniLmEmbedder) -> None:
    for text in ("z" * 300, "桜が咲いた", "We drank tea."):
        remember(actor=alice, draft=Draft(text=text))
    answer = recall(actor=alice, request=RecallRequest(query="桜", threshold=0.3))
    assert [hit.memory.text for hit in answer.hits] == ["桜が咲いた"]
    assert "embedder.unfamiliar" in answer.degraded
