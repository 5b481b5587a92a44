"""Files of others: what lies in the repository is what the lock says, and anything else is found."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command

from memory.errors import InvalidInput, NotFound
from memory.management.commands.vendor_check import FOLDER
from memory.services.vendored_files import LOCK, fetch, findings, locked

ROOT = Path(settings.BASE_DIR) / FOLDER


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the vendored files that a test may spoil."""
    return Path(shutil.copytree(ROOT, tmp_path / "vendor"))


def test_what_lies_there_is_what_the_lock_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert findings(ROOT) == []
    call_command("vendor_check")
    assert "sigma 3.0.3" in capsys.readouterr().out


def test_a_changed_file_is_found(copy: Path) -> None:
    path = copy / "sigma/3.0.3/sigma.min.js"
    path.write_bytes(path.read_bytes() + b" ")
    assert findings(copy) == ["sigma/3.0.3/sigma.min.js is not what the lock says."]


def test_a_missing_and_an_unlisted_file_are_found(copy: Path) -> None:
    (copy / "sigma/3.0.3/LICENSE.txt").unlink()
    (copy / "sigma/3.0.3/more.js").write_text("")
    assert findings(copy) == ["sigma/3.0.3/LICENSE.txt is missing.", "sigma/3.0.3/more.js is not in the lock."]


def test_a_licence_that_is_not_allowed_is_found(copy: Path) -> None:
    document = json.loads((copy / LOCK).read_text())
    document["packages"][0] |= {"licence": "CC-BY-NC-4.0", "licence_file": "NONE", "integrity": "sha1-x"}
    (copy / LOCK).write_text(json.dumps(document))
    assert len(findings(copy)) == 3


def test_a_lock_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refused:
        locked(tmp_path)
    assert refused.value.machine_code == "vendor.lock"


def test_only_what_the_lock_names_is_fetched(copy: Path) -> None:
    with pytest.raises(NotFound):
        fetch(copy, "left-pad")


def test_no_file_of_others_runs_text_as_code_or_writes_styles() -> None:
    for package in locked(ROOT):
        for file in package.files:
            text = (ROOT / package.folder / file.name).read_text()
            for word in ("new Function", "eval(", 'createElement("style")', "new Worker"):
                assert word not in text, (file.name, word)
