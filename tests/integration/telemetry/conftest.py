"""What the tests of telemetry share: the clients of the interface."""

from __future__ import annotations

from tests.integration.api.conftest import (
    agent,
    anonymous,
    cheap_passwords,
    colleague,
    make_client,
    powerless,
    stranger,
    woman,
)

__all__ = [
    "agent",
    "anonymous",
    "cheap_passwords",
    "colleague",
    "make_client",
    "powerless",
    "stranger",
    "woman",
]
