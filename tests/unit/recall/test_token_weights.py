"""Tokens of a question belong to its words and count by how rare these are."""

from __future__ import annotations

import math
import secrets

import numpy as np
import pytest

from memory.crypto.keyring import OwnerRing
from memory.ids import new_id
from memory.ports import OwnerKeys, Tokens
from memory.recall.late_interaction import FUNCTION_WORD, QueryTokens, query_tokens, token_weights

KEYS = OwnerKeys(root=secrets.token_bytes(32), text_seeds={1: secrets.token_bytes(32)})


@pytest.fixture
def ring() -> OwnerRing:
    return OwnerRing(new_id(), KEYS, 0.0)


def tokens_at(*spans: tuple[int, int]) -> Tokens:
    return Tokens(np.ones((len(spans), 4), dtype=np.int8), np.array(spans, dtype=np.int32).reshape(-1, 2))


def terms_of(text: str, spans: list[tuple[int, int]], ring: OwnerRing) -> tuple[tuple[int, ...], ...]:
    return query_tokens(text, tokens_at(*spans), reduction=b"mark", ring=ring).terms


def test_each_token_has_the_terms_of_its_word(ring: OwnerRing) -> None:
    text = " The herons'  E-4012,ok "
    found = terms_of(text, [(1, 4), (5, 10), (10, 11), (14, 15), (16, 20), (21, 23)], ring)
    assert found[1] == found[2] == tuple(ring.words(["heron"]))
    assert set(found[3]) == set(found[4]) >= set(ring.words(["e-4012", "4012"]))
    assert found[0] == tuple(ring.words(["the"]))


def test_a_text_without_words_has_no_terms(ring: OwnerRing) -> None:
    assert terms_of("", [], ring) == ()
    assert terms_of("   ", [(1, 2)], ring) == ((),)


def test_rare_words_count_more_and_function_words_least() -> None:
    tokens = QueryTokens(np.ones((5, 4), dtype=np.int8), b"mark", ((1,), (2,), (3, 2), (9,), ()))
    weights = token_weights(tokens, asked={1, 2, 3}, frequencies={1: 99, 2: 10}, rows=100)
    common, known, unknown, function, none = weights.tolist()
    assert known == pytest.approx(math.log(1 + 90.5 / 10.5))
    assert unknown == pytest.approx(math.log(1 + 100.5 / 0.5))
    assert common == function == none == pytest.approx(FUNCTION_WORD)


@pytest.mark.parametrize("rows", [0, 5])
def test_counts_above_the_number_of_rows_do_no_harm(rows: int) -> None:
    tokens = QueryTokens(np.ones((1, 4), dtype=np.int8), b"mark", ((1,),))
    (weight,) = token_weights(tokens, asked={1}, frequencies={1: 70}, rows=rows)
    assert weight >= FUNCTION_WORD
