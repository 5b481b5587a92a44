"""Providers on loopback, configured for a test and closed after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, Final

from django.test import override_settings

from config.settings.prices import Price
from memory.providers import composition
from tests.contract.providers.loopback_server import Received, Reply, as_json, vector

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
