"""The optional library: what happens without it, and how it is called where it is."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from memory.errors import EmbedderUnavailable
from memory.providers.fastembed_embedder import DEFAULT_MODEL, FastembedEmbedder
from memory.providers.misconfigured import ProviderMisconfigured

INSTALLED = importlib.util.find_spec("fastembed") is not None


def test_its_name_is_the_published_default() -> None:
    assert (FastembedEmbedder().provider, FastembedEmbedder().model) == ("fastembed", "BAAI/bge-small-en-v1.5")
    assert FastembedEmbedder(model=" ").model == DEFAULT_MODEL


@pytest.mark.skipif(INSTALLED, reason="the library is installed here")
def test_without_the_library_it_says_what_to_install() -> None:
    embedder = FastembedEmbedder()
    uses: list[Callable[[], object]] = [
        lambda: embedder.embed(["a"]),
        lambda: embedder.dimension,
        embedder.warm,
        embedder.fetch,
    ]
    for use in uses:
        with pytest.raises(EmbedderUnavailable, match="pip install fastembed") as caught:
            use()
        assert caught.value.machine_code == "embedder.not_installed"


@pytest.mark.skipif(not INSTALLED, reason="the library is not installed here")
def test_a_folder_without_a_model_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match="EMBEDDING_MODEL_PATH"):
        FastembedEmbedder(folder=tmp_path).embed(["a"])


def test_a_missing_folder_and_absurd_threads_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProviderMisconfigured, match="EMBEDDING_MODEL_PATH"):
        FastembedEmbedder(folder=tmp_path / "none")
    with pytest.raises(ProviderMisconfigured, match="threads"):
        FastembedEmbedder(threads=65)
