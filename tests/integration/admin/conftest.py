"""Browsers of people, and of one of the staff."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from memory.services.actors import Actor
from tests.integration.palace.conftest import client_of, palace, stranger

__all__ = ["palace", "stranger"]


@pytest.fixture
def boss(make_owner: Callable[..., Actor]) -> Actor:
    """One who looks after the installation."""
    return make_owner("boss", staff=True)


@pytest.fixture
def staff(boss: Actor) -> Client:
    """The browser of the one who looks after the installation."""
    return client_of(boss)
