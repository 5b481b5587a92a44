"""The labelled sets for personal data and for injected phrases, how answers are counted, and what the rules reach."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from bench import injection, pii
from memory.errors import InvalidInput
from memory.privacy.injection import KINDS as INJECTIONS
from memory.privacy.injection import Level
from memory.privacy.pii import KINDS

STANDARD = INJECTIONS[:10]
LANGUAGES = {"en", "de", "fr", "es", "pt", "it", "ru", "zh"}
# Reads texts as Presidio's reader would: it finds every "anna" as a person, and the rest of the text as a place.
READER = """\
#!{python}
import json, sys
texts = json.load(sys.stdin)
found = {{one["id"]: [[0, 4, "PERSON", 0.8], [0, len(one["text"]), "DATE_TIME", 1.0]] for one in texts}}
json.dump({{"found": found, "p50_ms": 1.5}}, sys.stdout)
"""


def quiet(line: str) -> None:
    assert line


def test_every_kind_of_personal_data_is_asked_for_often_enough() -> None:
    texts = pii.load()
    assert len({text.id for text in texts}) == len(texts) >= 500
    assert sum(all(kind == "open" for _, _, kind in text.places) for text in texts) >= 200
    counts = Counter(kind for text in texts for _, _, kind in text.places)
    assert {kind for kind in KINDS if counts[kind] < 15} == set()
    assert all(0 <= start < end <= len(text.text) for text in texts for start, end, _ in text.places)
    assert abs(sum(text.tuned for text in texts) * 2 - len(texts)) <= 60


@pytest.mark.parametrize("half", ["tune", "test"])
def test_personal_data_is_found_in_both_halves(half: str) -> None:
    figures = pii.measure(half=half, tell=quiet)
    assert figures["recall"] >= 0.98
    assert figures["precision"] >= 0.97
    assert min(kind["recall"] for kind in figures["by_kind"].values()) >= 0.85


def test_a_find_counts_by_family_and_overlap() -> None:
    text = pii.Labelled("a-1", "en", "call 0171 2345678 at Rua X 1", ((5, 17, "phone_international"), (21, 28, "open")))
    found = {"a-1": [(5, 17, "phone_us"), (21, 28, "address"), (0, 4, "email")]}
    counts = pii._count([text], found, KINDS)
    assert (counts["phone_international"].labelled, counts["phone_international"].found) == (1, 1)
    assert counts["address"].false == 0
    assert counts["email"].false == 1
    short = pii._count([text], {"a-1": [(5, 9, "phone_us")]}, KINDS)
    assert (short["phone_international"].found, short["phone_us"].false) == (0, 1)


def test_only_known_kinds_count_for_another_reader(tmp_path: Path) -> None:
    reader = tmp_path / "python"
    reader.write_text(READER.format(python=sys.executable), encoding="utf-8")
    reader.chmod(0o700)
    figures = pii.measure(half="tune", presidio=str(reader), tell=quiet)
    # Every text has a find of the same four characters, and none of them is a labelled name.
    assert figures["presidio_recall"] == 0.0
    assert figures["presidio_precision"] == 0.0
    assert figures["presidio_p50_ms"] == 1.5
    assert figures["shared_recall"] > 0.9


@pytest.mark.parametrize("presidio", ["/nowhere/python", sys.executable])
def test_an_interpreter_without_presidio_is_refused(presidio: str) -> None:
    with pytest.raises(InvalidInput) as error:
        pii.measure(half="tune", presidio=presidio, tell=quiet)
    assert error.value.machine_code == "bench.presidio"


@pytest.mark.parametrize("line", ["{", '{"id": "a-1", "lang": "en", "text": "x", "spans": [[0, 1, "nonsense"]]}'])
def test_a_broken_set_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 1"):
        pii.load(path)
    with pytest.raises(ValueError, match="line 1"):
        injection.load(path)


def test_every_kind_of_injection_is_tried_in_languages_and_disguises() -> None:
    samples = injection.load()
    attacks = [sample for sample in samples if sample.kind]
    assert len({sample.id for sample in samples}) == len(samples)
    assert len(attacks) >= 300
    assert len(samples) - len(attacks) >= 500
    assert {sample.kind for sample in attacks} == set(INJECTIONS)
    assert len({sample.disguise for sample in attacks if sample.disguise}) >= 20
    # What closes a container and what marks a turn is the same in every language.
    for kind in STANDARD[:8]:
        assert {sample.language for sample in attacks if sample.kind == kind} == LANGUAGES


@pytest.mark.parametrize("half", ["tune", "test"])
def test_injections_are_found_and_harmless_texts_pass_in_both_halves(half: str) -> None:
    figures = injection.measure(half=half, tell=quiet)
    assert figures["detection_rate"] >= 0.97
    assert figures["false_positive_rate"] <= 0.01
    assert list(figures["by_level"]) == [level.name.lower() for level in Level]
    assert min(kind["detection_rate"] for kind in figures["by_kind"].values()) >= 0.8


def test_misses_of_the_unseen_half_are_not_shown() -> None:
    told: list[str] = []
    injection.measure(half="all", misses=True, tell=told.append)
    pii.measure(half="all", misses=True, tell=told.append)
    names = [line.split(" ", 1)[0].rstrip(":") for line in told if "-" in line.split(" ", 1)[0]]
    assert names
    assert all(int(name.rsplit("-", 1)[1]) % 2 == 1 for name in names)


@pytest.mark.parametrize("bench", [pii, injection], ids=["pii", "injection"])
def test_an_unknown_half_is_refused(bench: object) -> None:
    measure = pii.measure if bench is pii else injection.measure
    with pytest.raises(InvalidInput) as error:
        measure(half="third", tell=quiet)
    assert error.value.machine_code == "bench.options"
