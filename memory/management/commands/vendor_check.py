"""`vendor_check`: are the files of others that the pages load what the lock says?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from memory.errors import InvalidInput
from memory.services.vendored_files import findings, locked

FOLDER = "static/vendor"


class Command(BaseCommand):
    """Check hashes, licences, and that nothing lies there unlisted."""

    help = "Check the vendored files against their lock: hashes, licences, nothing unlisted."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Say what is wrong; exit code 1 when anything is."""
        root = Path(settings.BASE_DIR) / FOLDER
        try:
            said = findings(root)
        except InvalidInput as error:
            said = [error.message]
        if said:
            for sentence in said:
                self.stderr.write(sentence)
            raise SystemExit(1)
        packages = ", ".join(f"{one.name} {one.version}" for one in locked(root))
        self.stdout.write(f"The vendored files are what their lock says: {packages}.")
