"""Traces of a whole installation: the web process and the queue's workers send theirs, also what waits at their end."""

from __future__ import annotations

import pytest

from tests.integration.operations.installation import Installation, printed_key
from tests.integration.operations.test_planted_text import needles, word
from tests.integration.telemetry.receiver import attributes, receiving

pytestmark = pytest.mark.slow


def test_web_and_workers_send_spans_and_nothing_that_was_said(installation: Installation) -> None:
    words = {place: word(place) for place in ("text", "tag", "query")}
    with receiving() as receiver:
        installation.environment |= {
            "TRACING": "otlp",
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.address,
            # So long that nothing but an end sends what waits.
            "OTEL_BSP_SCHEDULE_DELAY": "3600000",
        }
        key = printed_key(installation.start())
        draft = {"text": f"She said {words['text']}.", "tags": [words["tag"]]}
        assert installation.ask("memories", draft, key=key)[0] == 201
        assert installation.ask("recall", {"query": f"{words['query']} {words['text']}?"}, key=key)[0] == 200
        installation.wait_for(lambda: installation.health()["worker"] == "ok", "the worker's first job")
        assert installation.stop() == 0

        assert receiver.named("POST /api/v1/memories")
        (request,) = receiver.named("POST /api/v1/recall")
        (recall,) = receiver.named("recall")
        assert recall.parent_span_id == request.span_id
        assert {attributes(job)["job"] for job in receiver.named("job")} >= {"run_due_work"}
        sent = b"".join(receiver.bodies)
        assert [needle for needle in needles(words) if needle in sent] == []


def test_without_the_address_of_a_collector_nothing_starts(installation: Installation) -> None:
    refused = installation.run("up", environment={"TRACING": "otlp"})
    assert refused.returncode != 0
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in refused.stderr
    assert installation.processes() == []
