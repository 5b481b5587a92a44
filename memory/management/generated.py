"""Pages of the documentation that are generated: written, or checked for being current."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any, ClassVar

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError


class GeneratedPageCommand(BaseCommand):
    """A command that writes one page below `docs/`, or with `--check` compares it."""

    page: ClassVar[str]
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the comparison."""
        parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 when it is not current")

    def content(self) -> str:
        """Give the whole page."""
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        """Write or compare the page."""
        path = Path(settings.BASE_DIR) / "docs" / self.page
        wanted = self.content()
        current = path.read_text(encoding="utf-8") if path.exists() else ""
        if current == wanted:
            self.stdout.write(f"docs/{self.page} is current.")
        elif options["check"]:
            name = type(self).__module__.rsplit(".", 1)[-1]
            raise CommandError(f"docs/{self.page} is not current. Write it with `python3 manage.py {name}`.")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted, encoding="utf-8")
            self.stdout.write(f"docs/{self.page} was written.")


def cell(text: str) -> str:
    """Give a text as it may stand in a cell of a table."""
    return " ".join(text.replace("|", "\\|").split())
