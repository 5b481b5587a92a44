"""Run a cross-encoder: tokenise pairs, batch those of like length, and let onnxruntime compute."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import tokenizers
from numpy.typing import NDArray

from memory.errors import RerankerUnavailable
from memory.providers.onnx_runtime import onnxruntime, session_options
from memory.providers.rerankers.deadline import Deadline

MOST_TOKENS: Final = 512
CONFIGURATION: Final = "tokenizer_config.json"
# A batch's cost grows with texts × longest text; small batches also let the deadline be looked at often.
CELLS: Final = 2_048
LARGEST_BATCH: Final = 16

KNOWN_INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids")

Scores: TypeAlias = NDArray[np.float32]


class PairEngine:
    """A loaded cross-encoder; may be used by several threads at once."""

    def __init__(self, model: Path, tokenizer: Path, threads: int) -> None:
        """Load the files; errors of the two libraries are let through.

        Raises:
            RerankerUnavailable: the model wants other inputs than a cross-encoder does.
        """
        self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_limit(tokenizer.parent), strategy="longest_first")
        self._session = onnxruntime.InferenceSession(
            str(model), session_options(threads), providers=["CPUExecutionProvider"]
        )
        self._inputs = [given.name for given in self._session.get_inputs()]
        if "input_ids" not in self._inputs or set(self._inputs) - set(KNOWN_INPUTS):
            raise RerankerUnavailable("The reranking model wants other inputs than a cross-encoder of texts does.")

    def score(self, query: str, texts: Sequence[str], deadline: Deadline) -> Scores:
        """Score well-formed texts, in order.

        Raises:
            RerankerUnavailable: the model fails, gives something else than a number for each pair, or took too long.
        """
        # One by one on purpose: the tokenizer's own batching starts a thread pool that does not survive a fork.
        pairs = [self._tokenizer.encode(query, text) for text in texts]
        scores = np.empty(len(texts), dtype=np.float32)
        for batch in _batches([len(pair.ids) for pair in pairs]):
            deadline.check()
            scores[batch] = self._run([pairs[index] for index in batch])
        return scores

    def _run(self, pairs: Sequence[tokenizers.Encoding]) -> Scores:
        longest = max(len(pair.ids) for pair in pairs)
        given = {name: np.zeros((len(pairs), longest), dtype=np.int64) for name in KNOWN_INPUTS}
        for row, pair in enumerate(pairs):
            given["input_ids"][row, : len(pair.ids)] = pair.ids
            given["attention_mask"][row, : len(pair.ids)] = 1
            given["token_type_ids"][row, : len(pair.ids)] = pair.type_ids
        try:
            found = self._session.run(None, {name: given[name] for name in self._inputs})
        except Exception as error:
            raise RerankerUnavailable(f"The reranking model failed ({error.__class__.__name__}).") from error
        return _one_number_a_pair(found[0], len(pairs))


def _one_number_a_pair(output: Any, count: int) -> Scores:
    logits = np.asarray(output, dtype=np.float32)
    if logits.shape == (count, 2):
        return np.asarray(logits[:, 1] - logits[:, 0], dtype=np.float32)
    if logits.size != count:
        raise RerankerUnavailable("The reranking model does not give one number for a pair of texts.")
    return logits.reshape(count)


def _limit(folder: Path) -> int:
    """Read how many tokens the model takes, where its folder says so; never more than 512."""
    path = folder / CONFIGURATION
    if not path.is_file():
        return MOST_TOKENS
    limit = json.loads(path.read_text(encoding="utf-8")).get("model_max_length", MOST_TOKENS)
    usable = isinstance(limit, int | float) and not isinstance(limit, bool) and limit >= 8
    return int(min(limit, MOST_TOKENS)) if usable else MOST_TOKENS


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Group pairs of like length; at most 16, and at most 2,048 cells unless a single pair has more."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda at: lengths[at]):
        if batch and (len(batch) == LARGEST_BATCH or (len(batch) + 1) * lengths[index] > CELLS):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
