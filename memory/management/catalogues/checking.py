"""Say what a catalogue lacks: nothing may be missing, unsure, left over or out of step with its compiled form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from memory.management.catalogues.compiled import compiled
from memory.management.catalogues.extracting import Sentence
from memory.management.catalogues.portable import Entry

PLACE: Final = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w*\}")


def findings(entries: list[Entry], found: Mapping[Sentence, list[str]], binary: bytes | None) -> Iterator[str]:
    """Give what is wrong with a catalogue, one line each."""
    known = {entry.sentence for entry in entries}
    for sentence, places in found.items():
        if sentence not in known:
            yield f"is not in the catalogue: {sentence.text!r} ({places[0]})"
    for entry in entries:
        if not entry.sentence.text:
            continue
        if entry.sentence not in found:
            yield f"stands nowhere any more: {entry.sentence.text!r}"
        elif entry.unsure or not entry.done:
            yield f"is not translated: {entry.sentence.text!r}"
        elif not _same_places(entry):
            yield f"is translated with other values in it: {entry.sentence.text!r}"
    if binary != compiled(entries):
        yield "the compiled catalogue is another one"


def _same_places(entry: Entry) -> bool:
    """Tell whether a translation puts in the values of its sentence; a form for numbers may leave some out."""
    sentence = entry.sentence
    allowed = {*PLACE.findall(sentence.text), *PLACE.findall(sentence.many or "")}
    if sentence.many is None:
        return set(PLACE.findall(entry.translations[0])) == allowed
    return all(set(PLACE.findall(form)) <= allowed for form in entry.translations)
