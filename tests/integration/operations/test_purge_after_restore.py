"""A backup, purges, and the restore of that backup: what was purged does not come back."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest

from runtime.postgres.account import account_for
from tests.integration.operations.installation import Installation, printed_key

pytestmark = pytest.mark.slow


def stored(installation: Installation, key: str, text: str, **fields: Any) -> str:
    status, body = installation.ask("memories", {"text": text, **fields}, key=key)
    assert status == 201, body
    return str(body["id"])


def texts(installation: Installation, key: str) -> set[str]:
    status, body = installation.ask("memories", key=key)
    assert status == 200, body
    return {one["text"] for one in body["items"]}


def answered(installation: Installation, *arguments: str) -> Any:
    done = installation.run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_was_purged_does_not_come_back(installation: Installation) -> None:
    key = printed_key(installation.start())
    doomed = stored(installation, key, "Ada keeps the key under the blue stone.")
    stored(installation, key, "Said by Bo.", source="user:bo")
    stored(installation, key, "Kept.")
    assert installation.run("owner", "create", "leaving").returncode == 0
    hers = answered(installation, "agent", "create", "hers", "--owner", "leaving")["key"]
    stored(installation, hers, "Her secret.")
    backup = str(installation.home / "before.dump")
    assert installation.run("db", "backup", backup).returncode == 0

    for arguments in (
        ["--memory", doomed, "--owner", "owner"],
        ["--source", "user:bo", "--owner", "owner"],
        ["--owner", "leaving"],
    ):
        assert answered(installation, "purge", "run", *arguments, "--yes", "--wait")["state"] == "done"
    assert texts(installation, key) == {"Kept."}
    assert installation.ask("memories", key=hers)[0] == 401
    assert installation.stop() == 0

    restored = installation.run("db", "restore", backup, "--yes")
    assert restored.returncode == 0, restored.stderr
    assert "1 owner, 2 memories" in restored.stdout
    assert not (installation.home / "data" / "purges-to-replay").exists()
    installation.start()
    assert texts(installation, key) == {"Kept."}
    assert installation.ask("memories", key=hers)[0] == 401
    assert "leaving" not in installation.run("owner", "list").stdout
    assert installation.run("purge", "replay").stdout.endswith("nothing.\n")
    assert installation.stop() == 0

    # Where the restore cannot do it, `up` does before it serves.
    blocked = installation.run("db", "restore", backup, "--yes", environment={"LOCI_MASTER_KEY": "00" * 32})
    assert blocked.returncode == 0, blocked.stderr
    assert "keys.unavailable" in blocked.stdout
    assert (installation.home / "data" / "purges-to-replay").exists()
    assert "Erased again" in installation.start()
    assert texts(installation, key) == {"Kept."}
    assert not (installation.home / "data" / "purges-to-replay").exists()


def test_what_was_purged_does_not_come_back_with_copied_files(installation: Installation) -> None:
    key = printed_key(installation.start())
    doomed = stored(installation, key, "Ada keeps the key under the blue stone.")
    stored(installation, key, "Kept.")
    copied = installation.home / "copied"
    made = installation.run("db", "backup", "--files", str(copied))
    assert made.returncode == 0, made.stderr
    assert b"blue stone" not in b"".join(one.read_bytes() for one in copied.rglob("*") if one.is_file())
    assert installation.run("db", "backup", "--files", str(copied)).returncode == 1
    busy = installation.run("db", "restore", str(copied), "--yes")
    assert "Stop that process first" in busy.stderr
    assert answered(installation, "purge", "run", "--memory", doomed, "--owner", "owner", "--yes", "--wait")["state"]
    assert installation.stop() == 0

    restored = installation.run("db", "restore", str(copied), "--yes")
    assert restored.returncode == 0, restored.stderr
    assert "1 memory" in restored.stdout
    assert installation.run("db", "status").returncode == 3, "it was stopped before"
    assert "Erased again" not in installation.start()
    assert texts(installation, key) == {"Kept."}
    assert installation.stop() == 0

    # Put in place by hand, so that nothing but the database itself tells that it is older.
    cluster = installation.cluster
    shutil.rmtree(cluster.directory)
    shutil.copytree(copied, cluster.directory)
    account = account_for(installation.home / "data" / "run")
    subprocess.run(["chown", "-R", f"{account.uid}:{account.gid}", str(cluster.directory)], check=True)
    cluster.directory.chmod(0o700)
    assert "1 memory" in installation.start()
    assert texts(installation, key) == {"Kept."}
    assert installation.stop() == 0

    without_keys = {"LOCI_KEYS_DIR": str(installation.home / "other-keys")}
    blind = installation.run("up", environment=without_keys)
    assert blind.returncode == 1
    assert "key vault is gone" in blind.stderr

    damaged = next(one for one in (copied / "base").rglob("*") if one.is_file() and one.stat().st_size > 8192)
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    refused = installation.run("db", "restore", str(copied), "--yes")
    assert refused.returncode == 1
    assert "damaged. Nothing was changed." in refused.stderr
