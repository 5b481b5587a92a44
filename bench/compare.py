"""Compare every shipped profile, the arms alone and the default without each of its parts, on data stored once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.dataset import Source
from bench.quality import ARMS, PARTS, adapted, ask_all, grouped, ingest_all, summary
from memory.recall.profiles import SHIPPED, RecallProfile

DEFAULT: Final = "default"


@dataclass(frozen=True, slots=True)
class Run:
    """One row of a comparison."""

    label: str
    profile: RecallProfile


def runs() -> Iterator[Run]:
    """List what is compared, the default first."""
    for name in (DEFAULT, *sorted(set(SHIPPED) - {DEFAULT})):
        yield Run(name, adapted(name))
    for arm in ARMS:
        if arm in ("dense", "lexical"):
            yield Run(f"{arm} arm alone", adapted(DEFAULT, arm=arm))
    for part in PARTS:
        changed = adapted(DEFAULT, without=[part])
        if changed != adapted(DEFAULT):
            yield Run(f"{DEFAULT} without {part}", changed)


def measure(sources: Sequence[Source], *, tell: Callable[[str], None]) -> dict[str, Any]:
    """Ask everything in every way.

    Args:
        sources: the data; each source gets a table of its own.
        tell: told of progress.

    Returns:
        For each source its size, a row of figures for each run, and the default's figures by category and store.
    """
    return {source.name: _table(source, tell) for source in sources}


def _table(source: Source, tell: Callable[[str], None]) -> dict[str, Any]:
    corpora = ingest_all(source.stores, tell=tell)
    rows: dict[str, Mapping[str, Any]] = {}
    details: dict[str, Any] = {}
    for run in runs():
        answered = ask_all(corpora, run.profile)
        rows[run.label] = summary(answered)
        if run.label == DEFAULT:
            details["by_category"] = grouped(answered, lambda one: one.category)
            details["by_store"] = grouped(answered, lambda one: one.store)
        tell(f"{source.name}, {run.label}: R@5 {rows[run.label]['r@5']:.3f}, MRR {rows[run.label]['mrr']:.3f}")
    return {
        "stores": len(source.stores),
        "memories": sum(len(store.items) for store in source.stores),
        "questions": sum(len(store.questions) for store in source.stores),
        "rows": rows,
        **details,
    }
