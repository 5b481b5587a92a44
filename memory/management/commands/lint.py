"""`manage.py lint`: run every static check of the house; all of them, even when the first one fails."""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand

PACKAGES: Final = ("config", "memory", "telemetry", "runtime", "bench", "tests")
DJANGO: Final = "5.2"


class Command(BaseCommand):
    """Run ruff, mypy, import-linter, djade and the checks of migrations and generated files."""

    help = "Run every static check: style, types, import directions, templates, migrations, generated files."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare nothing: the checks are the same everywhere."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Run all checks and name those that failed; exit code 1 when any did."""
        failed = [name for name, command in self._checks() if not self._passes(name, command)]
        if failed:
            self.stderr.write(f"Failed: {', '.join(failed)}.")
            raise SystemExit(1)
        self.stdout.write("All checks passed.")

    def _checks(self) -> list[tuple[str, Sequence[str]]]:
        root = Path(settings.BASE_DIR)
        programs, manage = Path(sys.executable).parent, [sys.executable, "manage.py"]
        packages = [name for name in PACKAGES if (root / name).is_dir()]
        templates = [str(path.relative_to(root)) for path in sorted((root / "templates").rglob("*.html"))]
        checks: list[tuple[str, Sequence[str]]] = [
            ("ruff", [str(programs / "ruff"), "check", "."]),
            ("format", [str(programs / "ruff"), "format", "--check", "."]),
            ("types", [str(programs / "mypy"), *packages]),
            ("imports", [str(programs / "lint-imports")]),
        ]
        if templates:
            checks.append(("templates", [str(programs / "djade"), "--check", "--target-version", DJANGO, *templates]))
        # It would like to ask a database whether its history is in order, and there is none here.
        quiet = [sys.executable, "-W", "ignore::RuntimeWarning", "manage.py"]
        checks.append(("migrations", [*quiet, "makemigrations", "--check", "--dry-run"]))
        checks.append(("upgrades", [*manage, "upgrade_check"]))
        for page in ("settings_reference", "errors_reference", "metrics_reference"):
            checks.append((page, [*manage, page, "--check"]))
        checks.append(("messages", [*manage, "messages", "--check"]))
        checks.append(("vendored files", [*manage, "vendor_check"]))
        return checks

    def _passes(self, name: str, command: Sequence[str]) -> bool:
        self.stdout.write(f"== {name}")
        self.stdout.flush()
        return subprocess.run(command, cwd=settings.BASE_DIR, check=False).returncode == 0
