"""Who hears what: pages and agents of one owner, at once, and nobody else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from memory.live.listening import listening_parameters
from memory.live.notices import WIRE
from memory.ports.live import announce_change
from memory.services.actors import Actor, Permission
from tests.environment import PROJECT
from tests.live_server import as_agent, as_person, listening, logged_in

READER = [Permission.TELEMETRY_READ]


def test_a_page_hears_of_a_change_and_of_nothing_else(place: str, alice: Actor) -> None:
    with as_person(place, alice) as page:
        assert page.watch("coverage") == {"watching": ["coverage"]}
        announce_change(alice.owner_id, "budget", "", 1)
        announce_change(alice.owner_id, "coverage", str(alice.owner_id), 2)
        assert page.hear() == {"sort": "coverage", "id": str(alice.owner_id), "version": 2}


def test_what_is_watched_can_be_changed(place: str, alice: Actor) -> None:
    with as_person(place, alice) as page:
        page.watch("coverage")
        assert page.watch("budget", "budget") == {"watching": ["budget"]}
        announce_change(alice.owner_id, "coverage", "", 1)
        announce_change(alice.owner_id, "budget", "", 2)
        assert page.hear()["sort"] == "budget"
        assert page.watch() == {"watching": []}


def test_unknown_sorts_are_refused_by_name(place: str, alice: Actor) -> None:
    with as_person(place, alice) as page:
        assert page.watch("coverage", "nothing", "access") == {
            "watching": ["coverage"],
            "refused": [{"sort": "access", "code": "sort.unknown"}, {"sort": "nothing", "code": "sort.unknown"}],
        }


def test_two_owners_never_hear_each_other(place: str, alice: Actor, mallory: Actor) -> None:
    with as_person(place, alice) as hers, as_person(place, mallory) as his:
        hers.watch("coverage")
        his.watch("coverage")
        for number in range(1, 6):
            announce_change(alice.owner_id, "coverage", "", number)
            announce_change(mallory.owner_id, "coverage", "", 100 + number)
        heard_by_her, heard_by_him = hers.hear_of(5), his.hear_of(105)
        assert all(heard["version"] <= 5 for heard in heard_by_her)
        assert all(heard["version"] > 100 for heard in heard_by_him)


def test_an_agent_hears_what_its_key_may_read(place: str, alice: Actor, make_agent: Callable[..., Any]) -> None:
    _, key = make_agent(alice, "reporter", scopes=READER)
    _, plain = make_agent(alice, "plain")
    with as_agent(place, key) as reporter, as_agent(place, plain) as other:
        assert reporter.watch("coverage") == {"watching": ["coverage"]}
        assert other.watch("coverage") == {
            "watching": [],
            "refused": [{"sort": "coverage", "code": "auth.forbidden"}],
        }
        announce_change(alice.owner_id, "coverage", "", 7)
        assert reporter.hear()["version"] == 7
        # The other is asked something, so that its answer would come after a change that it must not hear of.
        assert other.watch() == {"watching": []}


def test_a_key_counts_more_than_a_session_beside_it(place: str, alice: Actor) -> None:
    client = logged_in(alice)
    headers = {
        "Cookie": f"loci_session={client.cookies['loci_session'].value}",
        "Authorization": "Bearer loci_aaaaaaaa_wrong",
    }
    with listening(place, headers) as page:
        assert page.closed_with() == 4401


def test_what_is_rolled_back_is_not_told(place: str, alice: Actor) -> None:
    with as_person(place, alice) as page:
        page.watch("coverage")
        with transaction.atomic():
            announce_change(alice.owner_id, "coverage", "", 1)
            transaction.set_rollback(True)
        with transaction.atomic():
            announce_change(alice.owner_id, "coverage", "", 2)
        assert page.hear()["version"] == 2


def test_another_process_tells_when_it_commits(place: str, alice: Actor) -> None:
    code = (
        "import django; django.setup()\n"
        "from uuid import UUID\n"
        "from django.db import connections, transaction\n"
        f"connections['default'].settings_dict['NAME'] = {connection.settings_dict['NAME']!r}\n"
        "from memory.ports.live import announce_change\n"
        "with transaction.atomic():\n"
        f"    announce_change(UUID({str(alice.owner_id)!r}), 'coverage', '', 42)\n"
    )
    with as_person(place, alice) as page:
        page.watch("coverage")
        subprocess.run([sys.executable, "-c", code], cwd=PROJECT, env=os.environ.copy(), check=True, timeout=60)
        assert page.hear()["version"] == 42


def test_notices_name_nobody_and_are_small(place: str, alice: Actor) -> None:
    with psycopg.connect(**listening_parameters()) as thief:
        thief.execute(f"LISTEN {WIRE}")
        announce_change(alice.owner_id, "x" * 32, "0" * 36, 2**63 - 1)
        payload = next(thief.notifies(timeout=30, stop_after=1)).payload
    assert len(payload.encode()) < 200
    assert str(alice.owner_id) not in payload
    assert alice.owner_id.hex not in payload


@pytest.mark.parametrize(
    ("sort", "object_id", "version"),
    [("What somebody said", "", 0), ("coverage", "a text", 0), ("coverage", "", -1), ("", "", 0), ("x" * 33, "", 0)],
)
def test_nothing_but_ids_can_be_announced(alice: Actor, sort: str, object_id: str, version: int) -> None:
    with pytest.raises(ValueError, match="nothing else"):
        announce_change(alice.owner_id, sort, object_id, version)


def test_a_burst_is_told_together(place: str, alice: Actor) -> None:
    with as_person(place, alice) as page:
        page.watch("coverage")
        for number in range(1, 501):
            announce_change(alice.owner_id, "coverage", "", number)
        # The last is told, or that anything may have changed; the others may stand behind it.
        heard = [page.hear()]
        while heard[-1]["version"] not in (0, 500):
            heard.append(page.hear())
        assert len(heard) < 100


def test_a_hundred_pages_hear_it(place: str, make_owner: Callable[..., Actor]) -> None:
    owners = [make_owner(f"owner{number}") for number in range(10)]
    with ExitStack() as stack:
        pages = [stack.enter_context(as_person(place, owner)) for owner in owners for _ in range(10)]
        for page in pages:
            page.watch("coverage")
        for number, owner in enumerate(owners, 1):
            announce_change(owner.owner_id, "coverage", "", number)
        for number, page in enumerate(pages):
            assert page.hear() == {"sort": "coverage", "id": "", "version": number // 10 + 1}
