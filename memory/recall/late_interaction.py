"""Late interaction: each token of a question looks for its nearest token of a text (MaxSim).

Where one vector for a whole text blurs what it mentions in passing, the vectors of its tokens keep it.

Reference: Khattab and Zaharia, ColBERT (2020).
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from memory.crypto.keyring import OwnerRing
from memory.errors import KeysUnavailable
from memory.ports import TOKEN_SCALE, Embedder, TokenMatrix, Tokens, Vectors, gives_tokens
from memory.ports.reading import reading as connection
from memory.recall.id_arrays import id_array
from memory.recall.token_blobs import open_tokens, reduction_of
from memory.text.languages import possible_languages
from memory.text.tokens import terms_of_word

logger = logging.getLogger(__name__)

Weights = NDArray[np.float32]
Nearest = NDArray[np.float32]

MOST_ROWS: Final = 200
# Up to so many multiplications OpenBLAS uses one thread. Beyond, its threads wait spinning for one another, and on a
# busy machine a product of 0.1 ms takes up to 80.
ONE_THREAD: Final = 262_144
# The least that a token counts, beside about ln(2 n) for a word that none of n memories holds. Between 0.3 and 1 it
# finds equally much.
FUNCTION_WORD: Final = 0.5
_WORD: Final = re.compile(r"\S+")

BLOBS: Final = """
    SELECT memory_id, sealed FROM memory_tokenvectors
    WHERE owner_id = %(owner)s AND memory_id = ANY(%(ids)s::uuid[]) AND space_id = %(space)s
"""


@dataclass(frozen=True, slots=True)
class QueryTokens:
    """The tokens of a question.

    `reduction` says how the vectors were made. `terms` has for each token the keyed terms of the word that it is
    part of.
    """

    matrix: TokenMatrix
    reduction: bytes
    terms: tuple[tuple[int, ...], ...]


def embed_queries(
    model: Embedder, redacted: Sequence[str], ring: OwnerRing
) -> list[tuple[Vectors, QueryTokens | None]]:
    """Embed questions, with their tokens from the same computation where that is possible and switched on.

    Args:
        model: the embedder of the space that is searched.
        redacted: the questions with personal data replaced by its kind.
        ring: the keys of the owner who asks.

    Returns:
        For each the vector, and the tokens; None when the embedder gives none or late interaction is off.

    Raises:
        EmbedderUnavailable: the embedder cannot be used now.
    """
    if not settings.LATE_INTERACTION or not gives_tokens(model):
        return [(vector, None) for vector in model.embed(redacted)]
    vectors, tokens = model.embed_with_tokens(redacted)
    return [
        (vector, query_tokens(text, found, reduction=model.reduction, ring=ring))
        for text, vector, found in zip(redacted, vectors, tokens, strict=True)
    ]


def query_tokens(text: str, tokens: Tokens, *, reduction: bytes, ring: OwnerRing) -> QueryTokens:
    """Join the tokens of a question with the keyed terms of its words, by which they can be weighed."""
    languages = possible_languages(text)
    words = [
        (match.start(), match.end(), tuple(ring.words(terms_of_word(match.group(), languages))))
        for match in _WORD.finditer(text)
    ]
    terms = []
    place = 0
    for start in tokens.spans[:, 0].tolist():
        while place < len(words) - 1 and words[place][1] <= start:
            place += 1
        terms.append(words[place][2] if words and words[place][0] <= start < words[place][1] else ())
    return QueryTokens(tokens.matrix, reduction, tuple(terms))


def token_weights(tokens: QueryTokens, *, asked: Collection[int], frequencies: Mapping[int, int], rows: int) -> Weights:
    """Weigh the tokens of a question by how rare their words are among the owner's memories.

    Args:
        tokens: the tokens.
        asked: the keyed terms of the question, without function words (`Query.terms`).
        frequencies: in how many memories the terms stand; a term left out stands in none.
        rows: how many memories there are.

    Returns:
        A weight above 0 for each token: the inverse document frequency of its word's rarest term, as in the lexical
        arm, and a small one for function words.
    """

    def weight(terms: tuple[int, ...]) -> float:
        counts = [min(frequencies.get(term, 0), rows) for term in terms if term in asked]
        if not counts:
            return FUNCTION_WORD
        return max(FUNCTION_WORD, math.log(1 + (rows - min(counts) + 0.5) / (min(counts) + 0.5)))

    return np.array([weight(terms) for terms in tokens.terms], dtype=np.float32)


def nearest(
    tokens: QueryTokens, rows: Sequence[tuple[UUID, UUID | None]], *, ring: OwnerRing, space_id: int
) -> dict[UUID, Nearest]:
    """Find for each token of a question its nearest token of each memory, within the owner's scope.

    Takes one statement; about 4 ms for 100 turns of 20 words.

    Args:
        tokens: the question's.
        rows: at most 200 memories that the caller may read, each with the agent whose own key seals it.
        ring: the owner's keys.
        space_id: the space of the question's vectors.

    Returns:
        For each memory the highest cosine of each token of the question to one of its own. Memories whose tokens are
        missing, or were made in another way, are left out, and so are those that do not open, which is logged.

    Raises:
        ValueError: too many rows.
    """
    if len(rows) > MOST_ROWS:
        raise ValueError(f"At most {MOST_ROWS} memories are compared at a time.")
    if not rows or not len(tokens.matrix):
        return {}
    matrices = _opened(tokens, dict(rows), ring, space_id)
    if not matrices:
        return {}
    return dict(zip(matrices, _nearest(tokens.matrix, list(matrices.values())).T, strict=True))


def _opened(
    tokens: QueryTokens, agents: Mapping[UUID, UUID | None], ring: OwnerRing, space_id: int
) -> dict[UUID, TokenMatrix]:
    with connection.cursor() as cursor:
        cursor.execute(BLOBS, {"owner": ring.owner_id, "ids": id_array(agents), "space": space_id})
        found = cursor.fetchall()
    matrices: dict[UUID, TokenMatrix] = {}
    damaged = 0
    width = tokens.matrix.shape[1]
    for memory_id, value in found:
        sealed = bytes(value)
        if reduction_of(sealed) != tokens.reduction:
            continue
        try:
            matrix = open_tokens(
                sealed, ring=ring, memory_id=memory_id, space_id=space_id, agent_id=agents[memory_id], width=width
            )
        except KeysUnavailable:
            damaged += 1
            continue
        if len(matrix):
            matrices[memory_id] = matrix
    if damaged:
        logger.error("token vectors of %s memories do not open with their owner's key and were not used", damaged)
    return matrices


def _nearest(query: TokenMatrix, matrices: Sequence[TokenMatrix]) -> Nearest:
    """Multiply all memories' tokens at once, then take the highest of each memory's own stretch."""
    starts = np.cumsum([0, *(len(matrix) for matrix in matrices[:-1])])
    asked = query.astype(np.float32) / np.float32(TOKEN_SCALE * TOKEN_SCALE)
    told = np.concatenate(matrices).astype(np.float32)
    cosines = np.empty((len(asked), len(told)), dtype=np.float32)
    rows = max(1, ONE_THREAD // asked.size)
    for start in range(0, len(told), rows):
        np.matmul(asked, told[start : start + rows].T, out=cosines[:, start : start + rows])
    found: Nearest = np.maximum.reduceat(cosines, starts, axis=1)
    return found
