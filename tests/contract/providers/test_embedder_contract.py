"""What every embedder promises, whichever it is."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from memory.ports import Embedder

TEXTS = [
    "Caroline went to the lake on Sunday.",
    "a",
    "😀🎉👩‍👩‍👧",
    "記憶は宮殿の中にある",
    "زار أحمد المدينة القديمة",
    "שלום עולם",
    "tabs\tand\nlines\r\n",
    "Caroline went to the lake on Sunday.",
    "word " * 3_000,
    "x" * 20_000,
    "error E-4012 in module_a.b",
    "control \x01\x02\x7f characters",
    "half a pair \ud83d and NUL \0 inside",
]


def test_it_is_an_embedder_with_a_name(embedder: Embedder) -> None:
    assert isinstance(embedder, Embedder)
    assert embedder.provider
    assert embedder.model


def test_one_unit_row_per_text_in_single_precision(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimension)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_rows_come_in_the_order_of_the_texts(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    for text, vector in zip(TEXTS, vectors, strict=True):
        (alone,) = embedder.embed([text])
        assert np.abs(alone - vector).max() < 1e-4
    assert np.abs(vectors[0] - vectors[7]).max() < 1e-4
    assert np.abs(vectors[0] - vectors[10]).max() > 1e-2


def test_the_same_texts_give_the_same_vectors(embedder: Embedder) -> None:
    assert (embedder.embed(TEXTS) == embedder.embed(TEXTS)).all()


def test_no_text_gives_an_empty_table_of_the_right_width(embedder: Embedder) -> None:
    vectors = embedder.embed([])
    assert vectors.shape == (0, embedder.dimension)
    assert vectors.dtype == np.float32


def test_the_width_does_not_change(embedder: Embedder) -> None:
    before = embedder.dimension
    embedder.embed(TEXTS[:3])
    assert embedder.dimension == before > 0


def test_many_threads_get_what_one_gets(embedder: Embedder) -> None:
    expected = embedder.embed(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(lambda _: embedder.embed(TEXTS), range(8)):
            assert np.abs(vectors - expected).max() < 1e-4
