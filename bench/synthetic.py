"""Generated memories and questions: Zipf words and clustered vectors, the same for the same seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from django.db import connection

from bench.database import analyze, new_owner
from memory.crypto.keyring import keyring
from memory.models import EmbeddingSpace, SpaceState, owner_scope
from memory.ports import Vectors
from memory.services.actors import Actor, write_target
from memory.services.clock import now
from memory.services.drafts import Draft, make_ready
from memory.services.writing import Embedded, build_row, insert_rows

VOCABULARY = 60_000
CLUSTERS = 2_000
DIMENSION = 384
WORDS = 18
CHUNK = 500
# A question touches this many postings for each of the owner's rows, as real questions do and more.
TOUCHED = 1.2
NOISE = 0.6


@dataclass(slots=True)
class Population:
    """One measured owner: its actor, size, the words' document frequencies and a few of its texts and vectors."""

    actor: Actor
    size: int
    frequencies: Counter[str] = field(default_factory=Counter)
    samples: list[tuple[list[str], Vectors]] = field(default_factory=list)


class Generator:
    """Makes texts, vectors and questions from one seed."""

    def __init__(self, seed: int = 7) -> None:
        """Fix the vocabulary's frequencies and the clusters' centres."""
        self._random = np.random.default_rng(seed)
        ranks = np.arange(1, VOCABULARY + 1, dtype=np.float64)
        weights = 1 / (ranks + 2.7) ** 1.07
        self._cumulated = np.cumsum(weights / weights.sum())
        self._centres = _unit(self._random.standard_normal((CLUSTERS, DIMENSION)))

    def texts(self, count: int) -> list[list[str]]:
        """Make texts of about 18 words."""
        draws = np.searchsorted(self._cumulated, self._random.random((count, WORDS)))
        return [[_word(int(number)) for number in row] for row in draws]

    def vectors(self, count: int) -> Vectors:
        """Make unit vectors round the clusters' centres."""
        chosen = self._centres[self._random.integers(0, CLUSTERS, count)]
        return self.near(chosen)

    def near(self, vectors: Vectors) -> Vectors:
        """Make a unit vector near each given one."""
        noise = self._random.standard_normal(vectors.shape) * (NOISE / np.sqrt(DIMENSION))
        return _unit(vectors + noise)

    def questions(self, population: Population, count: int) -> Iterator[tuple[str, Vectors]]:
        """Make questions about an owner's own texts, with common words added until they touch enough postings."""
        common = [word for word, _ in population.frequencies.most_common(60)]
        for _ in range(count):
            words, vector = population.samples[int(self._random.integers(0, len(population.samples)))]
            rare_first = sorted(set(words), key=lambda word: population.frequencies[word])
            asked = rare_first[:3]
            touched = sum(population.frequencies[word] for word in asked)
            for place in self._random.permutation(len(common)):
                if touched >= TOUCHED * population.size or len(asked) >= 15:
                    break
                if common[place] not in asked:
                    asked.append(common[place])
                    touched += population.frequencies[common[place]]
            yield " ".join(asked), self.near(vector[np.newaxis])[0]


def open_space() -> EmbeddingSpace:
    """Make the active space of the generated vectors; its index is built after loading, which is faster."""
    return EmbeddingSpace.objects.create(
        provider="bench", model="synthetic", dimension=DIMENSION, state=SpaceState.ACTIVE
    )


def build_index(space: EmbeddingSpace) -> None:
    """Build the space's index and bring the statistics up to date."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT loci_index_space(%s, %s)", [space.pk, space.dimension])
    analyze()


def populate(generator: Generator, space: EmbeddingSpace, size: int, *, actor: Actor | None = None) -> Population:
    """Store generated memories for a new owner through the product's own write path, without embedding them."""
    actor = actor or new_owner()
    population = Population(actor, size)
    target = write_target(actor)
    ring = keyring().of(actor.owner_id)
    for start in range(0, size, CHUNK):
        count = min(CHUNK, size - start)
        texts, vectors = generator.texts(count), generator.vectors(count)
        moment = now()
        ready = [make_ready(Draft(text=f"{' '.join(text)} n{start + at}"), ring=ring) for at, text in enumerate(texts)]
        with owner_scope(actor.owner_id):
            rows = [build_row(one, actor=actor, target=target, now=moment) for one in ready]
            insert_rows(rows, ready, embedded=Embedded(space.pk, vectors), now=moment)
        for text in texts:
            population.frequencies.update(set(text))
        population.samples += list(zip(texts[::50], vectors[::50], strict=True))
    return population


def _word(number: int) -> str:
    """Give a pronounceable word for a number, so that stemming and tokenising have real work."""
    syllables = []
    while True:
        number, rest = divmod(number, 100)
        syllables.append("bdfgklmnprstvz"[rest // 5 % 14] + "aeiou"[rest % 5] + ("" if rest < 70 else "n"))
        if number == 0:
            return "".join(reversed(syllables)) + "k"


def _unit(vectors: np.ndarray) -> Vectors:
    scaled: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return scaled
