"""`/metrics` of a whole installation: what the worker counts is told by the web process, and nobody is told of."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families as families

from tests.integration.operations.installation import Installation, printed_key
from tests.integration.operations.test_planted_text import needles, word

pytestmark = pytest.mark.slow


def token_of(installation: Installation) -> str:
    return (installation.home / "config" / "metrics.token").read_text().strip()


def scraped(installation: Installation) -> str:
    request = urllib.request.Request(
        f"{installation.address}/metrics", headers={"Authorization": f"Bearer {token_of(installation)}"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return str(answer.read().decode())


def total(text: str, name: str, **labels: str) -> float:
    return sum(
        sample.value
        for family in families(text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


def files(installation: Installation) -> list[Path]:
    return sorted((installation.home / "cache" / "metrics").rglob("*.db"))


def test_web_and_worker_count_together(running: Installation) -> None:
    running.wait_for(lambda: total(scraped(running), "loci_job_runs_total", outcome="ok") > 0, "a job to be counted")
    running.wait_for(lambda: total(scraped(running), "loci_worker_last_seen_timestamp_seconds") > 0, "the worker")
    text = scraped(running)
    assert total(text, "loci_http_requests_total", route="/metrics") > 0
    assert total(text, "loci_up") == 1
    assert total(text, "loci_database_pool_connections") >= 1
    assert (running.home / "config" / "metrics.token").stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o002 == 0 for path in files(running))


def test_nothing_that_was_said_is_told(running: Installation) -> None:
    words = {place: word(place) for place in ("text", "tag", "source", "speaker", "session", "agent", "query", "path")}
    made = running.run("agent", "create", words["agent"], "--label", words["agent"])
    assert made.returncode == 0, made.stderr
    key = next(part for part in made.stdout.split() if part.startswith("loci_"))
    draft = {"text": f"She said {words['text']}.", "tags": [words["tag"]], "speaker": words["speaker"]}
    assert running.ask("memories", {**draft, "source": f"user:{words['source']}/chat"}, key=key)[0] == 201
    turns = [{"role": "user", "text": f"About {words['text']}."}]
    assert running.ask("turns", {"session": words["session"], "turns": turns}, key=key)[0] in (200, 201)
    assert running.ask("recall", {"query": f"{words['text']} and {words['query']}?"}, key=key)[0] == 200
    assert running.ask(f"memories/{words['path']}", key=key)[0] == 404
    assert running.ask(f"{words['path']}?said={words['query']}", key=key)[0] == 404
    event = {"request": words["query"], "matched_spoke": words["agent"], "outcome": "completed"}
    running.ask("pipeline-coverage/events", event, key=key)

    text = scraped(running)
    assert total(text, "loci_memories_stored_total") >= 2
    told = text.encode() + b"".join(path.read_bytes() for path in files(running))
    assert [needle for needle in needles(words) if needle in told] == []
    status, body = running.ask("memories", {"text": "another"}, key=key)
    assert status == 201
    assert body["id"] not in scraped(running)


def test_counts_do_not_go_back_when_a_process_is_replaced(installation: Installation) -> None:
    key = printed_key(installation.start())
    for _ in range(3):
        assert installation.ask("stats", key=key)[0] == 200
    before = total(scraped(installation), "loci_http_requests_total", route="/api/v1/stats")
    assert before == 3
    web = installation.web()
    web.kill()
    installation.wait_for(lambda: not web.is_running() or web.status() == psutil.STATUS_ZOMBIE, "the web process's end")
    installation.wait_for(installation.answers, "another web process")
    assert installation.ask("stats", key=key)[0] == 200
    text = scraped(installation)
    assert total(text, "loci_http_requests_total", route="/api/v1/stats") == before + 1
    assert not [path for path in files(installation) if f"_{web.pid}-" in path.name]

    # What a former run has counted is that run's.
    assert installation.stop() == 0
    installation.start()
    assert total(scraped(installation), "loci_http_requests_total", route="/api/v1/stats") == 0
    assert installation.stop() == 0
