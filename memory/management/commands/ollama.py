"""`manage.py ollama`: bring Ollama to where it embeds, step by step."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import BaseCommand

from memory.management.answers import answer, errors_for_operators
from memory.management.ollama_start import start_ollama
from memory.providers.embedder_choices import SECOND, EmbedderChoice, ollama_choice, ollama_choices
from memory.providers.ollama_server import Progress, tagged
from memory.services.ollama import Step, StepState, steps

MARKS: Final[dict[StepState, str]] = {"ok": "ok     ", "skipped": "-      ", "failed": "FAILED "}
UNIT: Final = 1_000_000


class Command(BaseCommand):
    """Reach Ollama, start it, see whether the model is there, fetch it, and embed a test."""

    help = (
        "Bring Ollama to where it embeds, for both embedders where both are Ollama's. Without options it only looks. "
        "Exit code 0: it embeds, 1: it does not."
    )
    # It needs no database, and is there to help where the embedder is not ready.
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what may be done, and the form of the answer."""
        parser.add_argument("--start", action="store_true", help="start it where it is installed on this machine")
        parser.add_argument("--fetch", action="store_true", help="have it fetch the model where that is missing")
        parser.add_argument(
            "--model", metavar="NAME", help="this model alone, whether it is configured to embed or not"
        )
        parser.add_argument("--json", action="store_true", help="as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Take the steps for each embedder that is Ollama's; ends with 1 unless the last one, the test, went well."""
        model, as_json = options["model"], options["json"]
        choices = [ollama_choice(model)] if model else ollama_choices() or [ollama_choice()]
        with errors_for_operators():
            told = [self._brought_up(choice, options, named=len(choices) > 1) for choice in choices]
        well, unused = all(value["ok"] for value in told), not ollama_choices()
        lines = [] if told[0]["configured"] or not (well or unused) else [_settings(choices[0].model)]
        value = {**told[0], "ok": well, **({"second": told[1]} if told[1:] else {})}
        answer(self.stdout.write, value, as_json=as_json, lines=lines)
        if not well:
            raise SystemExit(1)

    def _brought_up(self, choice: EmbedderChoice, options: dict[str, Any], *, named: bool) -> dict[str, Any]:
        """Take the steps for one embedder, and give what came of them."""
        as_json = options["json"]
        if named and not as_json:
            which = "EMBEDDING_SECOND_MODEL" if choice.prefix == SECOND else "EMBEDDING_MODEL"
            self.stdout.write(f"{which}, {choice.model}:")
        told: list[Step] = []
        for step in steps(
            choice=choice,
            start=start_ollama if options["start"] else None,
            fetch=options["fetch"],
            follow=None if as_json else _Shown(self.stderr.write).show,
        ):
            told.append(step)
            if not as_json:
                self._tell(step)
        return {
            "ok": told[-1].step == "embed" and told[-1].state == "ok",
            "model": choice.model,
            "configured": any(tagged(one.model) == tagged(choice.model) for one in ollama_choices()),
            "steps": [asdict(step) for step in told],
        }

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
    return (
        "Loci embeds with another embedder and does not need it. To embed with it, set EMBEDDING_PROVIDER=ollama and "
        f"EMBEDDING_MODEL={model}; or, where memories were stored with another embedder, EMBEDDING_SECOND_PROVIDER and "
        "EMBEDDING_SECOND_MODEL, and move: `manage.py spaces`."
    )
