"""Embeddings through the optional library fastembed, for `BAAI/bge-small-en-v1.5` and its other models."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memory.errors import EmbedderUnavailable
from memory.ports import Vectors
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.per_process import PerProcess
from memory.providers.vectors import checked
from memory.providers.wellformed import well_formed
from runtime.paths import cache_directory

DEFAULT_MODEL = "BAAI/bge-small-en-v1.5"
LONGEST_TEXT = 16_384
BATCH = 32
LIBRARY = "fastembed"


class FastembedEmbedder:
    """Embeds with fastembed in this process; the model is loaded at first use and shared by all threads.

    Embedding never fetches anything: the library retries for most of a minute where no hub is reachable, which no
    request may wait for. `fetch` does it once, at start or by hand, unless a folder with the files is given.
    """

    provider = "fastembed"

    def __init__(
        self,
        *,
        model: str = DEFAULT_MODEL,
        folder: Path | None = None,
        threads: int = 0,
        cache: Path | None = None,
    ) -> None:
        """Prepare without loading anything.

        Args:
            model: a name that fastembed knows.
            folder: folder with the model's files (`specific_model_path`); nothing is fetched then.
            threads: threads for one batch; 0 leaves it to the library.
            cache: where fetched models are kept; `models/fastembed` in the cache directory when left out.

        Raises:
            ProviderMisconfigured: a folder that does not exist, or threads out of range.
        """
        if folder is not None and not folder.is_dir():
            raise ProviderMisconfigured("EMBEDDING_MODEL_PATH is not a folder.")
        if not 0 <= threads <= 64:
            raise ProviderMisconfigured("fastembed can use 1 to 64 threads, or 0 to choose.")
        self._model_name = model.strip() or DEFAULT_MODEL
        self._folder = folder
        self._threads = threads or None
        self._cache = cache or cache_directory() / "models" / "fastembed"
        self._loaded = PerProcess(self._load)
        self._dimension: int | None = None

    def __repr__(self) -> str:
        return f"FastembedEmbedder(model={self._model_name!r})"

    @property
    def model(self) -> str:
        """Give the model's name."""
        return self._model_name

    @property
    def dimension(self) -> int:
        """Give the width; loads the model and embeds one word at the first call; raises EmbedderUnavailable."""
        if self._dimension is None:
            self._dimension = int(self._embed(["width"]).shape[1])
        return self._dimension

    def fetch(self) -> None:
        """Fetch the model into the cache, which may take minutes, and load it; raises EmbedderUnavailable."""
        if self._folder is None:
            self._open(download=True)
        self.warm()

    def warm(self) -> None:
        """Load the model now; raises EmbedderUnavailable when that fails."""
        self._loaded.get()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts, in order.

        Args:
            texts: any strings; at most 16,384 characters of one are read, and the model's own token limit applies.

        Returns:
            float32 array of shape (len(texts), dimension), every row of length 1.

        Raises:
            EmbedderUnavailable: the library or the model is missing, or computing failed.
        """
        width = self.dimension
        if not texts:
            return np.empty((0, width), dtype=np.float32)
        return self._embed([well_formed(text, LONGEST_TEXT) for text in texts])

    def _embed(self, texts: list[str]) -> Vectors:
        loaded = self._loaded.get()
        try:
            rows = list(loaded.embed(texts, batch_size=BATCH))
        except Exception as error:
            # The library lets exceptions of its runtimes through; whatever it is, there are no vectors.
            raise EmbedderUnavailable(f"fastembed could not embed ({error.__class__.__name__}).") from None
        return checked(rows, len(texts), self._dimension)

    def _load(self) -> Any:
        return self._open(download=False)

    def _open(self, *, download: bool) -> Any:
        if importlib.util.find_spec(LIBRARY) is None:
            raise EmbedderUnavailable(
                "The library fastembed is not installed. Run `pip install fastembed` in Loci's environment, "
                "or choose another EMBEDDING_PROVIDER.",
                code="embedder.not_installed",
            )
        options: dict[str, Any] = {"local_files_only": not download, "cache_dir": str(self._cache)}
        if self._folder is not None:
            options["specific_model_path"] = str(self._folder)
        try:
            # The library loads the same runtime, which must have been told to keep quiet before.
            importlib.import_module("memory.providers.onnx_runtime")
            library = importlib.import_module(LIBRARY)
            return library.TextEmbedding(model_name=self._model_name, threads=self._threads, **options)
        except Exception as error:
            # Hub, file and runtime errors of three libraries.
            raise EmbedderUnavailable(
                f"fastembed cannot load its model ({error.__class__.__name__}). Fetch the model while a hub can be "
                "reached, or put its files into a folder and name it in EMBEDDING_MODEL_PATH."
            ) from error
