"""The image holds what it needs to run, pinned and checked by hashes, and nothing that builds, tests or is secret."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.containers import image
from tests.environment import PROJECT

# What compiles, fetches or installs.
BUILDING = re.compile(r"\b(apt-get|apk|dnf|gcc|g\+\+|make|build-essential|curl|wget|git|pip3? install|uv|npm|cargo)\b")
LOCKS = ("run", "redis", "tracing")


def test_every_stage_starts_from_the_same_pinned_image() -> None:
    bases = {stage.base for stage in image.stages()}
    assert len(bases) == 1
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+", bases.pop())
    assert len(image.stages()) == 2


def test_packages_are_installed_by_their_hashes_as_wheels() -> None:
    (install,) = [one for one in image.stages()[0].of("RUN") if " install " in one]
    assert {"--no-deps", "--require-hashes", "--only-binary=:all:"} <= set(install.split())
    assert re.search(r"for lock in ([\w ]+);", install).group(1).split() == list(LOCKS)  # type: ignore[union-attr]
    sources, _ = image.copies(image.stages()[0])[0]
    assert sources == [f"requirements/{name}.txt" for name in LOCKS]
    for source in sources:
        assert "--hash=sha256:" in (PROJECT / source).read_text(encoding="utf-8")
        assert image.sent(source)


def test_the_last_stage_builds_nothing_and_loses_what_installs() -> None:
    runs = image.last().of("RUN")
    assert [one for one in runs if BUILDING.search(one)] == []
    assert any("pip uninstall" in one and "setuptools" in one for one in runs)
    assert not image.last().of("ADD")


def test_it_runs_as_a_user_without_rights_and_makes_no_environment() -> None:
    stage = image.last()
    assert stage.of("USER") == ["10001:10001"]
    names = [name for name, _ in stage.instructions]
    # Nothing is written after it.
    assert not {"RUN", "COPY"} & set(names[names.index("USER") :])
    assert image.environment()["LOCI_NO_BOOTSTRAP"] == "1"
    assert stage.of("CMD") == ['["python", "manage.py", "start", "web"]']


def test_every_place_of_the_settings_is_made() -> None:
    said = image.environment()
    assert set(image.places()) == {said[name] for name in said if name.endswith("_DIR")}


def test_no_variable_is_a_secret() -> None:
    text = image.DOCKERFILE.read_text(encoding="utf-8")
    assert not re.search(r"(?i)password|_token|secret_key|master_key", text)


def test_what_is_sent_to_the_builder_is_what_is_copied() -> None:
    copied = {source for stage in image.stages() for sources, _ in image.copies(stage) for source in sources}
    sent = {path.name for path in PROJECT.iterdir() if image.sent(path.name)}
    assert sent | {f"requirements/{name}.txt" for name in LOCKS} == copied
    for path in ("secrets/master_key", ".env", ".git/config", "tests/conftest.py", "requirements/develop.txt"):
        assert not image.sent(path), path
    assert not image.sent("memory/__pycache__/apps.cpython-311.pyc")
    assert image.sent("locale/de/LC_MESSAGES/django.mo")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the image would hold of the project."""
    made = tmp_path_factory.mktemp("image")
    image.materialise(made)
    return made


def test_no_module_that_it_holds_needs_one_that_it_does_not(tree: Path) -> None:
    assert not (tree / "tests").exists()
    packages = {path.name for path in PROJECT.iterdir() if (path / "__init__.py").is_file()}
    absent = sorted(packages - {path.name for path in tree.iterdir()})
    wanted = re.compile(rf"^\s*(?:from|import) ({'|'.join(absent)})\b", re.MULTILINE)
    asking = {
        path.relative_to(tree).as_posix()
        for path in tree.rglob("*.py")
        if wanted.search(path.read_text(encoding="utf-8"))
    }
    # For developers: they run from a checkout, and are imported only when they are called.
    assert asking <= {"manage.py", "memory/management/commands/bench.py"}


def test_commands_are_found_in_it(tree: Path, tmp_path: Path) -> None:
    environment = {name: str(tmp_path / name) for name in image.environment() if name.endswith("_DIR")}
    done = subprocess.run(
        [sys.executable, "manage.py", "help", "start"],
        cwd=tree,
        env={**environment, "LOCI_NO_BOOTSTRAP": "1", "PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "web or worker" in done.stdout
