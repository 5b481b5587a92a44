"""`manage.py messages`: bring the catalogues of translations up to date, or check that they are."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from memory.management.catalogues.checking import findings
from memory.management.catalogues.compiled import compiled
from memory.management.catalogues.extracting import sentences
from memory.management.catalogues.portable import Entry, merged, read, written


class Command(BaseCommand):
    """Write the catalogues of every language beside English."""

    help = "Collect what people read from the source into locale/, keep its translations, and compile them."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare --check and --begin."""
        parser.add_argument("--check", action="store_true", help="change nothing; fail when something is missing")
        parser.add_argument("--begin", metavar="LANGUAGE", help="begin the catalogue of a language")

    def handle(self, *args: Any, **options: Any) -> None:
        """Bring every catalogue up to date; exit code 1 when a check finds something."""
        found, wrong = sentences(), False
        for language in self._languages(options["begin"]):
            path = self._path(language)
            entries = read(path.read_text(encoding="utf-8")) if path.exists() else []
            if options["check"]:
                wrong |= self._checks(language, entries)
                continue
            gone = [entry.sentence.text for entry in entries if entry.sentence.text and entry.sentence not in found]
            entries = merged(language, entries, found)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(written(entries), encoding="utf-8")
            path.with_suffix(".mo").write_bytes(compiled(entries))
            open_ones = sum(not entry.done for entry in entries)
            self.stdout.write(f"{language}: {len(entries) - 1} sentences, {open_ones} without a translation.")
            for text in gone:
                self.stdout.write(f"  stands nowhere any more: {text!r}")
        if wrong:
            raise SystemExit(1)

    def _languages(self, begun: str | None) -> list[str]:
        others = [code for code, _ in settings.LANGUAGES if code != settings.LANGUAGE_CODE]
        # Before the first catalogue there is nothing to keep up; from then on none may be missing.
        any_begun = any(self._path(code).exists() for code in others)
        return others if any_begun else [code for code in others if code == begun]

    def _checks(self, language: str, entries: list[Entry]) -> bool:
        binary = self._path(language).with_suffix(".mo")
        wrong = list(findings(entries, sentences(), binary.read_bytes() if binary.exists() else None))
        for line in wrong:
            self.stderr.write(f"{language}: {line}")
        return bool(wrong)

    @staticmethod
    def _path(language: str) -> Path:
        return Path(settings.LOCALE_PATHS[0]) / language / "LC_MESSAGES" / "django.po"
