"""Providers on loopback, configured for a test and closed after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, Final

from django.test import override_settings

from config.settings.prices import Price
from memory.errors import LanguageModelUnavailable
from memory.ports import ChatMessage
from memory.providers import composition
from memory.providers.language_model import ChatLanguageModel
from tests.contract.providers.loopback_server import LoopbackServer, Received, Reply, as_json, vector
from tests.unit.consolidation.chat import said

PRICES: Final = {
    "paid": Price(input=Decimal("0.02"), output=Decimal("0.60")),
    "openai/chat": Price(input=Decimal("0.15"), output=Decimal("0.60")),
    "rank": Price(input=Decimal("0.05"), call=Decimal("0.001")),
}


@contextmanager
def configured(**values: Any) -> Iterator[None]:
    """Build the providers from these settings in the block, and close their connections at its end."""
    with override_settings(**values):
        try:
            yield
        finally:
            for one in (
                composition.embedder().inner,
                composition.language_model(),
                composition.reranker().inner,
            ):
                if hasattr(one, "close"):
                    one.close()
    composition.forget_providers()


def counted(request: Received) -> Reply:
    """Answer `/v1/embeddings` with seven tokens for each text."""
    data = [{"index": at, "embedding": vector(text)} for at, text in enumerate(request.body["input"])]
    return as_json({"data": data, "usage": {"prompt_tokens": 7 * len(data), "total_tokens": 7 * len(data)}})


class Coming:
    """A chat server on one port that goes away and comes back."""

    def __init__(self) -> None:
        """Be there."""
        self._server = LoopbackServer(lambda _: said("Here.")).__enter__()
        self.address, self._port = self._server.address, self._server.port
        self._there = True

    def goes(self) -> None:
        """Answer nobody any more; connections that were kept end, too."""
        if self._there:
            self._server.__exit__(None, None, None)
            model = composition.language_model()
            if isinstance(model, ChatLanguageModel):
                model.close()
        self._there = False

    def comes(self) -> None:
        """Answer again, at the same address."""
        self._server, self._there = LoopbackServer(lambda _: said("Back."), port=self._port).__enter__(), True

    def fails(self) -> bool:
        """Ask it, and tell whether that failed."""
        try:
            composition.language_model().complete([ChatMessage("user", "Are you there?")], component="test")
        except LanguageModelUnavailable:
            return True
        return False


@contextmanager
def going_and_coming() -> Iterator[Coming]:
    """Let a server that comes and goes be the installation's language model."""
    server = Coming()
    try:
        with configured(LLM_BASE_URL=server.address, LLM_MODEL="m", LLM_TIMEOUT=2.0):
            yield server
    finally:
        server.goes()
