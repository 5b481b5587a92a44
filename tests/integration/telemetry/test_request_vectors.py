"""Vectors of requests: when they are made and by whom, what becomes of old ones, and what is not in them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.db import connection

from memory.errors import EmbedderUnavailable
from memory.models import DueWork, EmbeddingSpace, SpaceState, owner_scope
from memory.ports import Vectors
from memory.ports.live import add_announcer
from memory.ports.outbound import present_behalf
from memory.providers.composition import embedder
from memory.providers.stub_embedder import StubEmbedder
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.due_work import run_due_work
from memory.services.embedding import active_space
from telemetry.models import RequestVector, TurnEvent
from telemetry.services.coverage import request_vectors
from telemetry.services.coverage.cache import reports
from telemetry.services.coverage.parts import CoverageReport
from telemetry.services.coverage.reporting import ReportRequest, coverage_report
from telemetry.services.coverage.request_vectors import AT_ONCE, JOB, fill_vectors
from telemetry.services.turns.drafts import TurnDraft
from telemetry.services.turns.recording import record_events
from telemetry.services.turns.state import state

pytestmark = pytest.mark.django_db

MANY = AT_ONCE + 20


@pytest.fixture(autouse=True)
def _letters(settings: Any) -> None:
    settings.EMBEDDING_PROVIDER = "stub"


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the texts that the embedder is given, and for whom."""
    texts: list[str] = []
    real = StubEmbedder.embed

    def embed(self: StubEmbedder, given: Any) -> Vectors:
        behalf = present_behalf()
        texts.extend(f"{behalf.component if behalf else 'nobody'}: {text}" for text in given)
        return real(self, given)

    monkeypatch.setattr(StubEmbedder, "embed", embed)
    return texts


def tell(actor: Actor, *requests: str, spoke: str = "fallback") -> None:
    record_events(actor=actor, events=[TurnDraft(request=one, matched_spoke=spoke) for one in requests])


def tell_many(actor: Actor, count: int = MANY) -> None:
    tell(actor, *(f"{'a' * 20} number {number}" for number in range(count)))


def report_of(actor: Actor) -> CoverageReport:
    return coverage_report(actor=actor, request=ReportRequest())


def stored(actor: Actor) -> int:
    with owner_scope(actor.owner_id):
        return int(RequestVector.objects.count())


def due() -> list[str]:
    return list(DueWork.objects.filter(job=JOB).values_list("job", flat=True))


class TestAtOnce:
    def test_a_few_are_made_for_the_report(self, alice: Actor, heard: list[str]) -> None:
        tell(alice, "book a table", "book a table", "Book a  table for two")
        report = report_of(alice)
        assert (report.pending, report.pending_requests, report.degraded) == (False, 0, "")
        assert all(one.by_vector for one in report.clusters)
        assert sorted(heard) == ["telemetry: Book a table for two", "telemetry: book a table"]
        assert stored(alice) == 2

    def test_they_are_made_once(self, alice: Actor, heard: list[str]) -> None:
        tell(alice, "book a table")
        report_of(alice)
        reports.forget()
        tell(alice, "book a table", "rent a car")
        report_of(alice)
        assert heard == ["telemetry: book a table", "telemetry: rent a car"]

    def test_personal_data_never_reaches_the_model(self, alice: Actor, heard: list[str]) -> None:
        tell(alice, "Write to ann.smith@example.org", "Write to bob.jones@example.com", "Call +1 202 555 0143 now")
        report_of(alice)
        assert sorted(set(heard)) == ["telemetry: Call [PHONE_INTERNATIONAL] now", "telemetry: Write to [EMAIL]"]
        # What differs in personal data alone has one vector.
        assert stored(alice) == 2

    def test_the_space_is_opened_by_the_first_report(self, alice: Actor) -> None:
        assert not EmbeddingSpace.objects.exists()
        tell(alice, "book a table")
        assert report_of(alice).clusters[0].by_vector
        assert EmbeddingSpace.objects.get().state == SpaceState.ACTIVE


class TestByTheWorker:
    def test_many_are_left_to_the_worker_and_announced(self, alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        told: list[tuple[str, int]] = []
        add_announcer(lambda owner, sort, object_id, version: told.append((sort, version)))
        tell_many(alice)
        report = report_of(alice)
        assert (report.pending, report.pending_requests) == (True, MANY)
        assert [one.by_vector for one in report.clusters] == [False]
        assert (stored(alice), due()) == (0, [JOB])
        told.clear()
        assert run_due_work()[JOB] == MANY
        assert (stored(alice), due()) == (MANY, [])
        with owner_scope(alice.owner_id):
            found = state()
        assert found is not None
        assert told == [("coverage", found.version)]
        report = report_of(alice)
        assert (report.pending, report.pending_requests) == (False, 0)
        assert all(one.by_vector for one in report.clusters)

    def test_a_look_at_a_pending_report_calls_nobody_again(self, alice: Actor) -> None:
        tell_many(alice)
        report_of(alice)
        later = now() + timedelta(minutes=10)
        DueWork.objects.filter(job=JOB).update(due_at=later)
        report_of(alice)
        assert DueWork.objects.get(job=JOB).due_at == later

    def test_a_long_job_turns_to_other_work_and_goes_on(self, alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(request_vectors, "MOST_SECONDS", 0.0)
        tell_many(alice)
        moment = now()
        made, again = fill_vectors(owner_id=alice.owner_id, at=moment)
        assert (made, again) == (request_vectors.BATCH, moment)
        assert fill_vectors(owner_id=alice.owner_id, at=moment)[0] == MANY - request_vectors.BATCH
        assert fill_vectors(owner_id=alice.owner_id, at=moment) == (0, None)

    def test_events_that_go_while_the_model_works_leave_nothing(
        self, alice: Actor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tell(alice, "book a table", "rent a car, and another one for my friend who comes later")
        real = StubEmbedder.embed

        def embed(self: StubEmbedder, given: Any) -> Vectors:
            with owner_scope(alice.owner_id):
                TurnEvent.objects.filter(pk=TurnEvent.objects.latest("pk").pk).delete()
            return real(self, given)

        monkeypatch.setattr(StubEmbedder, "embed", embed)
        fill_vectors(owner_id=alice.owner_id, at=now())
        with owner_scope(alice.owner_id):
            assert set(RequestVector.objects.values_list("request_hash", flat=True)) == set(
                TurnEvent.objects.values_list("request_hash", flat=True)
            )
            assert RequestVector.objects.count() == 1

    def test_the_worker_without_an_embedder_has_nothing_to_do(self, alice: Actor, settings: Any) -> None:
        tell_many(alice)
        settings.EMBEDDING_PROVIDER = "none"
        assert fill_vectors(owner_id=alice.owner_id, at=now()) == (0, None)


class TestTrouble:
    def test_an_embedder_that_is_down(self, alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(self: StubEmbedder, given: Any) -> Vectors:
            raise EmbedderUnavailable("It is away.")

        monkeypatch.setattr(StubEmbedder, "embed", fail)
        tell(alice, "book a table")
        report = report_of(alice)
        assert [one.by_vector for one in report.clusters] == [False]
        assert report.pending_requests == 1
        moment = now()
        made, again = fill_vectors(owner_id=alice.owner_id, at=moment)
        assert made == 0
        assert again is not None
        assert again > moment

    def test_an_embedder_whose_circuit_is_open_is_named(self, alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(self: StubEmbedder, given: Any) -> Vectors:
            raise EmbedderUnavailable("It is away.")

        monkeypatch.setattr(StubEmbedder, "embed", fail)
        tell(alice, "book a table")
        for _ in range(20):
            if embedder().state().status == "failing":
                break
            with pytest.raises(EmbedderUnavailable):
                embedder().embed(["x"])
        report = report_of(alice)
        assert (report.degraded, report.pending, report.pending_requests) == ("embedder.unavailable", False, 1)

    def test_another_model_than_that_of_the_vectors(self, alice: Actor) -> None:
        EmbeddingSpace.objects.create(provider="other", model="m", dimension=3, state=SpaceState.ACTIVE)
        tell(alice, "book a table")
        report = report_of(alice)
        assert (report.degraded, report.pending) == ("embedder.other_space", False)
        assert [one.by_vector for one in report.clusters] == [False]

    def test_vectors_of_another_space_or_width_are_made_anew(self, alice: Actor, heard: list[str]) -> None:
        tell(alice, "book a table", "rent a car, and another one for my friend who comes later")
        report_of(alice)
        heard.clear()
        other = EmbeddingSpace.objects.create(provider="other", model="m", dimension=3)
        with owner_scope(alice.owner_id), connection.cursor() as cursor:
            first, second = RequestVector.objects.order_by("pk").values_list("pk", flat=True)
            cursor.execute("UPDATE telemetry_requestvector SET vec = '[1,2,3]' WHERE id = %s", [first])
            cursor.execute("UPDATE telemetry_requestvector SET space_id = %s WHERE id = %s", [other.pk, second])
        reports.forget()
        report = report_of(alice)
        assert len(heard) == 2
        assert (report.pending, [one.by_vector for one in report.clusters]) == (False, [True, True])
        with owner_scope(alice.owner_id):
            widths = {len(row.vec) for row in RequestVector.objects.filter(space_id=active_space().pk)}
        assert widths == {StubEmbedder.dimension}

    def test_a_request_that_does_not_open_is_not_tried_again(self, alice: Actor, heard: list[str]) -> None:
        tell(alice, "book a table", "rent a car, and another one for my friend who comes later")
        with owner_scope(alice.owner_id), connection.cursor() as cursor:
            cursor.execute(
                "UPDATE telemetry_turnevent SET request = 'enc:v1:' || repeat('A', 100) WHERE id = %s",
                [TurnEvent.objects.latest("pk").pk],
            )
        report = report_of(alice)
        assert (report.pending, report.pending_requests) == (False, 0)
        assert sorted(one.by_vector for one in report.clusters) == [False, True]
        reports.forget()
        report_of(alice)
        assert heard == ["telemetry: book a table"]


def test_the_model_that_is_shipped_puts_paraphrases_together(alice: Actor, settings: Any) -> None:
    settings.EMBEDDING_PROVIDER = "local"
    tell(
        alice,
        "What will the weather be like in Lisbon tomorrow?",
        "What is the weather going to be in Lisbon tomorrow?",
        "Tell me the weather in Lisbon tomorrow",
    )
    tell(alice, "Convert this PDF to a Word document", "Convert the PDF into a Word document", spoke="files")
    report = report_of(alice)
    assert [(one.count, one.matched_spokes) for one in report.clusters] == [(3, ("fallback",)), (2, ("files",))]
    with owner_scope(alice.owner_id):
        lengths = [float(np.linalg.norm(row.vec)) for row in RequestVector.objects.all()]
    assert lengths == pytest.approx([1.0] * 5, abs=0.01)
