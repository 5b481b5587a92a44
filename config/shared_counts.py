"""Where the processes of an installation share what they count for `/metrics`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from django.conf import settings

from runtime.paths import data_directory

# What the library of metrics looks for when it is first imported.
VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"


def counts_directory() -> Path:
    """Give the directory of this installation; others on the machine may have the same cache."""
    digest = hashlib.sha256(os.fsencode(data_directory())).hexdigest()[:12]
    return Path(settings.METRICS_DIRECTORY) / digest


def empty_counts() -> None:
    """Make the directory, and remove what a former run has left; call it while no process of that run is left.

    Raises:
        OSError: it cannot be made or emptied.
    """
    make_counts_directory()
    place = counts_directory()
    for file in (*place.glob("*.db"), *place.glob("*.alive")):
        file.unlink(missing_ok=True)


def make_counts_directory() -> None:
    """Make the directory and leave what others have counted; for a process that starts beside them.

    Raises:
        OSError: it cannot be made.
    """
    counts_directory().mkdir(parents=True, exist_ok=True, mode=0o700)


def counting_environment() -> Mapping[str, str]:
    """Give what lets a process count together with others; nothing where the directory cannot be written."""
    place = counts_directory()
    return {VARIABLE: str(place)} if os.access(place, os.W_OK | os.X_OK) else {}
