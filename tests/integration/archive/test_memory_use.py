"""An export needs as much memory for many memories as for few."""

from __future__ import annotations

import tracemalloc

import pytest

from memory.crypto.keyring import keyring
from memory.ids import new_id
from memory.models import Memory, owner_scope
from memory.services.actors import Actor, write_target
from memory.services.archive.writing import order_archive, write_archive
from memory.services.clock import now
from memory.services.drafts import Draft, make_ready
from memory.services.writing import build_row

pytestmark = pytest.mark.django_db(transaction=True)


class Nowhere:
    """Counts bytes and keeps none."""

    def __init__(self) -> None:
        self.size = 0

    def write(self, data: bytes, /) -> None:
        """Count."""
        self.size += len(data)


def fill(owner: Actor, count: int) -> None:
    """Store memories without what recall finds them by; they are only read here."""
    ready = make_ready(
        Draft(text="A memory of usual length, about tea, coffee and other things. " * 4, source="user:al"),
        ring=keyring().of(owner.owner_id),
    )
    moment, target = now(), write_target(owner)
    with owner_scope(owner.owner_id):
        for _ in range(0, count, 500):
            rows = [build_row(ready, actor=owner, target=target, now=moment) for _ in range(500)]
            for row in rows:
                row.content_hash = new_id().bytes * 2
            Memory.objects.bulk_create(rows)


def peak(owner: Actor, count: int) -> int:
    """Export and give the most bytes that were held at once."""
    order = order_archive(actor=owner)
    sink = Nowhere()
    tracemalloc.start()
    try:
        manifest = write_archive(order, sink)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert manifest.rows("memories") == count
    assert sink.size > count * 20
    return most


def test_memory_stays_flat(alice: Actor) -> None:
    fill(alice, 1_000)
    few = peak(alice, 1_000)
    fill(alice, 4_000)
    many = peak(alice, 5_000)
    assert many < few * 1.25 + 1024 * 1024
    assert many < 32 * 1024 * 1024
