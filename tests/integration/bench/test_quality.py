"""The bench end to end: a small made-up store through the command, and generated memories through the write path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import fit, quality, stages
from bench.dataset import Item, Question, Source, Store
from bench.relevance import fit_relevance
from bench.synthetic import TOKEN_WIDTH, TURNS, Generator, open_space, populate
from memory.crypto.keyring import keyring
from memory.models import Kind, Memory, Session, TokenVectors, owner_scope
from memory.recall.profiles import shipped
from memory.recall.token_blobs import open_tokens
from memory.services.questions import RecallRequest, prepare_query
from runtime.postgres.cluster import Cluster

PROJECT = Path(__file__).resolve().parents[3]
REAL = pytest.mark.django_db(transaction=True, databases=["default", "schema"])

SAID = ["The ferry to Skellig leaves at nine.", "Bring the green tent.", "My sister Oona plays the harp on Sundays."]
ASKED = [("When does the ferry to Skellig leave?", 0), ("Which tent?", 1), ("Who plays the harp?", 2)]


def file_of(path: Path) -> Path:
    """Write one conversation in the published form."""
    turns = [{"dia_id": f"D1:{at}", "speaker": "Nuala", "text": text} for at, text in enumerate(SAID)]
    sample = {
        "sample_id": "made-up",
        "conversation": {"session_1_date_time": "9:05 am on 2 May, 2023", "session_1": turns},
        "qa": [{"question": text, "evidence": [f"D1:{at}"], "category": 4} for text, at in ASKED],
    }
    path.write_text(json.dumps([sample]), encoding="utf-8")
    return path


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROJECT / "manage.py"), "bench", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LOCI_NO_BOOTSTRAP": "1"},
    )


def test_a_small_store_through_the_command(cluster: Cluster, tmp_path: Path) -> None:
    path = file_of(tmp_path / "small.json")
    answer = bench("recall-quality", "--data", str(path), "--without", "late, decay")
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert "made-up: 3 memories, 3 questions" in lines
    assert any(line.startswith("all") for line in lines)
    figures = json.loads(lines[-1])
    assert (figures["n"], figures["memories"], figures["without"]) == (3, 3, ["late", "decay"])
    # All three memories are among the first five of any ranking; in which order depends on the tests' embedder too.
    assert (figures["r@5"], figures["hit@20"]) == (1.0, 1.0)
    assert 1 / 3 < figures["mrr"] <= 1
    assert figures["by_store"]["made-up"]["n"] == figures["by_source"]["small"]["n"] == figures["by_category"]["4"]["n"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["recall-quality"], "Name what to ask"),
        (["recall-quality", "--own", "--without", "magic"], "nothing called 'magic'"),
        (["recall-quality", "--own", "--write"], "give --compare too"),
        (["recall-quality", "--own", "--compare", "--arm", "dense"], "by itself"),
        (["fit", "--data", "/nowhere.json"], "No such file"),
        (["latency", "--owners", "0"], "start at 1"),
    ],
    ids=["nothing", "part", "write", "compare", "file", "range"],
)
def test_what_cannot_be_run_is_said(cluster: Cluster, arguments: Sequence[str], message: str) -> None:
    answer = bench(*arguments)
    assert answer.returncode == 1
    assert message in answer.stderr
    assert "Traceback" not in answer.stderr


def store(name: str, texts: Sequence[str]) -> Store:
    at = datetime(2025, 5, 2, tzinfo=UTC)
    items = [
        *(Item(f"{name}.{number}", text, at, "s1", "Nuala") for number, text in enumerate(texts)),
        Item(f"{name}.f", f"{name} keeps the boat at pier 14.", at, kind=Kind.FACT),
    ]
    questions = [Question(f"What about {item.text.split()[-1]}", frozenset({item.id}), "made") for item in items]
    return Store(name, items, questions)


def quiet(*lines: str) -> None:
    """Say nothing."""


@REAL
def test_stores_are_stored_asked_and_fitted() -> None:
    stores = [store("Nuala", SAID), store("Oona", ["We sold the red canoe.", "The harp needs strings."])]
    figures = quality.measure([Source("made", stores)], tell=quiet)
    assert (figures["n"], figures["memories"], figures["r@10"]) == (7, 7, 1.0)
    assert set(figures["by_store"]) == {"Nuala", "Oona"}
    corpora = quality.ingest_all(stores, tell=quiet)
    assert len({corpus.actor.owner_id for corpus in corpora}) == 2
    assert set(corpora[0].item_of.values()) == {item.id for item in stores[0].items}
    fitted = fit.measure([corpora], tell=quiet)
    assert fitted["n"] == 7
    assert set(fitted["weights"]) == set(fitted["present_weights"])
    assert fitted["held_out"]["r@10"] == 1.0
    assert fitted["transfer"] is None
    ways = fit_relevance([corpora], tell=quiet)
    assert [set(ways[way]) - {"auc", "evidence_passes", "foreign_fails", "n"} for way in ("vectors", "words")] == [
        {"bias", "gap", "cosine"},
        {"bias", "gap", "coverage"},
    ]


@REAL
def test_generated_memories_have_tokens_and_neighbours() -> None:
    generator, space = Generator(), open_space()
    population = populate(generator, space, 90)
    actor, ring = population.actor, keyring().of(population.actor.owner_id)
    with owner_scope(actor.owner_id):
        rows = {row.pk: row for row in Memory.objects.all()}
        assert len({row.text for row in rows.values()}) == len(rows) == 90
        turns = [row for row in rows.values() if row.kind == Kind.TURN]
        assert len(turns) == 45
        assert sorted(session.turn_count for session in Session.objects.all()) == [5, TURNS, TURNS]
        assert len({(row.session_id, row.position) for row in turns}) == 45
        sealed = {one.memory_id: bytes(one.sealed) for one in TokenVectors.objects.all()}
        assert set(sealed) == set(rows)
        memory_id, value = next(iter(sealed.items()))
        matrix = open_tokens(value, ring=ring, memory_id=memory_id, space_id=space.pk, agent_id=None, width=TOKEN_WIDTH)
        lengths = np.linalg.norm(matrix.astype(float), axis=1)
        assert lengths == pytest.approx(np.full(len(matrix), 127), rel=0.02)
    measured = stages.measure(list(asked(generator, population, space)), shipped("default"))
    assert measured["rerank_candidates"] == measured["max_sim_candidates"] == 90


def asked(generator: Generator, population: Any, space: Any) -> list[Any]:
    ring = keyring().of(population.actor.owner_id)
    found = []
    for text, vector in generator.questions(population, 2):
        tokens = generator.query_tokens(text, ring)
        assert len(tokens.terms) == len(tokens.matrix) == len(text.split())
        query = prepare_query(population.actor, text, RecallRequest(query=text), wants_vector=False)
        found.append(replace(query, vector=vector, tokens=tokens, space_id=space.pk, dimension=space.dimension))
    return found


@REAL
def test_thousands_of_owners_keep_only_the_words_of_their_questions() -> None:
    generator, space = Generator(), open_space()
    population = populate(generator, space, 120)
    words = {word for sample, _ in population.samples for word in sample}
    assert len(population.samples) == 3
    assert words <= set(population.frequencies)
    assert len(population.frequencies) <= len(words) + 60
