"""What pages say of search by meaning, and having the vectors made that wait."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from memory.models import DueWork, PendingVector, owner_scope
from memory.palace import meaning
from memory.providers import guarded_embedder
from memory.providers.composition import forget_providers
from memory.providers.guarded_embedder import GuardedEmbedder
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.due_work import run_due_work
from memory.services.health import heartbeat

HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def fresh_providers() -> Iterator[None]:
    forget_providers()
    yield
    forget_providers()


@pytest.fixture
def waiting(alice: Actor, store: Callable[..., UUID], settings: Any) -> int:
    """Have two memories wait for their vectors, put off for an hour since the embedder was away."""
    former = settings.EMBEDDING_PROVIDER
    settings.EMBEDDING_PROVIDER = "none"
    forget_providers()
    store("We met in Lisbon.")
    store("I like green tea.")
    settings.EMBEDDING_PROVIDER = former
    forget_providers()
    with owner_scope(alice.owner_id):
        return int(PendingVector.objects.update(next_at=now() + timedelta(hours=1)))


class Ollama(BaseHTTPRequestHandler):
    """Answers as Ollama does: without the model, out of order, or with vectors of three numbers."""

    answer = "missing"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, said = {
            "missing": (404, {"error": 'model "nomic-embed-text" not found, try pulling it first'}),
            "away": (503, {"error": "busy"}),
            "there": (200, {"embeddings": [[1.0, 2.0, 3.0]] * len(asked.get("input", []))}),
        }[Ollama.answer]
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def ollama(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Ollama]]:
    """Have a server without the model, which each page asks anew; `answer` says how it answers."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ollama)
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(Ollama, "answer", "missing")
    monkeypatch.setattr(meaning, "MOMENT", 30.0)
    monkeypatch.setattr(guarded_embedder, "LOOK_SECONDS", 0.0)
    settings.EMBEDDING_PROVIDER = "ollama"
    settings.EMBEDDING_BASE_URL = f"http://127.0.0.1:{server.server_port}"
    forget_providers()
    yield Ollama
    server.shutdown()
    server.server_close()


def test_all_is_well_until_it_is_put_away(palace: Client) -> None:
    html = palace.get("/").content.decode()
    assert 'class="notice success undo"' in html
    assert "Put away" in html
    assert "Put away" not in palace.get("/archive/").content.decode()
    palace.post("/embedding/seen/", {"next": "/"})
    assert "Put away" not in palace.get("/").content.decode()
    assert "Search by meaning is on" in palace.get("/").content.decode()


def test_what_waits_is_made_when_that_is_asked(palace: Client, alice: Actor, waiting: int) -> None:
    assert waiting == 2
    html = palace.get("/").content.decode()
    assert "2 memories wait to be read for meaning." in html
    assert "Embed all" in html
    begun = palace.post("/embedding/embed/", headers=HTMX).content.decode()
    assert 'hx-trigger="every 2s"' in begun
    assert "2 memories wait" in begun
    with owner_scope(alice.owner_id):
        assert DueWork.objects.filter(job=DueWork.VECTORS, due_at__lte=now()).exists()
    run_due_work()
    done = palace.get("/embedding/", headers=HTMX).content.decode()
    assert "Every memory is read for meaning." in done
    assert "hx-trigger" not in done
    assert "Embed all" not in palace.get("/").content.decode()


def test_without_scripts_the_button_leads_back(palace: Client, waiting: int) -> None:
    answer = palace.post("/embedding/embed/", {"next": "/archive/"})
    assert answer["Location"] == "/archive/"
    assert "A worker reads them for meaning now" in palace.get("/archive/").content.decode()
    assert palace.get("/embedding/")["Location"] == "/"


def test_asking_twice_or_for_nothing_does_no_harm(palace: Client, stranger: Client, waiting: int, alice: Actor) -> None:
    palace.post("/embedding/embed/")
    palace.post("/embedding/embed/")
    with owner_scope(alice.owner_id):
        assert PendingVector.objects.count() == 2
    stranger.post("/embedding/embed/")
    assert "No memory waits" in stranger.get("/").content.decode()


def test_a_server_that_is_not_there_is_told_with_what_to_do(
    palace: Client, settings: Any, store: Callable[..., UUID]
) -> None:
    settings.EMBEDDING_PROVIDER = "ollama"
    settings.EMBEDDING_BASE_URL = "http://127.0.0.1:9"
    forget_providers()
    store("We met in Lisbon.")
    answer = palace.get("/archive/")
    assert answer.context["embedder"].state == "failing"
    html = answer.content.decode()
    assert "Search by meaning is unavailable; I search by words." in html
    assert "Check the embedder" in html


def test_a_missing_model_is_told_with_what_to_type(palace: Client, ollama: type[Ollama]) -> None:
    """Before anything is stored or searched, with the provider's own model."""
    answer = palace.get("/archive/")
    assert answer.context["embedder"].state == "missing"
    assert "<code>ollama pull nomic-embed-text</code>" in answer.content.decode()
    assert "Search by meaning is on" not in palace.get("/").content.decode()


def test_what_is_missing_comes_and_goes_without_a_search(palace: Client, ollama: type[Ollama]) -> None:
    assert palace.get("/").context["embedder"].state == "missing"
    ollama.answer = "away"
    assert palace.get("/").context["embedder"].state == "failing"
    ollama.answer = "there"
    assert "Search by meaning is on" in palace.get("/").content.decode()


def test_a_server_that_has_not_answered_yet_is_not_praised(
    palace: Client, ollama: type[Ollama], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GuardedEmbedder, "look", lambda self, *, seconds: None)
    html = palace.get("/").content.decode()
    assert "Search by meaning was not tried yet: <b>ollama / nomic-embed-text</b>" in html
    assert "Search by meaning is on" not in html


def test_without_a_worker_nobody_is_said_to_be_at_it(
    palace: Client, waiting: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "SILENCE", timedelta(0))
    begun = palace.post("/embedding/embed/", headers=HTMX).content.decode()
    assert "No worker is running, so nothing begins it." in begun
    assert "A worker is at it" not in begun
    html = palace.post("/embedding/embed/", {"next": "/archive/"}, follow=True).content.decode()
    assert "No worker is running" in html
    assert "A worker reads them" not in html


def test_recent_memories_by_word_and_category(palace: Client, store: Callable[..., UUID]) -> None:
    store("I like green tea.", category="preference")
    store("I like black tea.", category="person")
    html = palace.get("/recent/", {"recent": "tea", "category": "preference"}, headers=HTMX).content.decode()
    assert "green" in html
    assert "black" not in html
    assert "data-drawer" in html
    page = palace.get("/recent/", {"category": "goal"}).content.decode()
    assert "None of the newest 20 is of this category." in page
    assert '<option value="goal" selected>' in page


def test_the_numbers_beside_every_page(palace: Client, waiting: int) -> None:
    html = palace.get("/").content.decode()
    assert "<li>2 memories</li>" in html
    assert "<li>2 waiting</li>" in html
    assert 'href="/archive/growth/"' in html
    assert 'href="/archive/transfer/"' in html
