"""Where the system's Chromium is, which tests and the bench of the graph drive."""

from __future__ import annotations

import shutil
from typing import Final

# The shell first: it draws no window of a browser round each page, which takes longer than most tests do.
NAMES: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """Give the path of the first Chromium that is installed; None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)
