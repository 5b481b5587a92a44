"""`manage.py test`: run the whole test suite with pytest, browser tests in a process of their own."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from memory.management.chromium import chromium

BROWSER_TESTS: Final = "tests/browser"
NOTHING_COLLECTED: Final = 5
# More gain nothing: every process makes a database of its own, and the server has to serve them all.
MOST_PROCESSES: Final = 4


class Command(BaseCommand):
    """Run the tests; arguments that are not ours go to pytest."""

    help = "Run the tests with pytest. Further arguments go to pytest: paths, -k, -x and so on."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what is ours."""
        parser.add_argument("--coverage", action="store_true", help="measure coverage, in one process, and report it")
        parser.add_argument("--serial", action="store_true", help="in one process")
        parser.epilog = (
            "LOCI_REQUIRE_BROWSER=1 makes a missing Chromium an error, LOCI_REQUIRE_SERVICES=1 a missing redis-server."
        )

    def run_from_argv(self, argv: list[str]) -> None:
        """Split the command line: what is not ours is pytest's."""
        parser = self.create_parser(argv[0], argv[1])
        options, rest = parser.parse_known_args(argv[2:])
        code = self._run(rest, coverage=options.coverage, serial=options.serial)
        if code:
            raise SystemExit(code)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run when called from a program; arguments are pytest's."""
        code = self._run(list(args), coverage=bool(options.get("coverage")), serial=bool(options.get("serial")))
        if code:
            raise CommandError(f"pytest ended with exit code {code}.", returncode=code)

    def _run(self, rest: Sequence[str], *, coverage: bool, serial: bool) -> int:
        if importlib.util.find_spec("pytest") is None:
            raise CommandError("pytest is not installed. Install the packages of requirements/develop.txt.")
        paths = [argument for argument in rest if _is_path(argument)]
        others = [argument for argument in rest if argument not in paths]
        browser = [path for path in paths if Path(path).as_posix().startswith(BROWSER_TESTS)]
        plain = [path for path in paths if path not in browser]
        codes = []
        if coverage:
            self._coverage("erase")
        if plain or not paths:
            chosen = plain or ["tests", f"--ignore={BROWSER_TESTS}"]
            codes.append(self._pytest([*chosen, *self._processes(coverage or serial), *others], coverage=coverage))
        if browser or not paths:
            codes.append(self._browser([*(browser or [BROWSER_TESTS]), *others], coverage=coverage))
        if coverage:
            self._coverage("combine", "--quiet")
            self._coverage("report")
        if paths:
            return max(codes)
        # Chosen by -k or -m, a part may be empty; both must not be.
        return max((code for code in codes if code != NOTHING_COLLECTED), default=NOTHING_COLLECTED)

    def _browser(self, arguments: Sequence[str], *, coverage: bool) -> int:
        """Run the browser tests in their own process, because their event loop forbids database calls of others."""
        if not _has_chromium():
            if os.environ.get("LOCI_REQUIRE_BROWSER") == "1":
                self.stderr.write(
                    "Browser tests need Chromium, and none was found (Debian: apt install chromium-headless-shell)."
                )
                return 1
            self.stdout.write(
                "Browser tests are left out: no Chromium was found (Debian: apt install chromium-headless-shell)."
            )
            return NOTHING_COLLECTED
        return self._pytest(arguments, coverage=coverage)

    def _processes(self, one: bool) -> list[str]:
        count = min(os.cpu_count() or 1, MOST_PROCESSES)
        if one or count < 2 or importlib.util.find_spec("xdist") is None:
            return []
        return ["-n", str(count), "--dist", "loadfile"]

    def _pytest(self, arguments: Sequence[str], *, coverage: bool) -> int:
        measured = ["coverage", "run", "--parallel-mode", "-m"] if coverage else []
        command = [sys.executable, "-m", *measured, "pytest", *arguments]
        self.stdout.flush()
        return subprocess.run(command, cwd=settings.BASE_DIR, check=False).returncode

    def _coverage(self, *arguments: str) -> None:
        subprocess.run([sys.executable, "-m", "coverage", *arguments], cwd=settings.BASE_DIR, check=False)


def _is_path(argument: str) -> bool:
    return not argument.startswith("-") and (Path(settings.BASE_DIR) / argument.split("::", 1)[0]).exists()


def _has_chromium() -> bool:
    if chromium() is not None:
        return True
    chosen = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    return any(Path(chosen or Path.home() / ".cache" / "ms-playwright").glob("chromium*"))
