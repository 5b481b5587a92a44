"""The image's own commands, in the order and with the grants of compose.yaml, in namespaces instead of an engine."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families as families

from runtime.postgres.cluster import Cluster
from runtime.postgres.provision import superuser_conninfo
from tests.containers import compose
from tests.containers.namespaces import PATIENCE, Pod, lacking
from tests.environment import PROJECT
from tests.integration.operations.installation import printed_key

pytestmark = pytest.mark.slow

TEXT = "Ada keeps the lighthouse key under the blue stone."
STARTING = (
    "import sys; from pathlib import Path; from runtime.postgres.cluster import Cluster\n"
    "Cluster(Path(sys.argv[1]), {'listen_addresses': '127.0.0.1', 'fsync': 'off'}).start()"
)


def wait_for(happened: Callable[[], bool], what: str, explain: Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, f"waited for {what}: {explain()}"
        time.sleep(0.2)


def serve_database(pod: Pod) -> Cluster:
    """Start a server that listens in the pod's network and asks for passwords, as the image of compose.yaml does."""
    place = pod.home / "database"
    subprocess.run(pod.inside(sys.executable, "-c", STARTING, place), cwd=PROJECT, check=True)
    server = Cluster(place)
    rules = server.directory / "pg_hba.conf"
    rules.write_text(re.sub(r"^(host\s.*)reject$", r"\1scram-sha-256", rules.read_text(), flags=re.MULTILINE))
    with psycopg.connect(superuser_conninfo(server.socket_directory), autocommit=True) as connection:
        password = (pod.secrets / "postgres_password").read_text()
        connection.execute(psycopg.sql.SQL("ALTER ROLE postgres PASSWORD {}").format(psycopg.sql.Literal(password)))
        connection.execute("SELECT pg_reload_conf()")
    return server


@pytest.fixture(scope="module")
def pod() -> Iterator[Pod]:
    """Give the services of compose.yaml that have no profile, started one after the other as `depends_on` says."""
    reason = lacking()
    if reason:
        # No package brings what the kernel, or whoever runs this in a container, does not allow.
        pytest.skip(f"the namespaces of the kernel cannot be used: {reason}")
    home = Path(subprocess.run(["mktemp", "-d", "/tmp/loci-pod-XXXXXX"], capture_output=True, text=True).stdout.strip())
    home.chmod(0o755)
    made = Pod(home, settings={"EMBEDDING_PROVIDER": "stub"})
    server = None
    try:
        subprocess.run([PROJECT / "containers" / "secrets", made.secrets], check=True, capture_output=True)
        server = serve_database(made)
        for name in compose.order():
            service = compose.services()[name]
            if name not in compose.ours():
                continue
            if service["restart"] == "no":
                done = made.run(name)
                made.log(name).write_text(done.stdout + done.stderr)
                assert done.returncode == 0, (name, done.stdout, done.stderr)
            else:
                made.start(name)
        yield made
    finally:
        made.end()
        if server is not None:
            server.stop()
        shutil.rmtree(home)


def healthy(pod: Pod, service: str) -> bool:
    """Run a service's health check in a container like its own."""
    kind, *command = compose.services()[service]["healthcheck"]["test"]
    assert kind == "CMD"
    return pod.run(service, command).returncode == 0


def test_the_services_come_up_and_remember(pod: Pod) -> None:
    assert compose.order() == ["postgres", "provision", "prepare", "web", "worker"]
    assert "no owner yet" in pod.log("prepare").read_text()
    wait_for(lambda: pod.ask("/health/live")[0] == 200, "the web process", pod.log("web").read_text)

    first = pod.run("prepare", ["python", "manage.py", "prepare", "--first-owner"])
    assert first.returncode == 0, first.stderr
    authorization = f"Bearer {printed_key(first.stdout)}"
    wait_for(lambda: healthy(pod, "web"), "a healthy web process", pod.log("web").read_text)
    wait_for(lambda: healthy(pod, "worker"), "a healthy worker", lambda: pod.ask("/health/ready")[1])

    status, told = pod.ask("/api/v1/memories", {"text": TEXT}, Authorization=authorization)
    assert status == 201, told
    status, told = pod.ask("/api/v1/recall", {"query": "Where is the lighthouse key?"}, Authorization=authorization)
    assert status == 200, told
    assert [hit["memory"]["text"] for hit in json.loads(told)["hits"]] == [TEXT]
    status, told = pod.ask("/api/v1/health")
    checks = {check["name"]: check["status"] for check in json.loads(told)["checks"]}
    assert checks["database"] == checks["keys"] == checks["schema"] == checks["worker"] == "ok"


def test_what_the_worker_counts_is_told_by_the_web_process(pod: Pod) -> None:
    token = (pod.secrets / "metrics_token").read_text()

    def counted() -> dict[str, float]:
        # As the Prometheus of compose.yaml asks: by the name of the service.
        status, text = pod.ask("/metrics", Authorization=f"Bearer {token}", Host="web:8420")
        assert status == 200, text
        return {
            name: sum(one.value for family in families(text) for one in family.samples if one.name == name)
            for name in ("loci_job_runs_total", "loci_http_requests_total")
        }

    wait_for(lambda: counted()["loci_job_runs_total"] > 0, "a job of the worker", pod.log("worker").read_text)
    assert counted()["loci_http_requests_total"] > 0
    # Numbers of processes begin with 1 in both containers, and each name says in which.
    names = {path.stem.rpartition("_")[2] for path in (pod.home / "volumes" / "metrics").rglob("counter_*.db")}
    assert len({name.rpartition("-")[2] for name in names - {"ended"}}) == 2


def test_no_secret_is_in_an_environment_an_argument_or_a_log(pod: Pod) -> None:
    secrets = {path.name: path.read_text() for path in pod.secrets.iterdir()}
    assert len(secrets) == len(compose.document()["secrets"])
    told = "".join(path.read_text() for path in pod.home.glob("*.log"))
    for service in ("web", "worker"):
        for process in (pod.first_process(service), *pod.first_process(service).children(recursive=True)):
            told += json.dumps(process.environ()) + json.dumps(process.cmdline())
            assert process.uids().effective == 10001
    assert "/run/secrets/master_key" in told
    assert [name for name, value in secrets.items() if value in told] == []


def test_both_steps_can_be_repeated_while_it_serves(pod: Pod) -> None:
    done = pod.run("provision")
    assert done.returncode == 0, (done.stdout, done.stderr)
    again = pod.run("prepare", ["python", "manage.py", "prepare", "--first-owner"])
    assert again.returncode == 0, (again.stdout, again.stderr)
    # Nobody is made a second time.
    assert "an owner already" in again.stdout
    assert "Warning" not in again.stdout + pod.log("prepare").read_text()
    assert pod.ask("/health/ready")[0] == 200


def test_what_was_not_granted_is_not_there(pod: Pod) -> None:
    listed = pod.run("web", ["ls", "/run/secrets"]).stdout.split()
    assert sorted(listed) == sorted(compose.services()["web"]["secrets"])
    for place in ("/opt/loci/app/x", "/usr/x", "/etc/loci/x", "/x"):
        assert pod.run("web", ["touch", place]).returncode != 0


def test_doctor_finds_the_web_process_that_nothing_supervises(pod: Pod) -> None:
    told = json.loads(_doctor(pod).stdout)
    found = {check["name"]: check["status"] for check in told["checks"]}
    assert found["server"] == found["key modes"] == found["key places"] == "ok", told


def _doctor(pod: Pod) -> subprocess.CompletedProcess[str]:
    # In the network of all, so that the web process's own address leads to it.
    return pod.run("web", ["python", "manage.py", "doctor", "--json", "--no-probe"])


def documented(name: str) -> list[str]:
    """Give the lines of a marked block of the documentation."""
    page = (PROJECT / "docs" / "how-to" / "containers.md").read_text(encoding="utf-8")
    block = re.search(rf"<!-- {name} -->\n```bash\n(.*?)```", page, re.DOTALL)
    assert block is not None
    return block[1].splitlines()


def recalled(pod: Pod, key: str) -> set[str]:
    status, told = pod.ask("/api/v1/recall", {"query": "lighthouse key"}, Authorization=f"Bearer {key}")
    assert status == 200, told
    return {hit["memory"]["text"] for hit in json.loads(told)["hits"]}


def test_what_is_backed_up_as_documented_comes_back(pod: Pod) -> None:
    server = Cluster(pod.home / "database")
    made = pod.run("worker", ["python", "manage.py", "agent", "key", "first agent"])
    (key,) = [word for word in made.stdout.split() if word.startswith("loci_")]
    for line in documented("backup"):
        pod.documented(line, server.binaries.directory, server.socket_directory)
    later = {"text": "The lighthouse key was lost at sea."}
    assert pod.ask("/api/v1/memories", later, Authorization=f"Bearer {key}")[0] == 201
    assert recalled(pod, key) == {TEXT, later["text"]}

    shutil.rmtree(pod.home / "volumes" / "keys")
    for line in documented("restore"):
        pod.documented(line, server.binaries.directory, server.socket_directory)
    wait_for(lambda: healthy(pod, "web"), "a healthy web process", pod.log("web").read_text)
    assert recalled(pod, key) == {TEXT}


def test_they_end_when_they_are_asked_to(pod: Pod) -> None:
    assert pod.stop("worker") == 0
    assert pod.stop("web") in (0, 143)
