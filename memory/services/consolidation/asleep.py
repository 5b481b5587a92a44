"""Asking the model of a sleep pass: each step may fail alone, and a model that is away is not asked again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from memory.consolidation.asking import Answer, Asking, ModelUnavailable, Unanswered
from memory.providers.composition import stays_here
from memory.services.consolidation.stages import StageContext, StageReport

COMPONENT: Final = "memory_sleep"
BY_MODEL: Final = "way:llm"
BY_RULES: Final = "way:rules"

T = TypeVar("T")


class Sleeper:
    """The model of one run's pass; `awake` is False where there is none, or when it could not be asked."""

    def __init__(self, context: StageContext, report: StageReport) -> None:
        """Take the run's model, and the report that says how it went."""
        self._context = context
        self._report = report
        self._asking: Asking | None = None
        if context.model is not None:
            # The route of this component may lead elsewhere than that of another.
            local = context.local and stays_here(context.model, COMPONENT)
            self._asking = Asking(context.model, component=COMPONENT, local=local)
        self._note(BY_MODEL if self.awake else BY_RULES)

    @property
    def awake(self) -> bool:
        """Tell whether the model can be asked."""
        return self._asking is not None

    def text(self, step: str, system: str, parts: Sequence[Any], *, max_tokens: int) -> str | None:
        """Ask for a text; None where the model gives none, which the report says with the step's name."""
        return self._asked(step, lambda asking: asking.text(system, parts, max_tokens=max_tokens))

    def json(
        self, step: str, system: str, parts: Sequence[Any], *, schema: Mapping[str, Any], check: Callable[[Any], T]
    ) -> T | None:
        """Ask for JSON; None as `text`."""
        return self._asked(step, lambda asking: asking.json(system, parts, schema=schema, check=check))

    def _asked(self, step: str, ask: Callable[[Asking], Answer[T]]) -> T | None:
        if self._asking is None:
            return None
        self._context.beat()
        try:
            answer = ask(self._asking)
        except Unanswered as error:
            self._context.spend(error.usage)
            self._report.count("llm_failures", error.usage.failures)
            self._note(f"{step}:{error.machine_code}")
            if isinstance(error, ModelUnavailable):
                self._asking = None
                self._note(BY_RULES)
            return None
        self._context.spend(answer.usage)
        if answer.usage.failures:
            self._report.count("llm_failures", answer.usage.failures)
        return answer.value

    def _note(self, note: str) -> None:
        if note not in self._report.notes:
            self._report.notes.append(note)
