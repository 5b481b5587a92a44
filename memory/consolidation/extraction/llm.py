"""The extractor that asks a language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, Protocol, TypeVar

from memory.consolidation.asking import AnswerUnusable, Asking, ModelUnavailable
from memory.consolidation.extraction.llm_pieces import Piece, halves, packed
from memory.consolidation.extraction.llm_prompt import INSTRUCTION, SCHEMA, parts_of
from memory.consolidation.extraction.llm_reading import Drawn, checked, read_into
from memory.ports import Extract, LanguageModel, Passage, Usage
from memory.text.limits import is_blank

COMPONENT: Final = "memory_consolidation"
CHARACTERS: Final = 4_000
MOST_DIVISIONS: Final = 3
"""How often what was asked in vain is divided and asked in parts."""

_SILENT: Final = frozenset({"system", "tool"})


class _Cited(Protocol):
    """What was drawn from one passage."""

    @property
    def passage(self) -> str: ...


T = TypeVar("T", bound=_Cited)


class LlmExtractor:
    """Draws with prompts of a few thousand characters each."""

    name = "llm"
    prompts = True

    def __init__(self, model: LanguageModel, *, local: bool, characters: int = CHARACTERS) -> None:
        """Take the model.

        Args:
            model: what is asked, under the component `memory_consolidation`.
            local: whether prompts stay on this machine; where not, personal data is replaced by placeholders.
            characters: most characters of the texts of one prompt.
        """
        self._asking = Asking(model, component=COMPONENT, local=local)
        self._characters = characters

    def __repr__(self) -> str:
        return f"LlmExtractor(characters={self._characters})"

    def extract(self, passages: Sequence[Passage]) -> Extract:
        """Draw from passages; see `Extractor`.

        One prompt for every few thousand characters, a long passage in several. What is answered in a form that cannot
        be used, or breaks off, is asked again in halves. A passage of which a part failed counts as failed, and
        nothing of it is given, so that drawing from it again doubles nothing. When the model cannot be asked, the rest
        is given up at once.
        """
        return _Extraction(self._asking, self._characters).run(passages)


class _Extraction:
    """One call: what was drawn, what failed, and what it cost."""

    def __init__(self, asking: Asking, characters: int) -> None:
        self._asking = asking
        self._characters = characters
        self._drawn = Drawn()
        self._failed: dict[str, str] = {}
        self._usage = Usage()
        self._dead = ""

    def run(self, passages: Sequence[Passage]) -> Extract:
        """Ask for everything and put it together."""
        spoken = [one for one in passages if one.role not in _SILENT and not is_blank(one.text)]
        for group in packed(spoken, characters=self._characters):
            self._draw(group, MOST_DIVISIONS)
        return self._extract()

    def _draw(self, group: Sequence[Piece], divisions: int) -> None:
        # A passage that has failed in part is drawn from anew as a whole.
        wanted = [piece for piece in group if piece.passage.key not in self._failed]
        if not wanted:
            return
        if self._dead:
            self._fail(wanted, self._dead)
            return
        parts = halves(wanted) if divisions else []
        try:
            answer = self._asking.json(INSTRUCTION, parts_of(wanted), schema=SCHEMA, check=checked)
        except ModelUnavailable as error:
            self._usage += error.usage
            self._dead = error.machine_code
            self._fail(wanted, error.machine_code)
            return
        except AnswerUnusable as error:
            self._usage += error.usage
            if parts:
                self._draw_each(parts, divisions)
            else:
                self._fail(wanted, error.machine_code)
            return
        self._usage += answer.usage
        if not answer.complete and parts:
            self._draw_each(parts, divisions)
            return
        if not answer.complete:
            self._drawn.left_out["llm.broken_off"] += 1
        read_into(self._drawn, answer.value, wanted)

    def _draw_each(self, parts: Sequence[Sequence[Piece]], divisions: int) -> None:
        for part in parts:
            self._draw(part, divisions - 1)

    def _fail(self, group: Sequence[Piece], code: str) -> None:
        self._failed.update((piece.passage.key, code) for piece in group)

    def _extract(self) -> Extract:
        drawn, failed = self._drawn, self._failed
        entities = [
            replace(entity, passages=kept)
            for entity in drawn.entities.values()
            if (kept := tuple(key for key in entity.passages if key not in failed))
        ]
        left = {name: count for name, count in sorted(drawn.left_out.items()) if count}
        return Extract(
            entities=entities,
            relations=self._kept(drawn.relations, lambda one: (one.source, one.label, one.target, one.passage)),
            facts=self._kept(drawn.facts, lambda one: (one.text, one.passage)),
            events=self._kept(drawn.events, lambda one: (one.text, one.occurred_at, one.passage)),
            causes=self._kept(drawn.causes, lambda one: (one.cause, one.effect, one.passage)),
            failed=failed,
            left_out=left,
            usage=self._usage,
        )

    def _kept(self, items: Sequence[T], key: Callable[[T], object]) -> list[T]:
        """Give the items of passages that did not fail, each once."""
        known: dict[object, T] = {}
        for item in items:
            if item.passage not in self._failed:
                known.setdefault(key(item), item)
        return list(known.values())
