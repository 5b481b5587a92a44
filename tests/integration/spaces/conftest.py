"""An installation whose vectors are 384 wide and that is to move to 768, and short ways to look at them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memory.providers.composition import forget_providers


@pytest.fixture(autouse=True)
def two_embedders(settings: Any) -> Iterator[None]:
    """Have the embedder in use and the one to move to configured, and no rest between batches."""
    settings.EMBEDDING_PROVIDER = "stub"
    settings.EMBEDDING_MODEL = "characters-384"
    settings.EMBEDDING_SECOND_PROVIDER = "stub"
    settings.EMBEDDING_SECOND_MODEL = "characters-768"
    settings.EMBEDDING_FILL_SHARE = 1.0
    forget_providers()
    yield
    forget_providers()
