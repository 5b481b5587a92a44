"""Building the local model: verified sources, one build for many processes, repair of damage."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memory.errors import EmbedderUnavailable
from memory.providers.minilm import build, source_files
from memory.providers.minilm.engine import CELLS, LARGEST_BATCH, batches

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build.ensure_built(tmp_path_factory.mktemp("models") / "model")


@pytest.fixture
def copy(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "model"))


def test_the_installed_files_are_the_published_ones_and_are_not_imported() -> None:
    source_files.verify(source_files.installed_files())
    assert source_files.MODULE not in sys.modules


def test_a_changed_weight_file_is_refused(tmp_path: Path) -> None:
    for name in source_files.DIGESTS:
        shutil.copyfile(source_files.installed_files() / name, tmp_path / name)
    with (tmp_path / "model.safetensors").open("r+b") as file:
        file.seek(50_000_000)
        file.write(b"\1")
    with pytest.raises(EmbedderUnavailable, match="model.safetensors is not the published one"):
        source_files.verify(tmp_path)


def test_a_missing_source_file_is_named_without_its_folder(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable) as caught:
        source_files.verify(tmp_path)
    assert "model.safetensors" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_the_manifest_lists_every_file_and_nothing_else_is_left(built: Path) -> None:
    listed = set(json.loads((built / build.MANIFEST).read_text()))
    assert listed == {build.MODEL_FILE, f"{build.MODEL_FILE}.weights", build.TOKENIZER_FILE}
    assert {path.name for path in built.iterdir()} == listed | {build.MANIFEST}
    assert {path.name for path in built.parent.iterdir()} == {"model", ".model.lock"}


def test_intact_files_are_not_built_again(built: Path) -> None:
    before = (built / build.MANIFEST).stat().st_ino
    assert build.ensure_built(built) == built
    assert (built / build.MANIFEST).stat().st_ino == before


@pytest.mark.parametrize("damage", ["truncate", "change", "remove", "manifest"])
def test_damaged_files_are_noticed_and_built_again(copy: Path, damage: str) -> None:
    weights = copy / f"{build.MODEL_FILE}.weights"
    if damage == "truncate":
        os.truncate(weights, 1000)
    elif damage == "change":
        with weights.open("r+b") as file:
            file.seek(60_000_000)
            file.write(b"\1\2")
    elif damage == "remove":
        (copy / build.TOKENIZER_FILE).unlink()
    else:
        (copy / build.MANIFEST).write_text("[]")
    assert not build.intact(copy)
    build.ensure_built(copy)
    assert build.intact(copy)


def test_processes_that_start_together_build_once(tmp_path: Path) -> None:
    target = tmp_path / "model"
    command = [sys.executable, "-m", "memory.providers.minilm.build", str(target)]
    processes = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = [process.communicate()[0].strip() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert said == [str(target)] * 3
    assert {path.name for path in tmp_path.iterdir()} == {"model", ".model.lock"}


def test_a_folder_that_cannot_be_made_is_a_clear_refusal(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EmbedderUnavailable, match="LOCI_CACHE_DIR"):
        build.ensure_built(tmp_path / "file" / "model")


def test_the_default_folder_follows_the_cache_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCI_CACHE_DIR", str(tmp_path))
    assert build.default_directory().parent == tmp_path.resolve() / "models"
    assert build.default_directory().name.startswith("all-MiniLM-L6-v2-")


def test_batches_hold_each_text_once_within_the_limits() -> None:
    lengths = [(index * 37) % 256 + 2 for index in range(500)]
    made = list(batches(lengths))
    assert sorted(index for batch in made for index in batch) == list(range(500))
    for batch in made:
        assert len(batch) <= LARGEST_BATCH
        assert len(batch) * max(lengths[index] for index in batch) <= CELLS
    assert list(batches([])) == []
    assert list(batches([CELLS * 2])) == [[0]]
