"""`/metrics` tells numbers of the whole installation: nothing that is planted, and to most readers nothing at all."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings

from memory.models import User
from tests.integration.leaks.asking import Answer, answer_of, leaks
from tests.integration.leaks.routes import METHODS, METRICS, endpoints
from tests.integration.leaks.test_walk import READERS, everything
from tests.integration.leaks.world import LURE, STEM, Reader, World, undone

TOKEN = {"Authorization": f"Bearer {settings.METRICS_TOKEN}"}


def visits(reader: Reader, headers: dict[str, str]) -> list[Answer]:
    """Ask for it in every way."""
    found = []
    for method in METHODS[:-1]:
        for query in ("", f"?q={STEM}", f"?{LURE.replace(' ', '+')}"):
            with undone():
                response = getattr(reader.client, method)(f"/{METRICS}{query}", headers=headers)
            found.append(answer_of(response, f"{reader.name}: {method} /{METRICS}{query}", query))
    return found


def test_it_is_there_to_be_walked() -> None:
    assert METRICS in [pattern for pattern, _ in endpoints()]


@pytest.mark.parametrize("name", [name for name in READERS if name != "anonymous"] + ["person", "insider"])
def test_neither_persons_nor_agents_are_told_anything(world: World, name: str) -> None:
    for answer in visits(world.readers[name], {}):
        assert answer.status in (401, 403, 405), answer
        assert "loci_" not in answer.content


@pytest.mark.parametrize("way", ["token", "staff"])
def test_nothing_of_anybody_is_told_to_those_who_may_read_it(world: World, way: str) -> None:
    """After everybody has asked for everything there is."""
    reader: Any = world.readers["foreign person" if way == "staff" else "anonymous"]
    everything(world.readers["insider"], world.rows["owner"])
    User.objects.filter(username="foreign").update(is_staff=way == "staff")
    answers = visits(reader, TOKEN if way == "token" else {})
    User.objects.filter(username="foreign").update(is_staff=False)
    assert [answer.status for answer in answers].count(200) >= 3
    found = [line for answer in answers for line in leaks(world, reader, answer)]
    assert found == []
    told = " ".join(answer.text for answer in answers)
    ids = {value for rows in world.rows.values() for value in rows.values() if len(value) == 36}
    assert ids
    assert [one for one in (*ids, STEM.casefold()) if one in told] == []
