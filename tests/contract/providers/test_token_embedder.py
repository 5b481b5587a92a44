"""What every embedder with token vectors promises: the same vectors as without, and tokens that belong to them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from memory.errors import EmbedderUnavailable
from memory.ports import TOKEN_SCALE, TokenEmbedder, Tokens, Vectors, gives_tokens
from memory.providers.guarded_embedder import GuardedEmbedder, GuardedTokenEmbedder, guarded
from memory.providers.minilm import MiniLmEmbedder
from memory.providers.minilm.engine import States
from memory.providers.minilm.reduction import MOST_TOKENS
from memory.providers.stub_embedder import StubEmbedder

TEXTS = [
    "Caroline: the notice period is 60 days, isn't it?",
    "Der Mietvertrag endet im März.",
    "lake " * 300,
    "?!",
    "",
    "We saw two herons at the lake.",
]


@pytest.fixture(params=["local", "guarded"])
def model(request: pytest.FixtureRequest, minilm: MiniLmEmbedder) -> TokenEmbedder:
    if request.param == "local":
        return minilm
    made = guarded(minilm)
    assert gives_tokens(made)
    return made


def test_vectors_are_those_of_embed(model: TokenEmbedder) -> None:
    vectors, tokens = model.embed_with_tokens(TEXTS)
    assert len(tokens) == len(TEXTS)
    assert np.abs(vectors - model.embed(TEXTS)).max() < 1e-5


def test_the_mean_of_a_texts_states_points_where_its_vector_points(minilm: MiniLmEmbedder) -> None:
    texts = [text for text in TEXTS if text]
    vectors, means = minilm._engine.get().embed_with_states(texts, 384, lambda states: states.rows.mean(axis=0))
    for vector, mean in zip(vectors, means, strict=True):
        assert np.abs(mean / np.linalg.norm(mean) - vector).max() < 1e-5


def test_states_come_with_their_own_tokens_whatever_the_batch(minilm: MiniLmEmbedder) -> None:
    def places(states: States) -> tuple[int, int, int]:
        assert len(states.ids) == len(states.spans) == len(states.rows)
        return len(states.ids), int(states.ids[0]), int(states.ids[-1])

    texts = [f"{'word ' * (i % 40)}{i}" for i in range(100)]
    _, found = minilm._engine.get().embed_with_states(texts, 384, places)
    assert [one[0] for one in found] == [2 + i % 40 + 1 for i in range(100)]
    assert {one[1:] for one in found} == {(101, 102)}


def test_tokens_are_unit_vectors_with_their_places(model: TokenEmbedder) -> None:
    _, tokens = model.embed_with_tokens(TEXTS)
    widths = {one.matrix.shape[1] for one in tokens}
    assert len(widths) == 1
    for one, text in zip(tokens, TEXTS, strict=True):
        assert one.matrix.dtype == np.int8
        assert len(one.matrix) == len(one.spans) <= MOST_TOKENS
        lengths = np.linalg.norm(one.matrix.astype(np.float32), axis=1) / TOKEN_SCALE
        assert np.allclose(lengths, 1, atol=0.03)
        assert all(text[start:end].strip() for start, end in one.spans)
    assert [text[a:b] for text, one in [(TEXTS[5], tokens[5])] for a, b in one.spans] == [
        "We", "saw", "two", "heron", "s", "at", "the", "lake",
    ]  # fmt: skip
    assert [len(tokens[index].matrix) for index in (2, 3, 4)] == [MOST_TOKENS, 0, 0]


def test_the_same_word_in_the_same_sense_is_nearest(model: TokenEmbedder) -> None:
    _, (asked, told) = model.embed_with_tokens(["Which birds were at the lake?", TEXTS[5]])
    cosines = asked.matrix.astype(float) @ told.matrix.astype(float).T
    words = [TEXTS[5][a:b] for a, b in told.spans]
    assert words[cosines[-1].argmax()] == "lake"


def test_a_text_does_not_depend_on_its_neighbours(model: TokenEmbedder) -> None:
    _, together = model.embed_with_tokens(TEXTS)
    for text, expected in zip(TEXTS, together, strict=True):
        _, (alone,) = model.embed_with_tokens([text])
        assert np.abs(alone.matrix.astype(int) - expected.matrix.astype(int)).max(initial=0) <= 1


def test_nothing_gives_nothing(model: TokenEmbedder) -> None:
    vectors, tokens = model.embed_with_tokens([])
    assert (vectors.shape, tokens) == ((0, 384), [])


def test_the_mark_is_four_bytes_and_stays(model: TokenEmbedder) -> None:
    assert len(model.reduction) == 4
    assert model.reduction == MiniLmEmbedder().reduction


def test_other_embedders_have_no_tokens() -> None:
    assert not gives_tokens(StubEmbedder())
    plain = guarded(StubEmbedder())
    assert not gives_tokens(plain)
    assert isinstance(plain, GuardedEmbedder)


def test_the_guard_counts_failures_and_refuses_a_wrong_number_of_texts() -> None:
    class Short(StubEmbedder):
        reduction = b"1234"

        def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Tokens]]:
            return self.embed(texts), []

    made = guarded(Short())
    assert isinstance(made, GuardedTokenEmbedder)
    with pytest.raises(EmbedderUnavailable, match="tokens of 0 texts for 1"):
        made.embed_with_tokens(["a"])
    assert made.state().failures == 1


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("tea", True), ("Grüße", True), ("привет", True), ("桜の花", True), ("ZX-4419", True),
        ("桜", False), ("桜？", False), ("你喜欢吗?", False), ("tea?", True),
        ("😀😀", False), ("你好吗", False), ("z" * 200, False), ("", False),
    ],
)  # fmt: skip
def test_it_says_what_it_understands(model: TokenEmbedder, text: str, known: bool) -> None:
    assert model.understands(text) is known
