"""Which data a run of the bench asks: files in LoCoMo's form, and Loci's own personas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench import locomo, personas
from bench.dataset import Source
from memory.errors import InvalidInput


def chosen(data: Sequence[Path], *, own: bool, mixed: bool, both: bool = False, stretch: bool = False) -> list[Source]:
    """Read the data of a run.

    Args:
        data: files in LoCoMo's form, a source each.
        own: the personas too.
        mixed: with their statements beside the turns.
        stretch: ask the personas' hardest questions too, see `bench.personas.STRETCH`.
        both: the personas with and without statements, as two sources, where `mixed` is asked for.

    Raises:
        InvalidInput: nothing is asked for, `mixed` or `stretch` without `own`, or two stores of one name.
        ValueError: a file is not in its form.
        OSError: a file cannot be read.
    """
    if (mixed or stretch) and not own:
        raise InvalidInput("--mixed and --stretch belong to --own. Give it too.", code="bench.sources")
    if not data and not own:
        raise InvalidInput("Name what to ask: --data FILE, --own, or both.", code="bench.sources")
    sources = [Source(path.stem, locomo.load(path)) for path in data]
    names = Counter([store.name for source in sources for store in source.stores])
    if own:
        plain = personas.load(mixed=False, stretch=stretch)
        names.update(store.name for store in plain)
        if not mixed or both:
            sources.append(Source("own", plain))
        if mixed:
            sources.append(Source("own-mixed", personas.load(mixed=True, stretch=stretch)))
    if twice := [name for name, count in names.items() if count > 1]:
        raise InvalidInput(f"Several stores are called {twice[0][:80]}; each needs a name.", code="bench.sources")
    return sources
