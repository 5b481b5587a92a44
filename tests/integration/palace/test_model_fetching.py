"""The banner of a model that its server lacks: who may have it fetched, and how far that is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django_q.models import OrmQ, Schedule

from memory.palace import meaning
from memory.providers import guarded_embedder
from memory.providers.composition import embedder, forget_providers
from memory.providers.ollama_embedder import OllamaEmbedder
from memory.services import model_fetch
from memory.services.clock import now
from memory.services.health import heartbeat
from memory.services.model_fetch import ask_for_fetch, go_on, present_fetch
from tests.integration.palace.conftest import client_of
from tests.ollama_like import OllamaLike

HTMX = {"HX-Request": "true", "HX-Current-URL": "http://testserver/archive/"}
FETCH = "/embedding/fetch/"
PROGRESS = "/embedding/"
POLLS = 'hx-trigger="every 2s"'
MODEL = "nomic-embed-text"


@pytest.fixture(autouse=True)
def ollama(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaLike]:
    """Have a server without the model, which each page asks anew."""
    monkeypatch.setattr(meaning, "MOMENT", 30.0)
    monkeypatch.setattr(guarded_embedder, "LOOK_SECONDS", 0.0)
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


@pytest.fixture
def boss(make_owner: Any) -> Client:
    """The browser of staff."""
    return client_of(make_owner("boss", staff=True))


def says(**values: Any) -> None:
    """Have the order say something else."""
    found = present_fetch()
    assert found is not None
    written = model_fetch._written(replace(found, **values))
    Schedule.objects.filter(name=model_fetch.NAME).update(kwargs=written)


def text_of(answer: Any) -> str:
    return str(answer.content.decode())


def test_staff_has_it_fetched_and_the_banner_follows(boss: Client, ollama: OllamaLike) -> None:
    html = text_of(boss.get("/archive/"))
    assert "Fetch the model" in html
    assert "ollama pull nomic-embed-text" in html
    assert POLLS not in html
    begun = text_of(boss.post(FETCH, headers=HTMX))
    assert "The model is being fetched." in begun
    assert POLLS in begun
    assert 'name="next" value="/archive/"' in begun
    assert OrmQ.objects.count() == 1
    says(state="running", completed=123_400_000, total=274_000_000)
    half = text_of(boss.get(PROGRESS, headers=HTMX))
    assert "123 of 274 MB of the model are fetched." in half
    assert '<progress max="100" value="45"' in half
    says(completed=274_000_000)
    assert "is being checked" in text_of(boss.get(PROGRESS, headers=HTMX))
    says(state="waiting")
    assert go_on() == 1
    done = text_of(boss.get(PROGRESS, headers=HTMX))
    assert "Every memory is read for meaning." in done
    assert POLLS not in done
    assert boss.get("/archive/").context["embedder"].state == "ok"


def test_others_see_how_far_it_is_and_have_no_buttons(palace: Client, boss: Client) -> None:
    assert "Fetch the model" not in text_of(palace.get("/archive/"))
    boss.post(FETCH)
    html = text_of(palace.get("/archive/"))
    assert "The model is being fetched." in html
    assert POLLS in html
    assert "Leave off" not in html
    assert "Leave off" in text_of(boss.get("/archive/"))


@pytest.mark.parametrize("form", [{}, {"cancel": "yes"}])
def test_only_staff_may_say_so(palace: Client, form: dict[str, str]) -> None:
    ask_for_fetch(model=MODEL)
    before = present_fetch()
    for answer in (palace.post(FETCH, form), palace.post(FETCH, form, headers=HTMX)):
        assert answer.status_code == 403
        assert "Only staff has models fetched." in text_of(answer)
    assert present_fetch() == before
    assert OrmQ.objects.count() == 1
    assert Client().post(FETCH, form).status_code == 302
    assert present_fetch() == before


def test_a_form_of_another_site_is_refused(boss: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = boss.cookies
    assert strict.post(FETCH).status_code == 403
    assert boss.get(FETCH).status_code == 405
    assert present_fetch() is None


def test_without_scripts_the_buttons_lead_back(boss: Client) -> None:
    answer = boss.post(FETCH, {"next": "/archive/"})
    assert answer["Location"] == "/archive/"
    assert boss.post(FETCH, {"next": "//elsewhere.example/"})["Location"] == "/"
    assert OrmQ.objects.count() == 2
    assert Schedule.objects.filter(name=model_fetch.NAME).count() == 1
    assert boss.post(FETCH, {"cancel": "yes", "next": "/archive/"})["Location"] == "/archive/"
    assert present_fetch() is None
    assert "Fetch the model" in text_of(boss.get("/archive/"))


def test_why_it_did_not_work_is_told_and_escaped(boss: Client) -> None:
    boss.post(FETCH)
    says(state="waiting", error="Ollama cannot fetch the model: <b>EOF</b>", tries=1)
    waiting = text_of(boss.get("/archive/"))
    assert "It is tried again within a minute." in waiting
    assert "&lt;b&gt;EOF&lt;/b&gt;" in waiting
    says(state="failed", tries=3)
    failed = text_of(boss.get("/archive/"))
    assert "The model could not be fetched." in failed
    assert "<b>EOF" not in failed
    assert "Try again" in failed
    assert POLLS not in failed


def test_the_words_of_the_server_are_for_staff(palace: Client, boss: Client) -> None:
    boss.post(FETCH)
    for state, sentence in (
        ("waiting", "It is tried again within a minute."),
        ("failed", "Staff sees why, and can try again."),
    ):
        says(state=state, error="Ollama cannot fetch the model: denied at 10.1.2.3", tries=3)
        assert "10.1.2.3" in text_of(boss.get("/archive/"))
        for html in (text_of(palace.get("/archive/")), text_of(palace.get(PROGRESS, headers=HTMX))):
            assert sentence in html
            assert "10.1.2.3" not in html


def test_a_model_that_was_fetched_and_removed_is_missing_again(boss: Client, ollama: OllamaLike) -> None:
    boss.post(FETCH)
    assert go_on() == 1
    ollama.models.clear()
    assert "is tried now" in text_of(boss.get(PROGRESS, headers=HTMX))
    says(noted_at=now() - timedelta(minutes=5))
    assert "Fetch the model" in text_of(boss.get(PROGRESS, headers=HTMX))


def test_an_order_for_another_model_is_none_for_this_one(boss: Client) -> None:
    ask_for_fetch(model="tiny")
    assert "Fetch the model" in text_of(boss.get("/archive/"))


def test_without_a_worker_nobody_is_said_to_be_at_it(boss: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "SILENCE", timedelta(0))
    assert "No worker is running, so nothing begins it." in text_of(boss.post(FETCH, headers=HTMX))
    assert "No worker is running" in text_of(boss.post(FETCH, {"next": "/archive/"}, follow=True))


def test_nothing_is_ordered_where_another_provider_embeds(boss: Client, settings: Any) -> None:
    settings.EMBEDDING_PROVIDER = "stub"
    forget_providers()
    boss.post(FETCH)
    assert present_fetch() is None
