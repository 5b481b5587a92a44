"""The bench of purges end to end, on few memories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import purge
from memory.errors import InvalidInput
from memory.models import Memory, Owner, owner_scope


@pytest.mark.django_db(transaction=True, databases=["default", "schema"])
def test_rows_go_and_others_stay(settings: Any, tmp_path: Path) -> None:
    # A place of this test's own: the tests that run beside it write into the common one.
    settings.KEYS_DIRECTORY = tmp_path

    found = purge.measure(memories=60, others=40, tell=lambda line: None)

    assert found["rows"] > 60 * 15
    assert found["left"] == 0
    assert found["seconds"] > 0
    assert found["looked_at"]["other_owners"] == 1
    other = Owner.objects.get()
    with owner_scope(other.pk):
        assert Memory.objects.count() == 40
    assert not (tmp_path / "purges.jsonl").exists(), "no ledger but the bench's own"


@pytest.mark.parametrize(("memories", "others"), [(0, 0), (-1, 0), (1, -1), (1_000_001, 0)])
def test_numbers_out_of_range(memories: int, others: int) -> None:
    with pytest.raises(InvalidInput):
        purge.measure(memories=memories, others=others, tell=lambda line: None)
