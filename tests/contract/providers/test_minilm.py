"""The local model computes what its publishers' does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from memory.errors import EmbedderUnavailable
from memory.providers.minilm import MiniLmEmbedder, build, source_files
from memory.providers.misconfigured import ProviderMisconfigured

ROOT = Path(__file__).resolve().parents[3]
WEATHER = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
HAPPY = ["That is a happy person", "That is a happy dog", "That is a very happy person", "Today is a sunny day"]


def test_similarities_equal_the_published_ones(minilm: MiniLmEmbedder) -> None:
    weather = minilm.embed(WEATHER)
    assert (weather @ weather.T)[np.triu_indices(3, 1)] == pytest.approx([0.6660, 0.1046, 0.1411], abs=1e-4)
    happy = minilm.embed(HAPPY)
    assert happy[1:] @ happy[0] == pytest.approx([0.6946, 0.9429, 0.2569], abs=1e-4)


def test_a_vector_does_not_depend_on_its_batch(minilm: MiniLmEmbedder) -> None:
    texts = [f"{'Melanie paints the sunrise again. ' * (1 + i % 9)}{i}" for i in range(120)]
    together = minilm.embed(texts)
    shuffled = np.random.default_rng(5).permutation(len(texts))
    assert np.abs(minilm.embed([texts[i] for i in shuffled]) - together[shuffled]).max() < 1e-4
    alone = np.concatenate([minilm.embed([text]) for text in texts])
    assert np.abs(alone - together).max() < 1e-4


def test_the_number_of_threads_does_not_change_a_vector(minilm: MiniLmEmbedder) -> None:
    directory = minilm._directory
    other = MiniLmEmbedder(threads=2, directory=directory)
    assert np.abs(other.embed(WEATHER) - minilm.embed(WEATHER)).max() < 1e-4


def test_tokens_beyond_the_limit_do_not_count_and_those_within_do(minilm: MiniLmEmbedder) -> None:
    # One token per word, two for the ends.
    full = "lake " * (build.MAX_TOKENS - 2)
    vectors = minilm.embed([full, full + "violin concerto", full[:-5] + "violin"])
    assert np.abs(vectors[0] - vectors[1]).max() < 1e-6
    assert np.abs(vectors[0] - vectors[2]).max() > 1e-4


def test_blank_texts_have_finite_vectors(minilm: MiniLmEmbedder) -> None:
    assert np.isfinite(minilm.embed(["", " ", "\0"])).all()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_embeds_the_same(minilm: MiniLmEmbedder) -> None:
    expected = minilm.embed(WEATHER)
    child = os.fork()
    if child == 0:
        same = np.abs(minilm.embed(WEATHER) - expected).max() < 1e-4
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_importing_and_making_it_loads_neither_runtime_nor_builder() -> None:
    program = (
        "import sys; from memory.providers.minilm import MiniLmEmbedder; made = MiniLmEmbedder(); "
        "print(made.dimension, made.embed([]).shape); "
        "print([m for m in ('onnxruntime', 'tokenizers', 'onnx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "384 (0, 384)\n[]"


def test_using_it_imports_neither_the_builder_nor_the_package(minilm: MiniLmEmbedder) -> None:
    program = (
        "import sys; from pathlib import Path; from memory.providers.minilm import MiniLmEmbedder; "
        f"MiniLmEmbedder(directory=Path({str(minilm._directory)!r})).warm(); "
        f"print([m for m in ('onnx', 'safetensors', {source_files.MODULE!r}) if m in sys.modules])"
    )
    minilm.warm()
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_folder_that_cannot_be_written_fails_on_use_and_recovers(tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, not a folder")
    embedder = MiniLmEmbedder(threads=1, directory=blocked / "model")
    with pytest.raises(EmbedderUnavailable):
        embedder.embed(["text"])
    blocked.unlink()
    assert embedder.embed(["text"]).shape == (1, 384)


@pytest.mark.parametrize("threads", [-1, 65])
def test_threads_out_of_range_are_refused(threads: int) -> None:
    with pytest.raises(ProviderMisconfigured, match="1 to 64"):
        MiniLmEmbedder(threads=threads)
