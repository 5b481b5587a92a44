"""Which language a page is in, and that programs are always answered in English."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from memory.errors import NotFound
from memory.management.catalogues.compiled import compiled
from memory.management.catalogues.extracting import sentences
from memory.management.catalogues.portable import merged
from memory.palace.errors import problem_of

GERMAN = {
    "Skip to the content": "Zum Inhalt springen",
    "Recall": "Erinnern",
    "Welcome to your palace": "Willkommen in deinem Palast",
    "There is no page with this address. It may not be complete.": "Unter dieser Adresse gibt es keine Seite.",
    "There is nothing with this id here.": "Hier gibt es nichts mit dieser Kennung.",
    "This language is not offered.": "Diese Sprache gibt es hier nicht.",
}


@pytest.fixture
def german(settings: Any, tmp_path: Path) -> None:
    """Have a catalogue with a few sentences, compiled by the program's own means."""
    entries = merged("de", [], sentences())
    for entry in entries:
        if entry.sentence.text in GERMAN:
            entry.translations = [GERMAN[entry.sentence.text]]
    path = tmp_path / "de" / "LC_MESSAGES" / "django.mo"
    path.parent.mkdir(parents=True)
    path.write_bytes(compiled(entries))
    settings.LOCALE_PATHS = [tmp_path]


def test_a_page_comes_in_the_language_that_the_browser_asks_for(palace: Client, german: None) -> None:
    answer = palace.get("/", headers={"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"})
    html = answer.content.decode()
    assert '<html lang="de"' in html
    assert "Zum Inhalt springen" in html
    assert answer["Content-Language"] == "de"
    assert {"Accept-Language", "Cookie"} <= {name.strip() for name in answer["Vary"].split(",")}
    after = palace.get("/")
    assert "Skip to the content" in after.content.decode()
    assert after["Content-Language"] == "en"


def test_an_unknown_language_is_answered_in_english(palace: Client, german: None) -> None:
    assert '<html lang="en"' in palace.get("/", headers={"Accept-Language": "tlh,nn;q=0.5"}).content.decode()


def test_a_chosen_language_is_kept_and_wins(client: Client, german: None, db: None) -> None:
    assert '<html lang="en"' in client.get("/login/").content.decode()
    answer = client.post("/language/", {"language": "de", "next": "/login/"})
    assert (answer.status_code, answer["Location"]) == (302, "/login/")
    cookie = answer.cookies["loci_language"]
    assert (cookie.value, cookie["samesite"], cookie["httponly"]) == ("de", "Lax", True)
    html = client.get("/login/", headers={"Accept-Language": "en"}).content.decode()
    assert "Willkommen in deinem Palast" in html
    assert 'value="de" lang="de" aria-pressed="true"' in html


@pytest.mark.parametrize("language", ["", "tlh", "de\r\nSet-Cookie: a=b"])
def test_no_other_language_is_kept(client: Client, language: str, db: None) -> None:
    answer = client.post("/language/", {"language": language})
    assert answer.status_code == 400
    assert "loci_language" not in answer.cookies


def test_a_language_leads_to_no_other_server(client: Client, db: None) -> None:
    answer = client.post("/language/", {"language": "de", "next": "https://example.org/"})
    assert answer["Location"] == "/"


def test_errors_are_told_in_the_language_of_the_page(palace: Client, german: None) -> None:
    headers = {"Accept-Language": "de"}
    missing = palace.get("/nowhere/", headers=headers)
    assert "Unter dieser Adresse gibt es keine Seite." in missing.content.decode()
    assert (missing.status_code, missing["Content-Language"]) == (404, "de")
    unknown = palace.get("/memories/0190aaaa-0000-7000-8000-000000000000/", headers=headers)
    assert (unknown.status_code, unknown["Content-Language"]) == (404, "de")
    refused = palace.post("/language/", {"language": "tlh"}, headers=headers)
    assert refused.content.decode() == "Diese Sprache gibt es hier nicht."


def test_a_refusal_is_looked_up_by_its_text(german: None) -> None:
    with translation.override("de"):
        assert problem_of(NotFound()).message == "Hier gibt es nichts mit dieser Kennung."
        assert problem_of(NotFound("A sentence of nobody's.")).message == "A sentence of nobody's."
    assert problem_of(NotFound()).message == "There is nothing with this id here."


def test_what_cannot_be_read_is_refused_in_the_language_of_the_page(client: Client, db: None) -> None:
    answer = client.post(
        "/login/",
        b"username=a",
        content_type="application/x-www-form-urlencoded; charset=latin-1",
        headers={"Accept-Language": "de"},
    )
    assert (answer.status_code, answer["Content-Language"]) == (400, "de")
    assert '<html lang="de">' in answer.content.decode()


def test_programs_are_answered_in_english(palace: Client, german: None) -> None:
    headers = {"Accept-Language": "de"}
    palace.cookies["loci_language"] = "de"
    answer = palace.get("/api/v1/memories/0190aaaa-0000-7000-8000-000000000000", headers=headers)
    assert answer.status_code == 404
    assert "Content-Language" not in answer
    assert "Accept-Language" not in answer.get("Vary", "")
    refused = palace.get("/api/v1/memories?limit=none", headers=headers)
    assert refused.json() == palace.get("/api/v1/memories?limit=none").json() | {
        key: value for key, value in refused.json().items() if key in ("instance", "request_id")
    }


def test_static_files_are_the_same_in_every_language(client: Client, db: None) -> None:
    answer = client.get("/static/palace/palace.css", headers={"Accept-Language": "de"})
    assert answer.status_code == 200
    assert "Content-Language" not in answer
    assert "Accept-Language" not in answer.get("Vary", "")
