"""Installations that end with their test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.operations.installation import Installation


def make_home() -> Path:
    """Make a directory with a short path that the database's user may pass through when the tests run as root."""
    home = Path(tempfile.mkdtemp(prefix="loci-ops-", dir="/tmp"))
    home.chmod(0o755)
    return home


@pytest.fixture
def installation() -> Iterator[Installation]:
    """Give an installation that has never been started."""
    made = Installation(make_home())
    yield made
    made.end()
    shutil.rmtree(made.home)


@pytest.fixture(scope="module")
def running() -> Iterator[Installation]:
    """Give a running installation for the tests of a module; `first_words` is what its first start said."""
    made = Installation(make_home())
    made.start()
    yield made
    made.end()
    shutil.rmtree(made.home)
