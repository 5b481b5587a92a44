"""What a thief of the database learns from one owner's keyed words: frequency analysis, with another text as guide.

The thief sees of each memory which unknown terms it has, and how often. He takes other people's conversations for the
language, and matches terms to words by how common they are, and by which others they stand beside. It is the attack
that is known for substitution ciphers and for searchable encryption, made as simple as it works.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.dataset import Store
from memory.errors import InvalidInput
from memory.text.tokens import term_frequencies

MOST_MATCHED: Final = 300
"""Terms and words, the commonest, that are matched; rarer ones are guesses that hardly ever hit."""
ROUNDS: Final = 12
FIRST_ANCHORS: Final = 24
WEIGHT_OF_COUNTS: Final = 0.5
"""How much the difference of logarithms of two frequencies counts beside the distance of their neighbours."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Index:
    """How often each symbol stands in how many texts, the commonest first, and which stand together.

    A symbol is a keyed hash for the thief's prey, and a word for his guide.
    """

    symbols: tuple[str, ...]
    counts: Counter[str]
    shares: Matrix
    together: Matrix


def index(texts: Sequence[Counter[str]], *, most: int = MOST_MATCHED) -> Index:
    """Count symbols and pairs of the commonest symbols over some texts."""
    counts: Counter[str] = Counter()
    documents: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
        documents.update(text.keys())
    # Ties go by the symbol, which for keyed hashes is chance.
    symbols = tuple(sorted(documents, key=lambda one: (-documents[one], -counts[one], one))[:most])
    place = {symbol: number for number, symbol in enumerate(symbols)}
    present = np.zeros((len(texts), len(symbols)))
    for number, text in enumerate(texts):
        present[number, [place[symbol] for symbol in text if symbol in place]] = 1.0
    shares = present.sum(axis=0) / max(len(texts), 1)
    together = present.T @ present / max(len(texts), 1)
    np.fill_diagonal(together, 0.0)
    return Index(symbols, counts, shares, together)


def by_rank(prey: Index, guide: Index) -> dict[str, str]:
    """Take the commonest term for the commonest word, and so on."""
    return dict(zip(prey.symbols, guide.symbols, strict=False))


def by_neighbours(prey: Index, guide: Index, *, known: dict[str, str] | None = None) -> dict[str, str]:
    """Match by how common terms are and by what they stand beside, from a few sure pairs to all.

    Args:
        prey: the keyed terms.
        guide: the words.
        known: terms whose words the thief knows already; the commonest by rank when left out.

    Returns:
        A word for each term, no word twice.
    """
    place = {word: number for number, word in enumerate(guide.symbols)}
    fixed = {
        number: place[known[term]]
        for number, term in enumerate(prey.symbols)
        if known and term in known and known[term] in place
    }
    pairs = dict(fixed) or {number: number for number in range(min(FIRST_ANCHORS, *_sizes(prey, guide)))}
    common = np.abs(np.log(prey.shares)[:, None] - np.log(guide.shares)[None, :]) * WEIGHT_OF_COUNTS
    for step in range(1, ROUNDS + 1):
        cost = common + _distances(_beside(prey, list(pairs)), _beside(guide, list(pairs.values())))
        wanted = min(FIRST_ANCHORS + step * MOST_MATCHED // ROUNDS, *_sizes(prey, guide))
        pairs = _cheapest(cost, wanted, fixed)
    return {prey.symbols[term]: guide.symbols[word] for term, word in pairs.items()}


def _sizes(prey: Index, guide: Index) -> tuple[int, int]:
    return len(prey.symbols), len(guide.symbols)


def _beside(one: Index, anchors: list[int]) -> Matrix:
    """Give for each symbol how much more it stands beside each anchor than by chance, in standard deviations."""
    expected = one.shares[:, None] * one.shares[None, anchors]
    beside = (one.together[:, anchors] - expected) / np.sqrt(expected)
    norms = np.linalg.norm(beside, axis=1, keepdims=True)
    scaled: Matrix = beside / np.maximum(norms, 1e-12)
    return scaled


def _distances(left: Matrix, right: Matrix) -> Matrix:
    distances: Matrix = 1.0 - left @ right.T
    return distances


def _cheapest(cost: Matrix, wanted: int, fixed: dict[int, int]) -> dict[int, int]:
    """Take the cheapest pairs, no term and no word twice, beginning with those that are known."""
    pairs, words = dict(fixed), set(fixed.values())
    for flat in np.argsort(cost, axis=None, kind="stable"):
        term, word = divmod(int(flat), cost.shape[1])
        if term not in pairs and word not in words:
            pairs[term] = word
            words.add(word)
            if len(pairs) >= wanted:
                break
    return pairs


def measure(
    stores: Sequence[Store], *, known: int = 20, key: bytes = b"frequency bench", tell: Callable[..., None]
) -> dict[str, Any]:
    """Attack each store with the others as the guide, and tell which share of words is found.

    Args:
        stores: at least two conversations of different people.
        known: how many of the commonest terms an insider knows, in the attack with known words.
        key: the key of the words; any other gives the same figures but for ties.
        tell: prints a line.

    Returns:
        Means over the stores: `rank`, `neighbours` and `known` with the shares of `tokens` and `types` found, and
        `ceiling`, the shares of those whose words stand in the guide at all.

    Raises:
        InvalidInput: fewer than two stores.
    """
    if len(stores) < 2:
        raise InvalidInput("The attack needs a second conversation as its guide.", code="bench.options")
    read = [[term_frequencies(item.text) for item in store.items] for store in stores]
    found: list[dict[str, dict[str, float]]] = []
    for number, store in enumerate(stores):
        guide = index([text for other, texts in enumerate(read) if other != number for text in texts])
        found.append(_attacked(read[number], guide, known=known, key=key))
        tell(f"{store.name}: {found[-1]}")
    means = {
        name: {kind: round(float(np.mean([one[name][kind] for one in found])), 4) for kind in ("tokens", "types")}
        for name in found[0]
    }
    return {"stores": len(stores), "known_words": known, **means}


def _attacked(texts: Sequence[Counter[str]], guide: Index, *, known: int, key: bytes) -> dict[str, dict[str, float]]:
    hashes = {word: _hashed(word, key) for text in texts for word in text}
    words = {hashed: word for word, hashed in hashes.items()}
    prey = index([Counter({hashes[word]: count for word, count in text.items()}) for text in texts])
    told = {term: words[term] for term in prey.symbols[:known]}
    guesses = {
        "rank": by_rank(prey, guide),
        "neighbours": by_neighbours(prey, guide),
        "known": {**by_neighbours(prey, guide, known=told), **told},
        "ceiling": {term: words[term] for term in prey.symbols if words[term] in set(guide.symbols)},
    }
    return {name: _shares(guess, words, prey.counts) for name, guess in guesses.items()}


def _hashed(word: str, key: bytes) -> str:
    return blake2b(word.encode(), key=key, digest_size=8).hexdigest()


def _shares(guess: dict[str, str], words: dict[str, str], counts: Counter[str]) -> dict[str, float]:
    right = [term for term, word in guess.items() if words[term] == word]
    return {
        "tokens": round(sum(counts[term] for term in right) / max(counts.total(), 1), 4),
        "types": round(len(right) / max(len(words), 1), 4),
    }
