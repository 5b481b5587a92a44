"""Two releases of the program on one database: the last from the history, and the present with a migration more."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memory.management.upgrades.line import REVISION
from tests.environment import PROJECT
from tests.integration.operations.installation import PATIENCE, Installation
from tests.ports import reserved_port

LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "tests", "docs", "node_modules")
# What a migration may do that lets the last release go on, in one: it has a table, a column, a check and an index.
HARMLESS = """
from typing import ClassVar
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("memory", "{last}")]
    operations = [
        migrations.RunSQL("CREATE TABLE memory_later (owner_id uuid NOT NULL, id uuid NOT NULL)"),
        migrations.RunSQL("ALTER TABLE memory_memory ADD COLUMN later text NOT NULL DEFAULT 'calm'"),
        migrations.RunSQL("ALTER TABLE memory_memory ADD CONSTRAINT later CHECK (later <> '') NOT VALID"),
        AddIndexConcurrently("Memory", models.Index(fields=["owner", "updated_at"], name="memory_by_change")),
        migrations.RunSQL("COMMENT ON COLUMN memory_memory.later IS 'Of the next release.'"),
    ]
"""


def last_release(into: Path) -> Path:
    """Unpack the last release; without a history that goes back to it there is none, and the test is left out."""
    asked = ["git", "cat-file", "-e", f"{REVISION}^{{commit}}"]
    if subprocess.run(asked, cwd=PROJECT, capture_output=True, check=False).returncode != 0:
        pytest.skip("the history of this checkout does not go back to the last release, so there is none to run")
    packed = subprocess.run(["git", "archive", REVISION], cwd=PROJECT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(into, filter="data")
    return into


def next_release(into: Path) -> Path:
    """Copy the present program and add a migration."""
    shutil.copytree(PROJECT, into, ignore=LEFT_OUT)
    folder = into / "memory" / "migrations"
    last = max(path.stem for path in folder.glob("[0-9]*.py"))
    (folder / "9999_later.py").write_text(HARMLESS.replace("{last}", last), encoding="utf-8")
    return into


def run(tree: Path, installation: Installation, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of a release on an installation."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=tree, env=installation.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=PATIENCE,
    )  # fmt: skip


@contextmanager
def started(
    command: list[str], tree: Path, environment: dict[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program while a block runs."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, cwd=tree, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)


@contextmanager
def web_process(tree: Path, installation: Installation, log: Path) -> Iterator[str]:
    """Run one more web process of a release on an installation; gives its address."""
    port = reserved_port()
    command = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--lifespan", "on", "--no-access-log", "--log-level", "warning", "--ws", "websockets-sansio"]
    environment = {**installation.environment, "LOCI_DB_POOL": "true", "LOCI_PORT": str(port)}
    address = f"http://127.0.0.1:{port}"
    with started(command, tree, environment, log) as process:

        def ready() -> bool:
            assert process.poll() is None, log.read_text()
            try:
                return ask(address, "health")[0] == 200
            except OSError:
                return False

        installation.wait_for(ready, "the web process", log.read_text)
        yield address


def ask(address: str, path: str, body: Any = None, *, key: str = "", method: str = "") -> tuple[int, Any]:
    """Send a request to the API of one process; gives status and body."""
    headers = {"Accept": "application/json", "Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{address}/api/v1/{path}", data=data, headers=headers, method=method or None)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


def drive(address: str, key: str, name: str) -> list[str]:
    """Store, change, find, link and forget by one process; gives what was answered with an error."""
    wrong = []

    def expect(path: str, body: Any = None, method: str = "") -> Any:
        status, answer = ask(address, path, body, key=key, method=method)
        if not 200 <= status < 300:
            wrong.append(f"{method or ('POST' if body is not None else 'GET')} {path}: {status} {answer}")
        return answer if isinstance(answer, dict) else {}

    stored = expect("memories", {"text": f"The kettle of {name} whistles.", "tags": [name]}).get("id")
    expect(f"memories/{stored}")
    expect(f"memories/{stored}", {"importance": 0.8}, "PATCH")
    expect("turns", {"session": name, "turns": [{"text": f"Where is the kettle of {name}?", "role": "user"}]})
    hits = expect("recall", {"query": f"kettle of {name}"}).get("hits", [])
    if not any(stored in (hit.get("id"), hit.get("memory", {}).get("id")) for hit in hits):
        wrong.append(f"recall does not find what was stored: {hits}"[:500])
    expect("memories?limit=5")
    expect("graph/entities", {"name": f"Kettle {name}", "memory": stored})
    expect(f"memories/{stored}", method="DELETE")
    return wrong
