"""The attack by frequencies: it finds what can be found, always the same, and says what share that is."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from random import Random

import pytest

from bench.dataset import Item, Store
from bench.frequency import by_neighbours, by_rank, index, measure
from memory.errors import InvalidInput

WORDS = [f"word{number}" for number in range(40)]


def texts(seed: int, count: int = 400) -> list[Counter[str]]:
    """Draw texts in which common words are common, and some stand together."""
    chance = Random(seed)
    weights = [1 / (rank + 1) for rank in range(len(WORDS))]
    drawn = []
    for _ in range(count):
        chosen = set(chance.choices(WORDS, weights, k=6))
        chosen |= {WORDS[int(word[4:]) ^ 1] for word in chosen if chance.random() < 0.7}
        drawn.append(Counter(chosen))
    return drawn


def hidden(read: list[Counter[str]]) -> list[Counter[str]]:
    """Put other symbols for the words."""
    return [Counter({f"x-{word[::-1]}": count for word, count in text.items()}) for text in read]


def shown(symbol: str) -> str:
    return symbol.removeprefix("x-")[::-1]


def test_with_the_very_same_counts_every_common_word_is_found() -> None:
    read = texts(1)
    guesses = by_rank(index(hidden(read)), index(read))
    right = [symbol for symbol, word in guesses.items() if shown(symbol) == word]
    assert len(right) > 20


def test_no_word_is_guessed_twice_and_known_ones_stand() -> None:
    prey, guide = index(hidden(texts(1))), index(texts(2))
    known = {symbol: shown(symbol) for symbol in prey.symbols[:8]}
    found = by_neighbours(prey, guide, known=known)
    assert len(set(found.values())) == len(found)
    assert all(found[symbol] == word for symbol, word in known.items())


def by_topic(seed: int, count: int = 1_500) -> list[Counter[str]]:
    """Draw texts of ten topics, each with eight words of its own, all topics as common as each other."""
    chance = Random(seed)
    weights = [1 / (rank + 1) for rank in range(8)]
    return [
        Counter(f"{topic}word{rank}" for rank in chance.choices(range(8), weights, k=5))
        for topic in chance.choices("abcdefghij", k=count)
    ]


def test_what_stands_beside_known_words_is_found() -> None:
    """Ranks say nothing where all topics are as common; two known words of each say which topic a word is of."""
    prey, guide = index(hidden(by_topic(1))), index(by_topic(2))
    known = {symbol: shown(symbol) for symbol in prey.symbols if shown(symbol)[-1] in "02"}
    found = by_neighbours(prey, guide, known=known)

    def right(guesses: dict[str, str]) -> int:
        return sum(shown(symbol) == word for symbol, word in guesses.items() if symbol not in known)

    assert right(found) > 20
    assert right(by_rank(prey, guide)) < 15


def test_the_figures_are_shares_and_always_the_same() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    stores = [
        Store(f"store {seed}", [Item(str(n), " ".join(text), moment) for n, text in enumerate(texts(seed, 60))], [])
        for seed in (1, 2)
    ]
    figures = measure(stores, known=5, tell=lambda line: None)
    assert figures == measure(stores, known=5, tell=lambda line: None)
    for name in ("rank", "neighbours", "known", "ceiling"):
        assert 0 <= figures[name]["types"] <= 1
        assert 0 <= figures[name]["tokens"] <= figures["ceiling"]["tokens"] <= 1
    with pytest.raises(InvalidInput):
        measure(stores[:1], tell=lambda line: None)
