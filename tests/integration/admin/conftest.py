"""Browsers of people."""

from __future__ import annotations

from tests.integration.palace.conftest import palace, stranger

__all__ = ["palace", "stranger"]
