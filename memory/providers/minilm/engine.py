"""Run the built model: tokenise, batch texts of like length, and let onnxruntime compute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import tokenizers

from memory.errors import EmbedderUnavailable
from memory.ports import Vectors
from memory.providers.minilm.build import MAX_TOKENS, MODEL_FILE, TOKENIZER_FILE
from memory.providers.onnx_runtime import onnxruntime

# A batch's cost grows with texts × longest text. Beyond about this many cells throughput no longer rises (measured:
# 768 to 1,024 is best, 2,048 already slower), while the memory for intermediate results does.
CELLS = 1024
LARGEST_BATCH = 32


class Engine:
    """A loaded model; may be used by several threads at once."""

    def __init__(self, directory: Path, threads: int) -> None:
        """Load the files of a built model; takes about a tenth of a second.

        Args:
            directory: what `ensure_built` gave.
            threads: how many threads compute one batch, at least 1.

        Raises:
            EmbedderUnavailable: the runtime refuses the files.
        """
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(directory / TOKENIZER_FILE))
            # The published tokenizer file cuts at 128 tokens and pads every text to that length.
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(MAX_TOKENS)
            self._session = onnxruntime.InferenceSession(
                str(directory / MODEL_FILE), _options(threads), providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            # Both libraries raise bare exceptions of their own; whatever it is, the model cannot be used.
            raise EmbedderUnavailable(
                f"The local embedding model cannot be loaded ({error.__class__.__name__})."
            ) from error

    def embed(self, texts: Sequence[str], width: int) -> Vectors:
        """Embed well-formed texts, in order; rows of the given width and of length 1."""
        # One by one on purpose: the tokenizer's own batching starts a thread pool that does not survive a fork,
        # and tokenising is a hundredth of the work.
        tokens = [np.array(self._tokenizer.encode(text).ids, dtype=np.int64) for text in texts]
        vectors = np.empty((len(texts), width), dtype=np.float32)
        for batch in batches([len(row) for row in tokens]):
            vectors[batch] = self._run([tokens[index] for index in batch])
        return vectors

    def _run(self, rows: Sequence[np.ndarray[tuple[int], np.dtype[np.int64]]]) -> Vectors:
        longest = max(len(row) for row in rows)
        ids = np.zeros((len(rows), longest), dtype=np.int64)
        mask = np.zeros((len(rows), longest), dtype=np.int64)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = row
            mask[index, : len(row)] = 1
        try:
            (vectors,) = self._session.run(["sentence"], {"input_ids": ids, "attention_mask": mask})
        except Exception as error:
            raise EmbedderUnavailable(f"The local embedding model failed ({error.__class__.__name__}).") from error
        return np.asarray(vectors, dtype=np.float32)


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Group texts of like length, so that little of a batch is padding.

    Args:
        lengths: the number of tokens of each text.

    Returns:
        lists of positions, each text once; at most 32 texts, and at most 1,024 cells unless a single text has more.
    """
    order = sorted(range(len(lengths)), key=lambda index: lengths[index])
    batch: list[int] = []
    for index in order:
        if batch and (len(batch) == LARGEST_BATCH or (len(batch) + 1) * lengths[index] > CELLS):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _options(threads: int) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Waiting threads that spin take the processor from the very thread they wait for as soon as the machine is busy:
    # measured, two spinning threads beside one busy process are slower than one thread alone.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # The arena and its patterns keep the memory of the largest batch for good, and gain no speed here.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    return options
