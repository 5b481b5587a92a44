"""The bench of the admin end to end, on few memories."""

from __future__ import annotations

import pytest

from bench import admin
from memory.admin.site import site
from memory.errors import InvalidInput


@pytest.mark.django_db(transaction=True, databases=["default", "schema"])
def test_every_page_is_asked_for() -> None:
    found = admin.measure(memories=40, tell=lambda line: None)
    assert found["memories"] == 40
    assert found["pages"] > len(site._registry)
    assert 0 < found["most_queries"] < 60
    assert found["slowest"][0]["ms"] >= found["slowest"][-1]["ms"] > 0


@pytest.mark.parametrize("memories", [0, -1, 1_000_001])
def test_numbers_out_of_range(memories: int) -> None:
    with pytest.raises(InvalidInput):
        admin.measure(memories=memories, tell=lambda line: None)
