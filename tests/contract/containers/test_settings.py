"""Each service of ours starts from what compose.yaml gives it, whatever profile is on, and is given nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.containers import compose, image
from tests.environment import PROJECT

HOW_TO: Final = PROJECT / "docs" / "how-to" / "containers.md"
# Settings that the table names and leaves to the operator.
CHOSEN: Final = {"NEO4J_TEXT": "hashed", "EMBEDDING_MODEL": "nomic-embed-text"}
# What makes most use of the services, beside what the table has.
FARTHEST: Final = {"GRAPH_READS": "neo4j", "QUEUE_BROKER": "redis"}
LOADED: Final = "import config.settings"
CHECKED: Final = (
    "import django; django.setup(); from django.core.management import call_command\n"
    "call_command('check', fail_level='WARNING')"
)
# Secrets without which these services could not do their work, each with what that is. Any other one must be what the
# settings cannot be read without.
USED: Final[Mapping[str, tuple[set[str], str]]] = {
    "database_url": ({"provision", "prepare", "web", "worker"}, "the database as the application's role"),
    "database_schema_url": ({"provision", "prepare", "worker"}, "sets a password; migrates; builds indexes anew"),
    "superuser_url": ({"provision"}, "makes roles, database and extension"),
    "master_key": ({"prepare", "web", "worker"}, "opens the key vault"),
    "redis_password": ({"prepare", "web", "worker"}, "counts, notices and jobs; a purge that is replayed empties them"),
}


def profiles() -> dict[str, dict[str, str]]:
    """Give the settings that the how-to names for each profile."""
    table = HOW_TO.read_text(encoding="utf-8").partition("| Profile |")[2].partition("\n\n")[0]
    found = {}
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if name := re.fullmatch(r"`(\w+)`", cells[0]):
            named = re.findall(r"`([A-Z][A-Z0-9_]+)(?:=([^`]*))?`", cells[1])
            found[name[1]] = {setting: value or CHOSEN[setting] for setting, value in named}
    return found


PROFILES: Final = profiles()
ALL: Final = {name: value for settings in PROFILES.values() for name, value in settings.items()} | FARTHEST
ROWS: Final = {"none": {}, **{name: settings for name, settings in PROFILES.items() if settings}, "all": ALL}


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make all secrets, as an operator does."""
    made = tmp_path_factory.mktemp("made") / "secrets"
    subprocess.run([PROJECT / "containers" / "secrets", made], check=True, capture_output=True)
    return made


def started(
    service: str, settings: Mapping[str, str], secrets: Path, home: Path, code: str, *, without: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run code as a service: with the image's variables, an operator's settings, and the secrets that it is granted."""
    said = compose.ours()[service]
    granted = home / "secrets"
    granted.mkdir()
    for name in said["secrets"]:
        (granted / name).write_text((secrets / name).read_text())
    # As in the image, nothing can be written there.
    (home / "etc").write_text("")
    (home / "tmp").mkdir()
    environment = {**image.environment(), **settings, **compose.environment(said, settings)}
    placed = {
        name: re.sub(r"^(?=/(?:etc|var|tmp)/)", str(home), value).replace(compose.SECRETS, f"{granted}/")
        for name, value in environment.items()
        if not value or name.removesuffix("_FILE") == name or not without or not value.endswith(f"/{without}")
    }
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=PROJECT,
        env={**placed, "DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_how_to_names_every_profile() -> None:
    named = {one for service in compose.services().values() for one in service.get("profiles", ())}
    assert set(PROFILES) == named
    assert PROFILES["neo4j"]["NEO4J_URI"] == "bolt://neo4j:7687"
    assert PROFILES["observability"] == {}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("service", compose.ours())
def test_it_starts_from_what_it_is_given(service: str, row: str, secrets: Path, tmp_path: Path) -> None:
    done = started(service, ROWS[row], secrets, tmp_path, CHECKED)
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout
    assert not (tmp_path / "tmp" / "config").exists() or service == "provision"


@pytest.mark.parametrize(
    ("service", "secret"),
    [
        (name, secret)
        for name, service in compose.ours().items()
        for secret in service["secrets"]
        if name not in USED.get(secret, (set(), ""))[0]
    ],
)
def test_it_needs_each_secret_that_it_is_given(service: str, secret: str, secrets: Path, tmp_path: Path) -> None:
    done = started(service, ALL, secrets, tmp_path, LOADED, without=secret)
    assert done.returncode != 0
    assert "SettingError" in done.stderr


def test_nobody_lacks_what_its_work_uses() -> None:
    for secret, (users, _) in USED.items():
        assert {name for name, service in compose.ours().items() if secret in service["secrets"]} == users, secret
