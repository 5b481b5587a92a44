"""Run the built model: tokenise, batch texts of like length, and let onnxruntime compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
import tokenizers
from numpy.typing import NDArray

from memory.errors import EmbedderUnavailable
from memory.ports import Vectors
from memory.providers.minilm.build import MAX_TOKENS, MODEL_FILE, TOKENIZER_FILE
from memory.providers.onnx_runtime import onnxruntime, session_options

# A batch's cost grows with texts × longest text. Beyond about this many cells throughput no longer rises (measured:
# 768 to 1,024 is best, 2,048 already slower), while the memory for intermediate results does.
CELLS = 1024
LARGEST_BATCH = 32
UNKNOWN = "[UNK]"

SENTENCE = "sentence"
TOKENS = "tokens"

TokenIds: TypeAlias = NDArray[np.int64]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class States:
    """The tokens of one text, its two ends included: their numbers, places in the text, and last states, one row each.

    A place is where the token begins and the first character after it; an end of the text has an empty one.
    """

    ids: TokenIds
    spans: NDArray[np.int32]
    rows: Vectors


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
                str(directory / MODEL_FILE), session_options(threads), providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            # Both libraries raise bare exceptions of their own; whatever it is, the model cannot be used.
            raise EmbedderUnavailable(
                f"The local embedding model cannot be loaded ({error.__class__.__name__})."
            ) from error

    def knows_any(self, text: str) -> bool:
        """Tell whether any token of a well-formed text that is a letter or figure is in the vocabulary."""
        encoded = self._tokenizer.encode(text)
        return any(
            token != UNKNOWN and not end and any(map(str.isalnum, token))
            for token, end in zip(encoded.tokens, encoded.special_tokens_mask, strict=True)
        )

    @property
    def vocabulary(self) -> dict[str, int]:
        """Give the tokens of the model with their numbers; a token that continues a word begins with `##`."""
        words: dict[str, int] = self._tokenizer.get_vocab(with_added_tokens=True)
        return words

    def embed(self, texts: Sequence[str], width: int) -> Vectors:
        """Embed well-formed texts, in order; rows of the given width and of length 1."""
        tokens = [_numbers(encoding) for encoding in self._encoded(texts)]
        vectors = np.empty((len(texts), width), dtype=np.float32)
        for batch in batches([len(row) for row in tokens]):
            (vectors[batch],) = self._run([tokens[index] for index in batch], [SENTENCE])
        return vectors

    def embed_with_states(
        self, texts: Sequence[str], width: int, reduce: Callable[[States], T]
    ) -> tuple[Vectors, list[T]]:
        """Embed as `embed` does, and hand the last state of every token to a function, from the same computation.

        Args:
            texts: well-formed texts.
            width: the width of the vectors and of the states.
            reduce: gets the tokens of one text; called batch by batch, so that the states of many texts are never
                held at once.

        Returns:
            The vectors, and what the function gave for each text, in order.
        """
        encodings = self._encoded(texts)
        tokens = [_numbers(encoding) for encoding in encodings]
        vectors = np.empty((len(texts), width), dtype=np.float32)
        reduced: dict[int, T] = {}
        for batch in batches([len(row) for row in tokens]):
            vectors[batch], states = self._run([tokens[index] for index in batch], [SENTENCE, TOKENS])
            for place, index in enumerate(batch):
                spans = np.array(encodings[index].offsets, dtype=np.int32).reshape(-1, 2)
                reduced[index] = reduce(States(tokens[index], spans, states[place, : len(spans)]))
        return vectors, [reduced[index] for index in range(len(texts))]

    def _encoded(self, texts: Sequence[str]) -> list[tokenizers.Encoding]:
        # One by one on purpose: the tokenizer's own batching starts a thread pool that does not survive a fork,
        # and tokenising is a hundredth of the work.
        return [self._tokenizer.encode(text) for text in texts]

    def _run(self, rows: Sequence[TokenIds], outputs: list[str]) -> list[Vectors]:
        longest = max(len(row) for row in rows)
        ids = np.zeros((len(rows), longest), dtype=np.int64)
        mask = np.zeros((len(rows), longest), dtype=np.int64)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = row
            mask[index, : len(row)] = 1
        try:
            found = self._session.run(outputs, {"input_ids": ids, "attention_mask": mask})
        except Exception as error:
            raise EmbedderUnavailable(f"The local embedding model failed ({error.__class__.__name__}).") from error
        return [np.asarray(values, dtype=np.float32) for values in found]


def _numbers(encoding: tokenizers.Encoding) -> TokenIds:
    return np.array(encoding.ids, dtype=np.int64)


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
