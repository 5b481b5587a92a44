"""Generated memories and questions: Zipf words, clustered vectors, random tokens; the same for the same seed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from django.db import connection

from bench.database import analyze, new_owner
from memory.crypto.keyring import OwnerRing, keyring
from memory.models import EmbeddingSpace, Kind, Role, Session, SpaceState, owner_scope
from memory.ports import TOKEN_SCALE, TokenMatrix, Tokens, Vectors
from memory.recall.late_interaction import QueryTokens, query_tokens
from memory.services.actors import Actor, write_target
from memory.services.clock import now
from memory.services.drafts import Draft, Ready, make_ready
from memory.services.writing import Embedded, build_row, insert_rows

VOCABULARY = 60_000
CLUSTERS = 2_000
DIMENSION = 384
WORDS = 18
CHUNK = 500
# The half of the memories that are turns stand in conversations of this many, so that they have neighbours.
TURNS = 20
# A turn of 18 words has about so many tokens, as wide as those of the local model, each one of so many kinds.
TOKENS = 24
TOKEN_WIDTH = 48
TOKEN_KINDS = 8_192
REDUCTION = b"made"
# A question touches this many postings for each of the owner's rows, as real questions do and more.
TOUCHED = 1.2
NOISE = 0.6
# Words that may be added to a question.
COMMON = 60


@dataclass(slots=True)
class Population:
    """One measured owner: its actor, size, the words' document frequencies and a few of its texts and vectors."""

    actor: Actor
    size: int
    frequencies: Counter[str] = field(default_factory=Counter)
    samples: list[tuple[list[str], Vectors]] = field(default_factory=list)

    def forget_rest(self) -> None:
        """Keep the frequencies of the words that questions are made of; thousands of owners have many others."""
        asked = {word for words, _ in self.samples for word in words}
        kept = dict(self.frequencies.most_common(COMMON))
        self.frequencies = Counter(kept | {word: self.frequencies[word] for word in asked})


class Generator:
    """Makes texts, vectors and questions from one seed."""

    def __init__(self, seed: int = 7) -> None:
        """Fix the vocabulary's frequencies and the clusters' centres."""
        self._random = np.random.default_rng(seed)
        ranks = np.arange(1, VOCABULARY + 1, dtype=np.float64)
        weights = 1 / (ranks + 2.7) ** 1.07
        self._cumulated = np.cumsum(weights / weights.sum())
        self._centres = _unit(self._random.standard_normal((CLUSTERS, DIMENSION)))
        kinds = _unit(self._random.standard_normal((TOKEN_KINDS, TOKEN_WIDTH)))
        self._kinds: TokenMatrix = np.rint(kinds * TOKEN_SCALE).astype(np.int8)

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

    def tokens(self, count: int) -> list[TokenMatrix]:
        """Make the token vectors of texts."""
        return list(self._kinds[self._random.integers(0, TOKEN_KINDS, (count, TOKENS))])

    def query_tokens(self, text: str, ring: OwnerRing) -> QueryTokens:
        """Make the token vectors of a question, one for each word."""
        spans = np.array([match.span() for match in re.finditer(r"\S+", text)], dtype=np.int32)
        matrix = self._kinds[self._random.integers(0, TOKEN_KINDS, len(spans))]
        return query_tokens(text, Tokens(matrix, spans), reduction=REDUCTION, ring=ring)

    def questions(self, population: Population, count: int) -> Iterator[tuple[str, Vectors]]:
        """Make questions about an owner's own texts, with common words added until they touch enough postings."""
        common = [word for word, _ in population.frequencies.most_common(COMMON)]
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
    """Store generated memories for a new owner through the product's own write path, without embedding them.

    Half of them are turns of conversations, the others statements. Everything is made and written in chunks, so the
    memory that it takes does not grow with the size.
    """
    actor = actor or new_owner()
    population = Population(actor, size)
    target = write_target(actor)
    ring = keyring().of(actor.owner_id)
    for start in range(0, size, CHUNK):
        count = min(CHUNK, size - start)
        texts, vectors = generator.texts(count), generator.vectors(count)
        embedded = Embedded(space.pk, vectors, generator.tokens(count), REDUCTION)
        moment = now()
        ready = [_ready(f"{' '.join(text)} n{start + at}", at, count, ring) for at, text in enumerate(texts)]
        with owner_scope(actor.owner_id):
            sessions = _sessions(actor, ring, start, sum(one.position is not None for one in ready), moment)
            rows = [
                build_row(
                    one,
                    actor=actor,
                    target=target,
                    now=moment,
                    session_id=sessions[at // TURNS].pk if one.position is not None else None,
                )
                for at, one in enumerate(ready)
            ]
            insert_rows(rows, ready, embedded=embedded, now=moment)
        for text in texts:
            population.frequencies.update(set(text))
        population.samples += list(zip(texts[::50], vectors[::50], strict=True))
    population.forget_rest()
    return population


def _ready(text: str, at: int, count: int, ring: OwnerRing) -> Ready:
    """Check one memory of a chunk; those of its first half are turns."""
    if at >= count // 2:
        return make_ready(Draft(text=text), ring=ring)
    role = (Role.USER, Role.ASSISTANT)[at % 2]
    ready = make_ready(Draft(text=text, kind=Kind.TURN, role=role, speaker=role.label), ring=ring)
    ready.position = at % TURNS
    return ready


def _sessions(actor: Actor, ring: OwnerRing, start: int, turns: int, moment: datetime) -> list[Session]:
    """Store the conversations of a chunk's turns."""
    sessions: list[Session] = []
    for first in range(0, turns, TURNS):
        label, length = f"conversation {start + first}", min(TURNS, turns - first)
        sessions.append(
            Session(
                owner_id=actor.owner_id,
                agent_id=actor.agent_id,
                label=label,
                label_hash=ring.name(label),
                started_at=moment,
                last_turn_at=moment,
                turn_count=length,
                next_position=length,
            )
        )
    Session.objects.bulk_create(sessions)
    return sessions


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
