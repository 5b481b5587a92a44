"""A cross-encoder from a folder with an ONNX file and a tokenizer, run in this process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from memory.errors import RerankerUnavailable
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.per_process import PerProcess
from memory.providers.rerankers.deadline import Deadline, checked_seconds
from memory.providers.rerankers.scores import checked_scores, refuse_too_many
from memory.providers.wellformed import well_formed

if TYPE_CHECKING:
    from memory.providers.rerankers.pair_engine import PairEngine

TOKENIZER_FILE: Final = "tokenizer.json"
# Where published folders keep the model, the plain one first.
MODEL_FILES: Final = (
    "model.onnx",
    "onnx/model.onnx",
    "model_quantized.onnx",
    "onnx/model_quantized.onnx",
    "model_optimized.onnx",
)
# 512 tokens of ordinary text are about 2,500 characters. The cut only keeps the tokenizer from reading a book.
LONGEST_TEXT: Final = 8_000
MOST_THREADS: Final = 64
CHOSEN_THREADS: Final = 2


class OnnxCrossEncoder:
    """Scores pairs of query and text; the model is loaded at first use and shared by all threads.

    The model takes `input_ids`, `attention_mask` and where it knows them `token_type_ids`, and gives one number for a
    pair, or two for "no" and "yes", of which the difference counts.
    """

    provider = "onnx"
    local = True
    prompts = False
    most_texts = 50

    def __init__(self, *, folder: Path, model: str = "", threads: int = 0, seconds: float = 5.0) -> None:
        """Prepare without loading anything.

        Args:
            folder: folder with `tokenizer.json` and the model: `model.onnx`, in it or in its folder `onnx`.
            model: the model's name, for display; the folder's when left out.
            threads: threads for one batch, 1 to 64; 0 chooses 2, or 1 on a machine with one processor.
            seconds: how long one call may take, above 0; looked at between batches.

        Raises:
            ProviderMisconfigured: no such folder, a file missing in it, or a number out of range.
        """
        if not folder.is_dir():
            raise ProviderMisconfigured("RERANKER_PATH is not a folder.")
        if not 0 <= threads <= MOST_THREADS:
            raise ProviderMisconfigured(f"The reranker can use 1 to {MOST_THREADS} threads, or 0 to choose.")
        if not (folder / TOKENIZER_FILE).is_file():
            raise ProviderMisconfigured(f"The folder of RERANKER_PATH has no {TOKENIZER_FILE}.")
        found = next((folder / name for name in MODEL_FILES if (folder / name).is_file()), None)
        if found is None:
            raise ProviderMisconfigured(f"The folder of RERANKER_PATH has none of {', '.join(MODEL_FILES)}.")
        self._model_file = found
        self._tokenizer_file = folder / TOKENIZER_FILE
        self._name = model.strip() or folder.resolve().name
        self._threads = threads or min(CHOSEN_THREADS, os.cpu_count() or 1)
        self._seconds = checked_seconds(seconds)
        self._engine = PerProcess(self._load)

    def __repr__(self) -> str:
        return f"OnnxCrossEncoder(model={self._name!r})"

    @property
    def model(self) -> str:
        """Give the model's name."""
        return self._name

    def warm(self) -> None:
        """Load the model now; raises RerankerUnavailable when that fails."""
        self._engine.get()

    def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Score texts, in order; a pair beyond the model's limit (at most 512 tokens) loses the end of its longer part.

        Raises:
            RerankerUnavailable: the model cannot be loaded or run, gives no number for a pair, or took too long.
            ValueError: more than 50 texts.
        """
        refuse_too_many(texts, self.most_texts)
        if not texts:
            return np.empty(0, dtype=np.float32)
        asked = well_formed(query, LONGEST_TEXT)
        safe = [well_formed(text, LONGEST_TEXT) for text in texts]
        engine = self._engine.get()
        return checked_scores(engine.score(asked, safe, Deadline(self._seconds)), len(texts))

    def _load(self) -> PairEngine:
        # Imported late: a process that never reranks does not pay for the runtime.
        from memory.providers.rerankers.pair_engine import PairEngine

        try:
            return PairEngine(self._model_file, self._tokenizer_file, self._threads)
        except RerankerUnavailable:
            raise
        except Exception as error:
            # Both libraries raise bare exceptions of their own; whatever it is, the model cannot be used.
            raise RerankerUnavailable(f"The reranking model cannot be loaded ({error.__class__.__name__}).") from error
