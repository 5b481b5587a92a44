"""`manage.py ollama`: bring Ollama to where it embeds, step by step."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand

from memory.management.answers import answer, errors_for_operators
from memory.management.ollama_start import start_ollama
from memory.providers.composition import ollama_model
from memory.providers.ollama_server import Progress
from memory.services.ollama import Step, StepState, steps

MARKS: Final[dict[StepState, str]] = {"ok": "ok     ", "skipped": "-      ", "failed": "FAILED "}
UNIT: Final = 1_000_000


class Command(BaseCommand):
    """Reach Ollama, start it, see whether the model is there, fetch it, and embed a test."""

    help = "Bring Ollama to where it embeds. Without options it only looks. Exit code 0: it embeds, 1: it does not."
    # It needs no database, and is there to help where the embedder is not ready.
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what may be done, and the form of the answer."""
        parser.add_argument("--start", action="store_true", help="start it where it is installed on this machine")
        parser.add_argument("--fetch", action="store_true", help="have it fetch the model where that is missing")
        parser.add_argument("--model", metavar="NAME", help="another model than the one that is configured to embed")
        parser.add_argument("--json", action="store_true", help="as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Take the steps; ends with 1 unless the last one, the test, went well."""
        with errors_for_operators():
            model = options["model"] or ollama_model()
            told: list[Step] = []
            for step in steps(
                model=model,
                start=start_ollama if options["start"] else None,
                fetch=options["fetch"],
                follow=None if options["json"] else _Shown(self.stderr.write).show,
            ):
                told.append(step)
                if not options["json"]:
                    self._tell(step)
        well = told[-1].step == "embed" and told[-1].state == "ok"
        used = settings.EMBEDDING_PROVIDER == "ollama"
        value = {"ok": well, "model": model, "configured": used, "steps": [asdict(step) for step in told]}
        lines = [] if used or not well else [f"Loci does not use it yet: {_settings(model)}."]
        answer(self.stdout.write, value, as_json=options["json"], lines=lines)
        if not well:
            raise SystemExit(1)

    def _tell(self, step: Step) -> None:
        self.stdout.write(f"{MARKS[step.state]} {step.step}: {step.detail}")
        if step.remedy:
            self.stdout.write(f"        -> {step.remedy}")


class _Shown:
    """Shows a fetch: a line for each new state, and on a terminal the share that is loaded, on the same line."""

    def __init__(self, write: Any) -> None:
        self._write = write
        self._last = ""

    def show(self, progress: Progress) -> None:
        line = progress.status
        if progress.loading and sys.stderr.isatty():
            line = f"{progress.percent} % of {progress.total / UNIT:,.0f} MB"
        if line == self._last:
            return
        if line != progress.status:
            self._write(f"\r        {line}   ", ending="")
        else:
            self._write(f"        {line}")
        self._last = line


def _settings(model: str) -> str:
    return f"set EMBEDDING_PROVIDER=ollama and EMBEDDING_MODEL={model}"
