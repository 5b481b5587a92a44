"""Catalogues as translators edit them: the format of GNU gettext's `.po` files, as far as ours use it."""

from __future__ import annotations

import gettext
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import django

from memory.management.catalogues.extracting import Sentence

STRING: Final = re.compile(r'^(?:(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d)\])?)\s+)?("(?:[^"\\]|\\.)*")$')


@dataclass(slots=True)
class Entry:
    """A sentence with its translations: one, or one for each form that the language has for numbers."""

    sentence: Sentence
    translations: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    unsure: bool = False

    @property
    def done(self) -> bool:
        """Tell whether nothing is left to translate."""
        return bool(self.translations) and all(self.translations)


def read(text: str) -> list[Entry]:
    """Read a catalogue; its head is the entry of the empty sentence.

    Raises:
        ValueError: a line is none of the format.
    """
    return [_entry(block) for block in _blocks(text)]


def _blocks(text: str) -> Iterator[list[str]]:
    for block in re.split(r"\n\s*\n", text):
        lines = [line.strip() for line in block.splitlines() if line.strip() and not line.startswith("#~")]
        if any(not line.startswith("#") for line in lines):
            yield lines


def _entry(lines: list[str]) -> Entry:
    parts: dict[str, str] = {}
    name = ""
    for line in lines:
        if line.startswith("#"):
            continue
        found = STRING.match(line)
        if found is None or not (found[1] or name):
            raise ValueError(f"This line is none of a catalogue: {line}")
        name = found[1] or name
        parts[name] = parts.get(name, "") + json.loads(found[3])
    forms = [parts[key] for key in sorted(parts) if key.startswith("msgstr")]
    sentence = Sentence(parts.get("msgid", ""), parts.get("msgid_plural"), parts.get("msgctxt"))
    places = [place for line in lines if line.startswith("#:") for place in line[2:].split()]
    return Entry(sentence, forms, places, any(line.startswith("#,") and "fuzzy" in line for line in lines))


def written(entries: list[Entry]) -> str:
    """Write a catalogue: places without line numbers, so that it changes only with what it says."""
    return "\n".join(_written(entry) for entry in entries)


def _written(entry: Entry) -> str:
    sentence = entry.sentence
    lines = [f"#: {place}" for place in entry.places]
    if entry.unsure:
        lines.append("#, fuzzy")
    if sentence.context is not None:
        lines.append(f"msgctxt {_quoted(sentence.context)}")
    lines.append(f"msgid {_quoted(sentence.text)}")
    if sentence.many is None:
        lines.append(f"msgstr {_quoted(entry.translations[0])}")
    else:
        lines.append(f"msgid_plural {_quoted(sentence.many)}")
        lines += [f"msgstr[{place}] {_quoted(form)}" for place, form in enumerate(entry.translations)]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    if "\n" not in text:
        return json.dumps(text, ensure_ascii=False)
    return "\n".join(['""', *(json.dumps(line, ensure_ascii=False) for line in text.splitlines(keepends=True))])


def merged(language: str, known: list[Entry], found: Mapping[Sentence, list[str]]) -> list[Entry]:
    """Bring a catalogue up to date: what the source says now, with the translations that there are."""
    before = {entry.sentence: entry for entry in known}
    empty = Sentence("")
    head = before.get(empty) or Entry(empty, [_head(language)])
    forms = int(re.search(r"nplurals\s*=\s*(\d)", head.translations[0])[1])  # type: ignore[index]
    entries = [head]
    for sentence, places in found.items():
        entry = before.get(sentence) or Entry(sentence, [""] * (1 if sentence.many is None else forms))
        entries.append(Entry(sentence, entry.translations, places, entry.unsure))
    return entries


def _head(language: str) -> str:
    """Begin a catalogue with the rule for numbers of Django's own catalogue of that language."""
    own = gettext.translation("django", Path(django.__file__).parent / "conf" / "locale", [language])
    rule = own.info()["plural-forms"]
    return f"Language: {language}\nContent-Type: text/plain; charset=UTF-8\nPlural-Forms: {rule}\n"
