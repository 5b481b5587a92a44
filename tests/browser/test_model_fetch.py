"""A model that its server lacks, fetched from the banner in a real browser."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections
from playwright.sync_api import BrowserContext, Page, expect

from memory.providers import guarded_embedder
from memory.providers.composition import embedder, forget_providers
from memory.providers.ollama_embedder import OllamaEmbedder
from memory.services import model_fetch
from memory.services.actors import Actor
from memory.services.model_fetch import go_on
from tests.browser.conftest import WAIT_MS, Watch, log_in
from tests.browser.looking import look
from tests.ollama_like import OllamaLike


@pytest.fixture
def ollama(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaLike]:
    monkeypatch.setattr(guarded_embedder, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(model_fetch, "SECONDS_BETWEEN_NOTES", 0.0)
    with OllamaLike() as server:
        server.shop.gate = threading.Event()
        settings.EMBEDDING_PROVIDER = "ollama"
        settings.EMBEDDING_MODEL = ""
        settings.EMBEDDING_BASE_URL = server.address
        forget_providers()
        yield server
        used = embedder().inner
        if isinstance(used, OllamaEmbedder):
            used.close()
    forget_providers()


def work() -> int:
    """Be a worker, on a connection of its own."""
    try:
        return go_on()
    finally:
        connections.close_all()


def test_the_banner_has_it_fetched_shows_how_far_it_is_and_ends(
    page: Page,
    context: BrowserContext,
    make_owner: Callable[..., Actor],
    base_url: str,
    watch: Watch,
    ollama: OllamaLike,
) -> None:
    log_in(context, make_owner("boss", staff=True), base_url)
    watch.listen(page)
    page.set_default_timeout(WAIT_MS)
    page.goto("/")
    banner = page.locator("#meaning")
    look(page, "model-missing", scheme="light", size="wide")
    banner.get_by_role("button", name="Fetch the model").click()
    expect(banner.get_by_role("status")).to_contain_text("The model is being fetched.")
    assert ollama.shop.gate is not None
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        expect(banner.get_by_role("progressbar")).to_have_attribute("value", "50")
        look(page, "model-fetched", scheme="light", size="wide")
        ollama.shop.gate.set()
        assert working.result(30) == 1
    expect(banner).to_contain_text("Every memory is read for meaning.")
    expect(banner.get_by_role("progressbar")).to_have_count(0)
    page.goto("/")
    expect(page.locator(".side .embedder")).to_have_attribute("data-state", "ok")
    assert watch.complaints == []


def test_it_is_left_off_from_the_banner(
    page: Page,
    context: BrowserContext,
    make_owner: Callable[..., Actor],
    base_url: str,
    watch: Watch,
    ollama: OllamaLike,
) -> None:
    log_in(context, make_owner("boss", staff=True), base_url)
    watch.listen(page)
    page.set_default_timeout(WAIT_MS)
    page.goto("/")
    banner = page.locator("#meaning")
    banner.get_by_role("button", name="Fetch the model").click()
    expect(banner.get_by_role("status")).to_contain_text("The model is being fetched.")
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        expect(banner.get_by_role("progressbar")).to_have_attribute("value", "50")
        banner.get_by_role("button", name="Leave off").click()
        expect(banner.get_by_role("button", name="Fetch the model")).to_be_visible()
        assert working.result(30) == 0
    assert ollama.left_off.wait(30)
    assert watch.complaints == []
