"""The line between what is released and what is not: the last migration of the last release, by app."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# Moved on when a release is made. Before the first one it stands where the rule began to hold.
RELEASED: Final[Mapping[str, str]] = {"memory": "0007_palace", "telemetry": "0001_initial"}
# The commit of that release, whose processes are run beside the present ones by a test.
REVISION: Final = "0ab78618a0e221b89a4dfd7dee924a447e5be185"
