"""No statement of a request or a job takes longer than its limit, and what is cut off is told as such."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from django.db import OperationalError, connection, connections, transaction
from django.test import Client
from pytest_django import Settings

from memory.models import owner_scope
from memory.ports.statement_limits import statement_limit_ms, statements_limited, was_cut_off
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.job_runs import JobError, run_job
from memory.services.remember import remember
from tests.environment import PROJECT
from tests.live_server import logged_in

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])

# Long enough for a statement that waits for nobody on a busy machine.
SHORT: Final = 1.0


@contextmanager
def locked(*tables: str) -> Iterator[None]:
    """Lock tables on another connection; whoever uses them waits."""
    with transaction.atomic(using="schema"), connections["schema"].cursor() as cursor:
        for table in tables:
            cursor.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield
    connections["schema"].close()


def limit() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        return str(cursor.fetchone()[0])


def test_the_limit_is_the_transactions_and_ends_with_it(alice: Actor, mallory: Actor) -> None:
    with statements_limited(7):
        with owner_scope(alice.owner_id):
            assert limit() == "7s"
            with owner_scope(mallory.owner_id):
                assert limit() == "7s"
            assert limit() == "7s"
        assert limit() == "0"
    with owner_scope(alice.owner_id):
        assert limit() == "0"


def test_without_a_limit_the_roles_own_one_holds(alice: Actor) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '9s'")
        with statements_limited(0), owner_scope(alice.owner_id):
            assert limit() == "9s"


def test_a_request_that_takes_too_long_is_a_503_with_a_code(alice: Actor, make_agent: Any, settings: Settings) -> None:
    settings.DATABASE_STATEMENT_TIMEOUT = SHORT
    _, key = make_agent(alice)
    sent: Any = {"headers": {"Authorization": f"Bearer {key}"}, "content_type": "application/json"}
    client = Client(raise_request_exception=False)
    with locked("memory_memory"):
        read = client.get("/api/v1/memories", **sent)
        written = client.post("/api/v1/memories", {"text": "Too late."}, **sent)
    for answer in (read, written):
        assert answer.status_code == 503
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["code"] == "database.timeout"
        assert int(answer.headers["Retry-After"]) > 0
    assert client.get("/api/v1/memories", **sent).json()["items"] == []


def test_a_page_that_takes_too_long_says_so(alice: Actor, settings: Settings) -> None:
    settings.DATABASE_STATEMENT_TIMEOUT = SHORT
    client = logged_in(alice)
    client.raise_request_exception = False
    with locked("memory_memory"):
        answer = client.get("/recent/")
    assert answer.status_code == 503
    assert "database.timeout" in answer.content.decode()


def test_other_errors_of_pages_stay_what_they_are(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    client = logged_in(alice)
    client.raise_request_exception = False
    monkeypatch.setattr("memory.models.tenancy.TELL_SQL", "SELECT nonsense")
    assert client.get("/recent/").status_code == 500


def test_parts_of_a_recall_have_no_longer_time_than_a_request(
    alice: Actor, make_agent: Any, settings: Settings
) -> None:
    remember(actor=alice, draft=Draft(text="The kettle whistles at six."))
    settings.DATABASE_STATEMENT_TIMEOUT = SHORT
    _, key = make_agent(alice)
    with locked("memory_lexposting"):
        answer = Client().post(
            "/api/v1/recall",
            {"query": "Which kettle whistles?"},
            headers={"Authorization": f"Bearer {key}"},
            content_type="application/json",
        )
    assert answer.status_code == 200
    assert "arm.timeout:lexical" in answer.json()["degraded"]


def test_a_job_has_a_limit_of_its_own(alice: Actor, settings: Settings) -> None:
    settings.DATABASE_STATEMENT_TIMEOUT, settings.DATABASE_JOB_STATEMENT_TIMEOUT = 30, 540
    assert run_job("limits", lambda: statement_limit_ms() or 0) == 540_000
    assert statement_limit_ms() is None
    settings.DATABASE_JOB_STATEMENT_TIMEOUT = SHORT

    def sleeps() -> None:
        with owner_scope(alice.owner_id), connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(60)")

    with pytest.raises(JobError, match="OperationalError"):
        run_job("sleeps", sleeps)


def test_a_statement_of_a_job_is_cut_off_before_the_queue_ends_the_worker() -> None:
    asked = (
        "from config.settings import chosen, fixed;"
        "print(chosen.DATABASE_JOB_STATEMENT_TIMEOUT, fixed.Q_CLUSTER['timeout'])"
    )

    def told(value: str | None) -> subprocess.CompletedProcess[str]:
        given = {} if value is None else {"DATABASE_JOB_STATEMENT_TIMEOUT": value}
        return subprocess.run(
            [sys.executable, "-c", asked],
            cwd=PROJECT,
            env={**os.environ, **given},
            capture_output=True,
            text=True,
            timeout=60,
        )

    for value in (None, "590"):
        limit, ended = map(float, told(value).stdout.split())
        assert 0 < limit <= ended - 10
    assert "DATABASE_JOB_STATEMENT_TIMEOUT cannot be used: not between 0 and 590" in told("591").stderr


def test_what_was_cut_off_is_told_from_what_failed(alice: Actor) -> None:
    def sleeps() -> None:
        with statements_limited(SHORT), owner_scope(alice.owner_id), connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(60)")

    with pytest.raises(OperationalError) as caught:
        sleeps()
    assert was_cut_off(caught.value)
    assert not was_cut_off(OperationalError("the connection is closed"))
    assert not was_cut_off(None)
