"""Catalogues are collected, written, read, compiled and checked without any program beside Python."""

from __future__ import annotations

import gettext
import io

import pytest

from memory.management.catalogues.checking import findings
from memory.management.catalogues.compiled import compiled
from memory.management.catalogues.extracting import Sentence, of_module, of_template, sentences
from memory.management.catalogues.portable import Entry, merged, read, written
from memory.text.composed import LONGEST, PART, SENTENCE, composed, first_match

FOUND = {
    Sentence("To the search"): ["templates/404.html"],
    Sentence("%(count)s memory", "%(count)s memories"): ["memory/palace/numbers.py"],
    Sentence("Open", None, "a review"): ["memory/palace/reviews.py"],
    Sentence('A "quoted" line\nand another.'): ["memory/errors.py"],
}


def german() -> list[Entry]:
    entries = merged("de", [], FOUND)
    for entry, forms in zip(
        entries[1:],
        (
            ["Zur Suche"],
            ["%(count)s Erinnerung", "%(count)s Erinnerungen"],
            ["Offen"],
            ["Eine „Zeile“\nund noch eine."],
        ),
        strict=True,
    ):
        entry.translations = forms
    return entries


def test_sentences_of_a_module() -> None:
    source = """
from django.utils.translation import gettext as _, gettext_lazy as lazy, ngettext
class GoneAway(NotFound):
    '''It has gone.

    Further words.
    '''
LABEL = _("Recall")
NAME = lazy("By another name")
raise InvalidInput("The word is " "too long.", code="word.long")
raise InvalidInput(f"Not {this}.")
ngettext("%(n)s day", "%(n)s days", 3)
pgettext("a month", "May")
other("Not for people")
"""
    assert set(of_module(source)) == {
        Sentence("It has gone."),
        Sentence("Recall"),
        Sentence("By another name"),
        Sentence("The word is too long."),
        Sentence("Not %(this)s.", None, SENTENCE),
        Sentence("%(n)s day", "%(n)s days"),
        Sentence("May", None, "a month"),
    }


def test_sentences_of_a_template() -> None:
    source = (
        '{% load i18n %}<p title="{% translate "It\'s here" %}">{% blocktranslate trimmed count n=n %}\n'
        "  {{ n }} day\n{% plural %}\n  {{ n }} days\n{% endblocktranslate %}</p>"
        '{% translate "May" context "a month" %}{# {% translate "never" %} #}'
    )
    assert set(of_template(source, "page.html")) == {
        Sentence("It's here"),
        Sentence("%(n)s day", "%(n)s days"),
        Sentence("May", None, "a month"),
    }


def test_the_product_is_full_of_sentences() -> None:
    found = sentences()
    assert "templates/palace/base.html" in found[Sentence("Skip to the content")]
    assert Sentence("There is nothing with this id here.") in found
    assert not [places for places in found.values() if any("tests" in place or ".venv" in place for place in places)]


def test_a_catalogue_is_read_as_it_was_written() -> None:
    entries = german()
    assert read(written(entries)) == entries


def test_a_compiled_catalogue_answers() -> None:
    catalogue = gettext.GNUTranslations(io.BytesIO(compiled(german())))
    assert catalogue.gettext("To the search") == "Zur Suche"
    assert catalogue.ngettext("%(count)s memory", "%(count)s memories", 1) == "%(count)s Erinnerung"
    assert catalogue.ngettext("%(count)s memory", "%(count)s memories", 2) == "%(count)s Erinnerungen"
    assert catalogue.pgettext("a review", "Open") == "Offen"
    assert catalogue.gettext('A "quoted" line\nand another.') == "Eine „Zeile“\nund noch eine."


def test_what_changed_in_the_source_loses_its_translation_and_nothing_else_does() -> None:
    changed = {**FOUND, Sentence("To the palace"): ["templates/404.html"]}
    del changed[Sentence("To the search")]
    entries = {entry.sentence: entry for entry in merged("de", german(), changed)}
    assert Sentence("To the search") not in entries
    assert entries[Sentence("To the palace")].translations == [""]
    assert entries[Sentence("Open", None, "a review")].translations == ["Offen"]


def test_a_whole_catalogue_is_found_whole() -> None:
    assert list(findings(german(), FOUND, compiled(german()))) == []


def test_everything_that_is_wrong_is_found() -> None:
    entries = german()
    entries[1].translations = [""]
    entries[2].translations = ["%(number)s Erinnerung", "%(count)s Erinnerungen"]
    entries[3].unsure = True
    entries[4].sentence = Sentence("Gone")
    wrong = list(findings(entries, FOUND, compiled(german())))
    assert [line.split(":")[0] for line in wrong] == [
        "is not in the catalogue",
        "is not translated",
        "is translated with other values in it",
        "is not translated",
        "stands nowhere any more",
        "the compiled catalogue is another one",
    ]


@pytest.mark.parametrize("text", ["msgid without quotes", '"a line before any name"'])
def test_a_line_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="none of a catalogue"):
        read(text)


COMPOSED = """
LIMIT = 5
def _owners(count):
    return "1 owner" if count == 1 else f"{count} owners"
def check(work, name):
    if work.late:
        detail = f"The runs of {_owners(work.late)} are late{', again' if work.again else ''}."
        return Finding(name, "degraded", detail, "Look at the log.")
    if name:
        raise InvalidInput(f"At most {LIMIT} of {name!r}, which is 100 % of them.", code="many")
    return Finding("queue", "ok", "All is well.")
"""


def test_sentences_with_values_are_collected_with_places_for_them() -> None:
    assert set(of_module(COMPOSED)) == {
        Sentence("The runs of %(owners)s are late%(value)s.", None, SENTENCE),
        Sentence("1 owner", None, PART),
        Sentence("%(count)s owners", None, SENTENCE),
        Sentence(", again", None, PART),
        Sentence("Look at the log."),
        Sentence("At most %(limit)s of %(name)s, which is 100 %% of them.", None, SENTENCE),
        Sentence("All is well."),
    }


def test_amounts_are_collected_where_they_are_imported() -> None:
    source = """
from memory.services.amounts import owners
def check(work):
    return Finding("runs", "degraded", f"The runs of {owners(work.late)} are late.")
"""
    assert set(of_module(source)) == {
        Sentence("The runs of %(owners)s are late.", None, SENTENCE),
        Sentence("1 owner", None, PART),
        Sentence("%(number)s owners", None, SENTENCE),
    }


def test_what_only_programs_are_told_with_values_is_not_collected() -> None:
    assert set(of_module(COMPOSED, for_pages=False)) == set()


def test_a_sentence_is_found_again_by_what_it_says_most() -> None:
    known = composed(["%(name)s takes %(values)s.", "%(name)s takes %(values)s of 100 %%.", "Other %(one)s."])
    assert first_match(known, "This takes 5 of 100 %.") == (
        "%(name)s takes %(values)s of 100 %%.",
        {"name": "This", "values": "5"},
    )
    assert first_match(known, "Nothing of the sort.") is None
    assert first_match(known, f"This takes {'x' * LONGEST}.") is None
