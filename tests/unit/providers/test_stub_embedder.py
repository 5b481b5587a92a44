"""The stub follows its published formula and has no zero vector."""

from __future__ import annotations

import math

import numpy as np
import pytest

from memory.providers.stub_embedder import StubEmbedder


def test_a_vector_is_the_scaled_codes_of_the_characters() -> None:
    (vector,) = StubEmbedder().embed(["AB"])
    length = math.hypot(65, 66)
    assert vector[:3].tolist() == pytest.approx([65 / length, 66 / length, 0.0])


def test_only_the_first_64_characters_count() -> None:
    vectors = StubEmbedder().embed(["x" * 64 + "one", "x" * 64 + "other"])
    assert (vectors[0] == vectors[1]).all()


def test_an_empty_text_gets_a_unit_vector() -> None:
    vectors = StubEmbedder().embed(["", "\0\0"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
