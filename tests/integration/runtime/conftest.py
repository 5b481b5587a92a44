"""A real PostgreSQL server in a directory of its own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.postgres.cluster import Cluster
from runtime.postgres.provision import provision

# What a throw-away server may do without.
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "shared_buffers": "32MB"}


def temporary_directory() -> Path:
    """Make a directory with a short path, that the server's user may enter when the tests run as root."""
    return Path(tempfile.mkdtemp(prefix="loci-", dir="/tmp"))


@pytest.fixture
def place() -> Iterator[Path]:
    """Give a data directory; whatever server runs on it at the end is stopped."""
    path = temporary_directory()
    yield path
    Cluster(path).stop()
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    """Give a running server for a module's tests, with the database `loci` set up."""
    path = temporary_directory()
    cluster = Cluster(path, FAST)
    cluster.start()
    provision(cluster.socket_directory, "loci")
    yield cluster
    cluster.stop()
    shutil.rmtree(path)
