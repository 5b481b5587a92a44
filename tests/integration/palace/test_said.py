"""What services write in English is said in the language of the page, and numbers are written as it writes them."""

from __future__ import annotations

import pytest
from django.utils import translation

from memory.errors import InvalidInput
from memory.palace.errors import problem_of
from memory.palace.numbers import local, whole
from memory.palace.sentences import said

GERMAN = {
    "All migrations are applied.": "Alle Migrationen sind angewendet.",
    "Vectors of 1 owner are still to be made.": "Vektoren für 1 Besitzer sind noch zu bilden.",
    "Vectors of 1,234 owners are still to be made.": "Vektoren für 1.234 Besitzer sind noch zu bilden.",
    "3 tasks wait, the oldest for 17 minutes.": "3 Aufgaben warten, die älteste seit 17 Minuten.",
    "Words only, by choice. Some memories of 2 owners have no vector.": (
        "Nur Wörter, so gewählt. Für 2 Besitzer haben einige Erinnerungen keinen Vektor."
    ),
    "20 GiB are free for the database.": "20 GiB sind frei für die Datenbank.",
    "3 MiB are free for the keys. 2 MiB are free for the cache.": (
        "3 MiB sind frei für die Schlüssel. 2 MiB sind frei für den Zwischenspeicher."
    ),
    "http/one fails: The embedding server refuses the key (status 401). Recall works by words.": (
        "http/one versagt: Der Server des Modells für Bedeutungen lehnt den Schlüssel ab (Status 401). "
        "Gesucht wird nach Wörtern."
    ),
    "1 turn event waits to be written; the last attempt failed.": (
        "1 Beitrag wartet darauf, geschrieben zu werden; der letzte Versuch ist gescheitert."
    ),
    "Nobody has ever written this.": "Nobody has ever written this.",
}


@pytest.mark.parametrize("written", GERMAN)
def test_a_sentence_of_a_service_is_said_in_german_with_its_values(written: str) -> None:
    with translation.override("de"):
        assert said(written) == GERMAN[written]
    with translation.override("en"):
        assert said(written) == written


def test_an_error_with_values_reaches_the_page_in_its_language_and_programs_in_english() -> None:
    error = InvalidInput(f"limit is a number from 1 to {100}.", code="limit.out_of_range", field="limit")
    with translation.override("de"):
        assert problem_of(error).message == "limit ist eine Zahl von 1 bis 100."
    assert error.message == "limit is a number from 1 to 100."


def test_numbers_are_written_as_the_language_does() -> None:
    with translation.override("de"):
        assert (whole(1234567), local("1,234.5 (12%)"), local("+0.25")) == ("1.234.567", "1.234,5 (12\u00a0%)", "+0,25")
    with translation.override("en"):
        assert (whole(1234567), local("1,234.5 (12%)"), local("+0.25")) == ("1,234,567", "1,234.5 (12%)", "+0.25")
