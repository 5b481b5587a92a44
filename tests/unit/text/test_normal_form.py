from __future__ import annotations

import unicodedata

import pytest

from memory.text.normal_form import compatible
from memory.text.tokens import analyse, query_terms, term_frequencies, token_count

# Each has 18, 8 and 6 characters in NFKC, and four words, two words and bigrams.
GROWING = ["\ufdfa", "\ufdfb", "\u3316"]


@pytest.mark.parametrize("unit", GROWING, ids=ascii)
def test_what_grows_under_normalisation_is_bounded_by_its_own_length(unit: str) -> None:
    text = f"{unit} " * 5_000
    most = 2 * len(text) + 64
    assert len(unicodedata.normalize("NFKC", text)) > most
    assert len(compatible(text)) == most
    found = analyse(text)
    # A bigram takes one character, a word with its space two; Han characters would count once more.
    assert 0 < found.length <= most
    assert sum(found.frequencies.values()) <= most
    assert token_count(text) == found.length


def test_the_work_on_a_ligature_alone_is_bounded() -> None:
    text = "\ufdfa" * 20_000
    found = analyse(text)
    # 18 characters hold four words, the last of which runs into the next character's first.
    assert 0 < found.length <= (2 * len(text) + 64) // 4
    assert found == analyse(text)


def test_a_few_such_characters_in_a_text_cost_it_nothing() -> None:
    text = "محمد \ufdfa said: 3½ ㎏ of ﬁgs … and ㌖ more, " * 40 + "lighthouse"
    assert compatible(text) == unicodedata.normalize("NFKC", text.replace("…", " "))
    assert "lighthous" in term_frequencies(text)
    assert query_terms("\ufdfa", language="arabic") == query_terms("صلى الله عليه وسلم", language="arabic")


def test_rows_of_dots_do_not_push_the_end_out() -> None:
    text = "".join(f"Chapter {number}{'…' * 60}{number + 7}\n" for number in range(100)) + "lighthouse"
    assert "lighthous" in term_frequencies(text)
    assert term_frequencies(text) == term_frequencies(text.replace("…", "..."))


@pytest.mark.parametrize("text", ["wait…what", "1…,000", "C++… yes", "…", "don…'t", "é…-é…e", "a…b.c…", "你…好"])
def test_an_ellipsis_gives_the_terms_of_three_dots(text: str) -> None:
    assert analyse(text) == analyse(text.replace("…", "..."))
