"""Nothing reports home: the model runs without leaving traces outside the product's own places."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings

from tests.environment import MODEL_CACHE

PROGRAM = """
from memory.providers.minilm.embedder import MiniLmEmbedder
print(MiniLmEmbedder(threads=1).embed(["hello"]).shape)
"""


def test_the_model_leaves_nothing_in_the_home_directory(tmp_path: Path) -> None:
    # The runtime keeps still in continuous integration by itself, so its signs are taken away.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CI", "GITHUB", "PYTEST"))}
    environment |= {
        "HOME": str(tmp_path),
        "LOCI_CACHE_DIR": str(MODEL_CACHE),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == "(1, 384)"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
