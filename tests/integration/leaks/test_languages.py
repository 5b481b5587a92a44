"""No page says anything of its own in English to a person who reads German."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from typing import Any, Final

import pytest
from django.utils.translation import trans_real

from tests.integration.leaks.asking import answer_of
from tests.integration.leaks.test_admin import addresses, staffed
from tests.integration.leaks.test_pages import PAGES, address, named
from tests.integration.leaks.world import World, undone

BEGIN, END = "⟦", "⟧"
# Attributes that people see or hear.
SPOKEN: Final = (
    "aria-label",
    "aria-description",
    "aria-roledescription",
    "aria-valuetext",
    "title",
    "placeholder",
    "alt",
)
# Attributes whose numbers browsers read.
MEASURES: Final = {"x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height", "min", "max", "step"}
# What is the same in every language, and what somebody has stored.
QUIET: Final = {"code", "pre", "kbd", "samp", "script", "style", "bdi", "textarea", "time"}
# Names, what is stored, and what only programs say.
SAME: Final = re.compile(
    r"""(.*\b)?(xq|kettle).*             # planted
    |(·\ )?Loci|Deutsch|first           # the product, a language in itself, and the login
    |(default|prax|praxis|cortex|engram):?|[A-Z]+\.md|rest|store|embedding|telemetry|llm
    |.*\b(stub|characters-64)\b.*       # the model of these tests
    |.*\b[0-9a-f]{8}(-[0-9a-f]{4})?.*   # an id
    |[\d.,]+\ (ms|USD)|\(USD\)|\d{4}-\d\d-\d\d\ \d\d:\d\d\ UTC
    |[a-z]+:[a-z]+(,\ [a-z:]+)+   # scopes
    |\{"or":.*\}""",
    re.VERBOSE | re.IGNORECASE,
)
VOID: Final = {"input", "br", "hr", "img", "meta", "link", "col", "wbr", "source", "base"}


class Said(HTMLParser):
    """Collects what a page says and what came from no catalogue, without code and stored text."""

    def __init__(self) -> None:
        """Begin outside of everything."""
        super().__init__()
        self.english: set[str] = set()
        self.misread: set[str] = set()
        self._open: list[tuple[str, bool]] = []
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        self.misread |= {f"{tag} {name}={known[name]}" for name in MEASURES & known.keys() if "," in known[name]}
        foreign = known.get("lang", "de") != "de"
        quiet = tag in QUIET or known.get("dir") == "auto" or known.get("translate") == "no" or foreign
        if not (quiet or self._quiet):
            spoken = [known[name] for name in SPOKEN if name in known]
            # Sentences that a script shows; other data of scripts are single words.
            spoken += [
                value for name, value in known.items() if name.startswith("data-") and re.search(r"\w \w", value)
            ]
            if tag == "input" and known.get("type") in ("submit", "button"):
                spoken.append(known.get("value", ""))
            for one in spoken:
                self._take(one)
        if tag not in VOID:
            self._open.append((tag, quiet))

    def handle_endtag(self, tag: str) -> None:
        if tag in [name for name, _ in self._open]:
            while self._open.pop()[0] != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self._quiet:
            self._depth += data.count(BEGIN) - data.count(END)
        else:
            self._depth = self._take(data, self._depth)

    def _take(self, text: str, depth: int = 0) -> int:
        """Keep what stands outside of all marks; gives how many are open at the end."""
        kept = []
        for part in re.split(f"([{BEGIN}{END}])", text):
            if part in (BEGIN, END):
                depth += 1 if part == BEGIN else -1
            elif not depth:
                kept.append(part)
        for part in kept:
            if re.search(r"[^\W\d_]{2}", part):
                self.english.add(" ".join(part.split()))
        return depth

    @property
    def _quiet(self) -> bool:
        return any(quiet for _, quiet in self._open)


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every sentence that the German catalogues know in brackets."""

    def bracketed(name: str) -> None:
        original = getattr(trans_real.DjangoTranslation, name)

        def said(catalogue: Any, *given: Any) -> Any:
            found = original(catalogue, *given)
            known = given[0] in catalogue._catalog or name == "ngettext" and found not in given
            return f"{BEGIN}{found}{END}" if catalogue.language() == "de" and found and known else found

        monkeypatch.setattr(trans_real.DjangoTranslation, name, said)

    bracketed("gettext")
    bracketed("ngettext")


def english(world: World, asked: Iterable[tuple[str, dict[str, str]]]) -> dict[str, str]:
    """Give what is said in English, each with a page on which it is."""
    client = world.readers["person"].client
    found: dict[str, str] = {}
    for path, query in asked:
        with undone():
            answer = client.get(path, query, headers={"Accept-Language": "de"})
            # Read within, since what is written as it is read has a thread and a connection of its own.
            html = answer_of(answer, path, "").text
        if answer["Content-Type"].startswith("text/html"):
            page = Said()
            page.feed(html)
            assert page.misread == set(), path
            found |= dict.fromkeys((one for one in page.english if not SAME.fullmatch(one)), path)
    return found


def pages(world: World) -> Iterator[tuple[str, dict[str, str]]]:
    """Give every page of the palace and of telemetry, in all ways in which it can be asked for."""
    rows = {"cluster": "r-0000000000000000", **world.rows["agent"], **world.rows["owner"]}
    for name, (gets, _form) in PAGES.items():
        for query in gets or []:
            yield address(name, rows, named()[name]), {key: value.format(**rows) for key, value in query.items()}


def test_palace_and_telemetry(world: World, marked: None) -> None:
    assert english(world, pages(world)) == {}


def test_admin(world: World, marked: None) -> None:
    staffed(world, "first", True)
    assert english(world, ((path, {}) for path in addresses(world.rows["owner"]))) == {}
