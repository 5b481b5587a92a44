"""Servers of other makers that tests run on loopback: left out where a program is missing, unless they are required."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest


def required_program(*names: str, package: str) -> str:
    """Give the path of the first program that is there; else skip, or fail where LOCI_REQUIRE_SERVICES is 1."""
    found = next((path for path in map(shutil.which, names) if path), None)
    return found or left_out(f"{names[0]} is not on this machine (Debian: apt install {package})")


def left_out(reason: str) -> NoReturn:
    """Skip a test for a reason, or fail where LOCI_REQUIRE_SERVICES is 1."""
    if os.environ.get("LOCI_REQUIRE_SERVICES") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
