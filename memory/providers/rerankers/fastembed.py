"""A cross-encoder through the optional library fastembed, from a folder with the model's files."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memory.errors import RerankerUnavailable
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.per_process import PerProcess
from memory.providers.rerankers.deadline import Deadline, checked_seconds
from memory.providers.rerankers.scores import checked_scores, refuse_too_many
from memory.providers.wellformed import well_formed

LIBRARY: Final = "fastembed"
MODULE: Final = "fastembed.rerank.cross_encoder"
DEFAULT_MODEL: Final = "Xenova/ms-marco-MiniLM-L-6-v2"
LONGEST_TEXT: Final = 4_000
BATCH: Final = 8


class FastembedCrossEncoder:
    """Scores with fastembed in this process; the model is loaded at first use, and never fetched."""

    provider = "fastembed"
    local = True
    prompts = False
    most_texts = 50

    def __init__(self, *, folder: Path, model: str = "", threads: int = 0, seconds: float = 5.0) -> None:
        """Prepare without loading anything.

        Args:
            folder: folder with the model's files.
            model: a name that fastembed knows.
            threads: threads for one batch; 0 leaves it to the library.
            seconds: how long one call may take, above 0; looked at between batches of 8 texts.

        Raises:
            ProviderMisconfigured: a folder that does not exist, or a number out of range.
        """
        if not folder.is_dir():
            raise ProviderMisconfigured("RERANKER_PATH is not a folder.")
        if not 0 <= threads <= 64:
            raise ProviderMisconfigured("fastembed can use 1 to 64 threads, or 0 to choose.")
        self._model_name = model.strip() or DEFAULT_MODEL
        self._folder = folder
        self._threads = threads or None
        self._seconds = checked_seconds(seconds)
        self._loaded = PerProcess(self._load)

    def __repr__(self) -> str:
        return f"FastembedCrossEncoder(model={self._model_name!r})"

    @property
    def model(self) -> str:
        """Give the model's name."""
        return self._model_name

    def warm(self) -> None:
        """Load the model now; raises RerankerUnavailable when that fails."""
        self._loaded.get()

    def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Score texts, in order.

        Raises:
            RerankerUnavailable: the library or the model is missing, computing failed or took too long.
            ValueError: more than 50 texts.
        """
        refuse_too_many(texts, self.most_texts)
        if not texts:
            return np.empty(0, dtype=np.float32)
        loaded = self._loaded.get()
        deadline = Deadline(self._seconds)
        asked = well_formed(query, LONGEST_TEXT)
        safe = [well_formed(text, LONGEST_TEXT) for text in texts]
        scores: list[float] = []
        for start in range(0, len(safe), BATCH):
            deadline.check()
            scores += self._scored(loaded, asked, safe[start : start + BATCH])
        return checked_scores(scores, len(texts))

    def _scored(self, loaded: Any, query: str, texts: list[str]) -> list[float]:
        try:
            return list(loaded.rerank(query, texts, batch_size=BATCH))
        except Exception as error:
            # The library lets exceptions of its runtimes through; whatever it is, there are no scores.
            raise RerankerUnavailable(f"fastembed could not score ({error.__class__.__name__}).") from None

    def _load(self) -> Any:
        if importlib.util.find_spec(LIBRARY) is None:
            raise RerankerUnavailable(
                "The library fastembed is not installed. Run `pip install fastembed` in Loci's environment, "
                "or choose another RERANKER_PROVIDER.",
                code="reranker.not_installed",
            )
        try:
            # The library loads the same runtime, which must have been told to keep quiet before.
            importlib.import_module("memory.providers.onnx_runtime")
            library = importlib.import_module(MODULE)
            return library.TextCrossEncoder(
                model_name=self._model_name,
                threads=self._threads,
                local_files_only=True,
                specific_model_path=str(self._folder),
            )
        except Exception as error:
            # Hub, file and runtime errors of three libraries.
            raise RerankerUnavailable(
                f"fastembed cannot load its model ({error.__class__.__name__}). Put the model's files into the folder "
                "that RERANKER_PATH names, and its name into RERANKER_MODEL."
            ) from error
