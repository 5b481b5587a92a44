"""Fitting the projection: from texts of personas, orthonormal, and written where it is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bench import projection
from bench.projection import fit_projection, persona_texts
from memory.providers.minilm.reduction import PROJECTION, load_projection

PERSONA = {
    "name": "someone",
    "sessions": [{"id": "s1", "turns": [{"speaker": "Ines", "text": "The kiln fires on Mondays."}]}],
    "facts": [{"text": "The clay comes from Devon."}],
    "questions": [{"text": "When does the kiln fire?"}],
}


@pytest.fixture
def persona(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(projection, "WORDS", 60)
    path = tmp_path / "someone.json"
    path.write_text(json.dumps(PERSONA))
    return path


def test_texts_are_what_is_embedded(persona: Path) -> None:
    assert list(persona_texts(persona)) == [
        "Ines: The kiln fires on Mondays.",
        "The clay comes from Devon.",
        "When does the kiln fire?",
    ]


def test_a_fit_is_written_and_can_be_loaded(persona: Path, tmp_path: Path) -> None:
    target = tmp_path / "projection.npy"
    shipped = PROJECTION.read_bytes()
    fitted = fit_projection([persona], width=6, target=target)
    assert (fitted.texts, fitted.projection.shape) == (3, (384, 6))
    assert fitted.tokens > 12
    assert 0 < fitted.kept < 1
    assert (load_projection(target)[0] == fitted.projection).all()
    directions = fitted.projection.astype(np.float64)
    assert np.abs(directions.T @ directions - np.eye(6)).max() < 1e-2
    assert PROJECTION.read_bytes() == shipped


def test_too_few_tokens_and_impossible_widths_are_refused(persona: Path) -> None:
    with pytest.raises(ValueError, match="fewer tokens"):
        fit_projection([persona], width=100, target=None)
    for width in (0, 385):
        with pytest.raises(ValueError, match="1 to 384"):
            fit_projection([persona], width=width, target=None)


@pytest.mark.parametrize("content", ["[]", "{", '{"sessions": [{}]}'], ids=["list", "json", "keys"])
def test_another_file_is_refused_by_name(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"other\.json is not a persona"):
        list(persona_texts(path))
