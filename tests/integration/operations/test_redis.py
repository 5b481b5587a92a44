"""An installation of two web processes and a worker that share Redis: limits, notices, the queue, and its death."""

from __future__ import annotations

import http.cookiejar
import re
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

import psycopg
import pytest
import redis

from tests.environment import PROJECT
from tests.integration.leaks.encodings import standing_in
from tests.integration.operations.conftest import make_home
from tests.integration.operations.installation import Installation, printed_key
from tests.integration.operations.test_live import heard, reader
from tests.integration.operations.test_shared_metrics import scraped, total
from tests.live_server import as_agent
from tests.redis_server import RedisServer, need_redis

pytestmark = pytest.mark.slow

RECALLS = 6
FAILURES = 4
WRONG = 5
WORDS = {"xyzzyplugh", "frobozzquux", "gnustowimble", "blorbspell"}


@dataclass
class Pair:
    """An installation, a second web process of it, and the Redis that they share."""

    first: Installation
    second: Installation
    server: RedisServer
    key: str
    spoken: list[bytes] = field(default_factory=list)
    """Every command that Redis was given, but for moments after its return."""

    def both(self) -> tuple[Installation, Installation]:
        return self.first, self.second

    def kill_redis(self) -> None:
        self.server.kill()
        for one in self.both():
            one.wait_for(lambda one=one: one.health().get("redis") == "degraded", "its noticing that Redis is away")

    def start_redis(self) -> None:
        self.server.start()
        _listen(self)
        for one in self.both():
            one.wait_for(lambda one=one: one.health().get("redis") == "ok", "its noticing that Redis is back")

    def recall(self, one: Installation) -> int:
        return one.ask("recall", {"query": "Where is the blorbspell?"}, key=self.key)[0]


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    need_redis()
    server = RedisServer()
    server.start()
    first = Installation(make_home())
    first.environment |= {
        "REDIS_URL": server.url,
        "QUEUE_BROKER": "redis",
        "LOCI_RATE_RECALL": f"{RECALLS}/hour",
        "LOCI_LOGIN_FAILURES": str(FAILURES),
        "LOCI_WRONG_KEYS": str(WRONG),
    }
    second = Installation(first.home)
    second.environment = {
        **first.environment,
        "LOCI_PORT": str(second.port),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    made: subprocess.Popen[bytes] | None = None
    try:
        key = printed_key(first.start())
        command = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--port", str(second.port)]
        command += ["--log-level", "warning", "--ws", "websockets-sansio"]
        with (first.home / "second.log").open("wb") as log:
            made = subprocess.Popen(command, cwd=PROJECT, env=second.environment, stdout=log, stderr=log)
        second.wait_for(second.answers, "the second web process", (first.home / "second.log").read_text)
        found = Pair(first, second, server, key)
        _listen(found)
        yield found
    finally:
        if made is not None:
            made.terminate()
            made.wait(timeout=60)
        first.end()
        server.end()
        shutil.rmtree(first.home)


def _listen(pair: Pair) -> None:
    """Note every command that reaches Redis, until it is killed."""
    begun = threading.Event()

    def listen() -> None:
        with pair.server.client() as client, suppress(redis.RedisError, OSError), client.monitor() as monitor:
            begun.set()
            while True:
                pair.spoken.append(str(monitor.next_command()["command"]).encode())

    threading.Thread(target=listen, name="monitor", daemon=True).start()
    assert begun.wait(30)


def login(one: Installation, name: str, password: str) -> int:
    """Log in as a browser does, and give the status of the last page."""
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    with browser.open(f"{one.address}/login/", timeout=30) as page:
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.read().decode())
    assert token is not None
    fields = {"csrfmiddlewaretoken": token[1], "username": name, "password": password}
    try:
        with browser.open(f"{one.address}/login/", urllib.parse.urlencode(fields).encode(), timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def queued_in_table(installation: Installation) -> int:
    place = f"host={installation.cluster.socket_directory} user=postgres dbname=loci"
    with psycopg.connect(place) as connection:
        (found,) = connection.execute("SELECT count(*) FROM django_q_ormq").fetchone() or (None,)
    return int(found)


def runs_done(pair: Pair) -> int:
    _, body = pair.first.ask("consolidation/runs", key=pair.key)
    return sum(run["state"] == "done" for run in body["items"])


def test_a_limit_of_requests_counts_for_both_processes(pair: Pair) -> None:
    answers = [pair.recall(pair.both()[number % 2]) for number in range(RECALLS)]
    assert answers == [200] * RECALLS
    # The hour may have ended among them, but not among all of these.
    refused = [pair.recall(pair.both()[number % 2]) for number in range(2 * RECALLS)][-2:]
    assert refused == [429, 429]


def test_failed_logins_lock_at_both_processes(pair: Pair) -> None:
    for number in range(FAILURES):
        login(pair.both()[number % 2], "gnustowimble", "frobozzquux")
    assert [login(one, "gnustowimble", "frobozzquux") for one in pair.both()] == [429, 429]


def test_pages_of_the_other_process_hear_over_a_death_of_redis(pair: Pair) -> None:
    key = reader(pair.first)
    place = f"127.0.0.1:{pair.second.port}"
    event = {"request": "Where is the xyzzyplugh?"}

    def record() -> None:
        assert pair.first.ask("telemetry/pipeline-coverage/events", event, key=pair.key)[0] < 300

    with ExitStack() as stack:
        page = stack.enter_context(as_agent(place, key))
        assert page.watch("coverage") == {"watching": ["coverage"]}
        record()
        assert page.hear()["sort"] == "coverage"
        pair.kill_redis()
        record()
        pair.start_redis()
        # Told to look anew, or sent away to come again if it was asked meanwhile.
        assert heard(page) in ({"sort": "coverage", "id": "", "version": 0}, None)
        # What is published before a process has found Redis again is told as a look anew, or the page is sent away: it
        # comes again then, as pages do, and hears the next one.
        versions: list[int | None] = []
        while not any(versions):
            assert len(versions) < 10, versions
            again = stack.enter_context(as_agent(place, key))
            again.watch("coverage")
            record()
            notice = heard(again)
            versions.append(notice and notice["version"])


def test_a_worker_takes_calls_from_redis_and_survives_its_death(pair: Pair) -> None:
    pair.first.wait_for(lambda: pair.first.health()["worker"] == "ok", "the worker's first job")
    assert queued_in_table(pair.first) == 0
    said = {"text": "My sister frobozzquux moved to Lisbon.", "speaker": "gnustowimble"}
    assert pair.first.ask("memories", said, key=pair.key)[0] == 201
    done = runs_done(pair)
    assert pair.first.ask("consolidation/run", {}, key=pair.key)[0] == 202
    pair.first.wait_for(lambda: runs_done(pair) > done, "a run by the worker")

    worker = {process.pid for process in pair.first.processes("manage.py worker")}
    pair.kill_redis()
    done = runs_done(pair)
    assert pair.second.health()["queue"] == "degraded"
    # What is asked for meanwhile is refused by nobody and lost by nobody.
    assert pair.first.ask("memories", {"text": "It rains on the xyzzyplugh."}, key=pair.key)[0] == 201
    assert pair.first.ask("consolidation/run", {}, key=pair.key)[0] == 202
    pair.start_redis()
    pair.first.wait_for(lambda: runs_done(pair) > done, "a run by the worker once Redis is back")
    assert worker & {process.pid for process in pair.first.processes("manage.py worker")}
    assert queued_in_table(pair.first) == 0


def test_each_process_limits_alone_while_redis_is_away(pair: Pair) -> None:
    pair.kill_redis()
    answers = {one.port: [pair.recall(one) for _ in range(2 * RECALLS + 1)] for one in pair.both()}
    for statuses in answers.values():
        assert statuses[0] == 200
        assert statuses[-1] == 429
    pair.start_redis()
    assert pair.recall(pair.first) == 200


def test_doctor_and_metrics_say_so(pair: Pair) -> None:
    assert total(scraped(pair.first), "loci_redis_up") == 1
    pair.kill_redis()
    text = scraped(pair.first)
    assert "loci_redis_up 0.0" in text
    assert "\nloci_queue_tasks " not in text
    said = pair.first.run("doctor", "--no-probe").stdout
    assert re.search(r"degraded\s+redis: Redis is not used: it cannot be reached", said), said
    assert "-> Check that Redis runs" in said
    pair.start_redis()
    said = pair.first.run("doctor", "--no-probe").stdout
    assert re.search(r"ok\s+redis: Redis answers", said), said


def test_wrong_keys_are_counted_at_both_processes_and_known_ones_pass(pair: Pair) -> None:
    for one in pair.both():
        assert one.ask("memories", key=pair.key)[0] == 200
    for number in range(WRONG):
        pair.both()[number % 2].ask("memories", key=f"loci_aaaaaaaa_{number}" + "b" * 42)
    for one in pair.both():
        assert one.ask("memories", key="loci_aaaaaaaa_" + "c" * 43)[0] == 429
        assert one.ask("memories", key=pair.key)[0] == 200


def test_redis_was_told_nothing_that_was_said_and_nobodys_id(pair: Pair) -> None:
    """Last, after all that the others have done; what Redis was told by then was written down."""
    _, memories = pair.first.ask("memories", key=pair.key)
    ids = {memory["id"] for memory in memories["items"]}
    assert ids
    place = f"host={pair.first.cluster.socket_directory} user=postgres dbname=loci"
    with psycopg.connect(place) as connection:
        owners = {
            str(row[0])
            for row in connection.execute("SELECT id FROM memory_owner UNION SELECT id FROM memory_agentkey")
        }
        names = {row[0] for row in connection.execute("SELECT username FROM memory_user")}
    assert owners
    held = b"\n".join(part for item in pair.server.content().items() for part in item)
    spoken = b"\n".join(pair.spoken)
    assert b"EVAL" in spoken
    assert b"PUBLISH" in spoken
    assert b"RPUSH" in spoken
    for content in (held, spoken):
        assert standing_in(content, WORDS | ids | owners | names | {pair.key, pair.key.rsplit("_", 1)[1]}) == set()
        hexadecimal = {one.replace("-", "") for one in owners}
        assert standing_in(content, hexadecimal) == set()


def test_without_the_address_a_queue_in_redis_is_refused(pair: Pair) -> None:
    refused = pair.first.run("doctor", "--json", environment={"REDIS_URL": ""})
    assert refused.returncode != 0
    assert "QUEUE_BROKER=redis needs the address of Redis in REDIS_URL" in refused.stderr
