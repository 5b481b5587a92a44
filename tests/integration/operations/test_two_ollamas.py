"""Ollama as the second embedder, or as both: each is looked after at its own server."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse

from memory.management.ollama_start import ollama_services
from memory.models import EmbeddingSpace, SpaceState
from memory.providers.composition import embedder, forget_providers, second_embedder
from memory.providers.ollama_embedder import OllamaEmbedder
from memory.services import model_fetch
from memory.services.health import embedder_finding
from memory.services.model_fetch import ask_for_fetch, go_on
from memory.services.ollama import ollama_findings
from memory.services.spaces.in_use import embedder_in_use
from tests.integration.operations.test_ollama_command import run
from tests.integration.palace.conftest import client_of
from tests.ollama_like import OllamaLike

MODEL, OTHER = "nomic-embed-text", "tiny"
NOBODY = "http://127.0.0.1:9"


@pytest.fixture
def servers(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[OllamaLike, OllamaLike]]:
    """Two servers, of which each can fetch both models and has none."""
    monkeypatch.setattr(model_fetch, "SECONDS_BETWEEN_NOTES", 0.0)
    settings.OLLAMA_BASE_URL = NOBODY
    with OllamaLike() as first, OllamaLike() as second:
        yield first, second
        for made in (embedder(), second_embedder()):
            if made is not None and isinstance(made.inner, OllamaEmbedder):
                made.inner.close()
    forget_providers()


def embed_with(settings: Any, first: OllamaLike | None, second: OllamaLike | None) -> None:
    """Have the embedders be Ollama's at these servers; where there is none, others."""
    settings.EMBEDDING_PROVIDER = "ollama" if first else "stub"
    settings.EMBEDDING_MODEL = ""
    settings.EMBEDDING_BASE_URL = first.address if first else NOBODY
    settings.EMBEDDING_API_KEY = "key-first"
    settings.EMBEDDING_SECOND_PROVIDER = "ollama" if second else "stub"
    settings.EMBEDDING_SECOND_MODEL = OTHER if second else "characters-768"
    settings.EMBEDDING_SECOND_BASE_URL = second.address if second else NOBODY
    settings.EMBEDDING_SECOND_API_KEY = "key-second"
    forget_providers()


def names() -> list[tuple[str, str]]:
    return [(found.name, found.status) for found in ollama_findings()]


def test_the_second_one_alone(servers: tuple[OllamaLike, OllamaLike], settings: Any) -> None:
    _, second = servers
    embed_with(settings, None, second)
    assert names() == [("second ollama", "degraded")]
    code, report = run("--fetch")
    assert (code, report["model"], report["configured"]) == (0, OTHER, True)
    assert "second" not in report
    assert second.models == [f"{OTHER}:latest"]
    assert second.headers["Authorization"] == "Bearer key-second"
    assert names() == [("second ollama", "ok")]
    output = io.StringIO()
    call_command("ollama", stdout=output)
    assert "does not need it" not in output.getvalue()


def test_the_first_one_beside_another(servers: tuple[OllamaLike, OllamaLike], settings: Any) -> None:
    first, _ = servers
    embed_with(settings, first, None)
    code, report = run("--fetch")
    assert (code, report["model"], report["configured"]) == (0, MODEL, True)
    assert first.headers["Authorization"] == "Bearer key-first"
    assert names() == [("ollama", "ok")]


def test_both_on_two_servers(servers: tuple[OllamaLike, OllamaLike], settings: Any) -> None:
    first, second = servers
    embed_with(settings, first, second)
    first.models.append(f"{MODEL}:latest")
    assert names() == [("ollama", "ok"), ("second ollama", "degraded")]
    code, report = run()
    assert (code, report["ok"], report["steps"][-1]["step"]) == (1, False, "embed")
    assert (report["second"]["model"], report["second"]["ok"]) == (OTHER, False)
    code, report = run("--fetch")
    assert (code, report["ok"], report["second"]["ok"]) == (0, True, True)
    assert (first.models, second.models) == ([f"{MODEL}:latest"], [f"{OTHER}:latest"])
    output = io.StringIO()
    call_command("ollama", stdout=output)
    lines = output.getvalue().splitlines()
    assert [line for line in lines if line.endswith(":")] == [
        f"EMBEDDING_MODEL, {MODEL}:",
        f"EMBEDDING_SECOND_MODEL, {OTHER}:",
    ]


def test_a_model_that_is_named_is_looked_for_where_it_embeds(
    servers: tuple[OllamaLike, OllamaLike], settings: Any
) -> None:
    first, second = servers
    embed_with(settings, first, second)
    assert run("--fetch", "--model", f"{OTHER}:latest")[1]["configured"]
    assert (first.models, second.models) == ([], [f"{OTHER}:latest"])
    first.shop.layers["chat"] = second.shop.layers["chat"] = [10]
    assert not run("--fetch", "--model", "chat")[1]["configured"]
    assert first.models == ["chat:latest"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("model", "place"), [(MODEL, 0), (OTHER, 1), (f"{OTHER}:latest", 1), ("chat", 0)])
def test_an_order_goes_to_the_server_of_the_embedder(
    servers: tuple[OllamaLike, OllamaLike], settings: Any, model: str, place: int
) -> None:
    embed_with(settings, *servers)
    for server in servers:
        server.shop.layers["chat"] = [10]
    ask_for_fetch(model=model)
    assert go_on() == 1
    assert [server.pulls for server in servers] == [int(place == 0), int(place == 1)]


@pytest.mark.django_db(transaction=True)
def test_the_button_fetches_for_the_embedder_in_use(
    servers: tuple[OllamaLike, OllamaLike], settings: Any, make_owner: Any
) -> None:
    first, second = servers
    embed_with(settings, first, second)
    EmbeddingSpace.objects.create(provider="ollama", model=OTHER, dimension=12, state=SpaceState.ACTIVE)
    boss = client_of(make_owner("boss", staff=True))
    assert embedder_in_use().model == OTHER
    boss.post("/embedding/fetch/")
    assert go_on() == 1
    assert (first.models, second.models) == ([], [f"{OTHER}:latest"])
    html = boss.get("/settings/").content.decode()
    assert second.address in html
    assert "EMBEDDING_SECOND_BASE_URL" in html


@pytest.mark.django_db(transaction=True)
def test_staff_sees_on_the_page_of_a_space_that_its_server_lacks_the_model(
    servers: tuple[OllamaLike, OllamaLike], settings: Any, make_owner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed_with(settings, None, servers[1])
    monkeypatch.setattr("memory.admin.views.spaces.MOMENT", 60.0)
    boss, first = client_of(make_owner("boss", staff=True)), embedder()
    used = EmbeddingSpace.objects.create(provider="stub", model=first.model, dimension=64, state=SpaceState.ACTIVE)
    beside = EmbeddingSpace.objects.create(provider="ollama", model=OTHER, dimension=12, state=SpaceState.STANDBY)
    said = [
        "Ollama does not have the model" in boss.get(reverse("loci-admin:space", args=[one.pk])).content.decode()
        for one in (used, beside)
    ]
    assert said == [False, True]


@pytest.mark.django_db(transaction=True)
def test_doctor_asks_the_embedder_in_use(servers: tuple[OllamaLike, OllamaLike], settings: Any, db: Any) -> None:
    """Also where the first one is none: the vectors in use are the second one's."""
    _, second = servers
    embed_with(settings, None, second)
    settings.EMBEDDING_PROVIDER = "none"
    forget_providers()
    second.models.append(f"{OTHER}:latest")
    EmbeddingSpace.objects.create(provider="ollama", model=OTHER, dimension=12, state=SpaceState.ACTIVE)
    output = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("doctor", "--json", stdout=output)
    checks = {check["name"]: check for check in json.loads(output.getvalue())["checks"]}
    assert checks["second ollama"]["status"] == "ok"
    assert checks["embedder"]["detail"] == f"ollama/{OTHER} answers with 12 dimensions."


@pytest.mark.django_db(transaction=True)
def test_doctor_says_of_an_embedder_that_fails_its_probe_what_stands_in(
    servers: tuple[OllamaLike, OllamaLike], settings: Any, db: Any
) -> None:
    first, _ = servers
    embed_with(settings, first, None)
    EmbeddingSpace.objects.create(provider="ollama", model=MODEL, dimension=12, state=SpaceState.ACTIVE)
    EmbeddingSpace.objects.create(provider="stub", model="characters-768", dimension=768, state=SpaceState.STANDBY)
    assert embedder_finding().status == "ok", "nothing has asked it yet"
    output = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("doctor", "--json", stdout=output)
    checks = {check["name"]: check for check in json.loads(output.getvalue())["checks"]}
    found = checks["embedder"]
    assert (found["status"], found["remedy"]) == ("degraded", "python3 manage.py ollama --fetch")
    assert "Recall goes on with stub/characters-768" in found["detail"]


def test_up_starts_one_at_each_address(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.ollama.program", lambda: "/bin/ollama")
    settings.OLLAMA_START = True
    settings.EMBEDDING_PROVIDER = settings.EMBEDDING_SECOND_PROVIDER = "ollama"
    settings.EMBEDDING_BASE_URL, settings.EMBEDDING_SECOND_BASE_URL = "http://127.0.0.1:9", "http://127.0.0.1:7"
    found = [(one.name, one.environment["OLLAMA_HOST"]) for one in ollama_services(print)]
    assert found == [("ollama", "127.0.0.1:9"), ("ollama 2", "127.0.0.1:7")]
    settings.EMBEDDING_SECOND_BASE_URL = "http://localhost:9"
    assert [one.name for one in ollama_services(print)] == ["ollama"]
