from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.text.tokens import (
    MAX_TERM_LENGTH,
    analyse,
    query_shares,
    query_terms,
    quoted_phrases,
    term_frequencies,
    token_count,
)

EVERY = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
TRICKY = st.text(st.sampled_from("aBé1_-.@/:'’ \"“”«你かक्กกำ😀\U0001f1e9,+#İßﬁ"), max_size=120)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Running runners RUN", {"run", "runner"}),
        ("Error E-4012", {"error", "e-4012", "e", "4012"}),
        ("snake_case", {"snake_case", "snake", "case"}),
        ("os.path.join", {"os.path.join", "os", "path", "join"}),
        ("HTTPServer2", {"httpserver2", "http", "server", "2"}),
        ("CamelCase", {"camelcas", "camel", "case"}),
        ("ZX-4419", {"zx-4419", "zx", "4419"}),
        ("notes.txt", {"notes.txt", "note", "txt"}),
        ("al@example.com", {"al@example.com", "al", "example.com", "exampl", "com"}),
        ("https://example.com/a", {"https://example.com/a", "https", "example.com", "exampl", "com", "a"}),
        ("src/app.py", {"src/app.py", "src", "app.py", "app", "py"}),
        ("std::vector", {"std::vector", "std", "vector"}),
        ("2026-01-02", {"2026-01-02", "2026", "01", "02"}),
        ("__init__", {"__init__", "init"}),
        ("C++ and C#", {"c++", "c", "and", "c#"}),
        ("$3,500", {"3500"}),
        ("don't", {"dont"}),
        ("Caroline's Caroline’s", {"carolin"}),
        ("we're I'll they’ve", {"we", "i", "they"}),
        ("O'Brien", {"obrien", "o", "brien"}),
        ("café CAFÉ cafe\u0301 cafe", {"cafe"}),
        ("naïve naive", {"naiv"}),
        ("Łódź smørrebrød", {"lodz", "smorrebrod"}),
        ("ｈｅｌｌｏ ﬁne", {"hello", "fine"}),
        ("ёлка елка йод", {"елка", "елк", "йод"}),
        ("हिन्दी किताबें", {"हिन्दी", "हिन्द", "किताबें", "किताब"}),
        ("한국어", {"한국", "국어"}),
        ("カタカナ", {"カタ", "タカ", "カナ"}),
        ("ไทย", {"ไท", "ทย"}),
        ("外币", {"外币", "外", "币"}),
        ("猫", {"猫"}),
        ("お茶", {"お茶", "茶"}),
        ("iPhoneを", {"iphon", "i", "phone", "を"}),
        ("hi 😀👍🏽", {"hi", "😀", "👍"}),
        ("👩‍👩‍👧", {"👩", "👧"}),
        ("🇩🇪🇫🇷", {"🇩🇪", "🇫🇷"}),
        ('?!... -- * " ()', set()),
        ("", set()),
        ("wait...what—now", {"wait", "what", "now"}),
    ],
)
def test_terms_of_a_text(text: str, terms: set[str]) -> None:
    assert set(term_frequencies(text)) == terms


def test_counts_and_length() -> None:
    result = analyse("the cat saw the other cat's cat in E-4012")
    assert result.frequencies["cat"] == 3
    assert result.frequencies["the"] == 2
    # Eight words and two parts of the identifier; the identifier as a whole does not lengthen the text.
    assert result.length == 10
    assert result.frequencies == Counter(the=2, cat=3, saw=1, other=1, **{"in": 1, "e-4012": 1, "e": 1, "4012": 1})


def test_bigrams_of_a_query_are_in_the_text_around_it() -> None:
    text = term_frequencies("我在做外币汇率换算的程序，我养了一只猫。")
    for query in ("外币汇率换算", "汇率", "猫"):
        assert query_terms(query)
        assert set(query_terms(query)) <= set(text)
    assert not set(query_terms("股票")) & set(text)


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("hello* OR world", ["hello", "world"]),
        (
            '+hello -world ^2 (a:b) {x} "y" NEAR/3',
            ["hello", "world", "2", "a:b", "a", "b", "x", "y", "near/3", "near", "3"],
        ),
        ("hello AND NOT world", ["hello", "and", "not", "world"]),
        ("What did Caroline research?", ["carolin", "research"]),
        ("Who is Caroline's friend's friend", ["carolin", "friend"]),
        ("to be or not to be", ["not"]),
        ("what is it", ["what", "is", "it"]),
        ("songs of The Who", ["song", "the", "who"]),
        ("did Will call", ["will", "call"]),
        ("WHAT DID CAROLINE SAY", ["carolin", "say"]),
        ("what's up with Bob", ["bob"]),
        ("你好", ["你好"]),
        ("", []),
        ("?!", []),
    ],
)
def test_query_terms(query: str, terms: list[str]) -> None:
    if query.startswith("hello AND"):
        # Operators in capitals are words that look like names, never instructions.
        assert set(terms) >= set(query_terms(query)) >= {"hello", "world", "not"}
        return
    if "OR" in query:
        assert [term for term in query_terms(query) if term != "or"] == terms
        return
    assert query_terms(query) == terms


def test_query_can_keep_its_function_words() -> None:
    assert query_terms("what did Al say", keep_stop_words=True) == ["what", "did", "al", "say"]


def test_language_chooses_stemmer_and_function_words() -> None:
    assert query_terms("Wo wohnen die Häuser", language="german") == ["wohn", "haus"]
    assert term_frequencies("schön Schönes", language="german") == Counter(schon=2)
    assert query_terms("der Hund") != query_terms("der Hund", language="german") == ["hund"]
    with pytest.raises(KeyError):
        analyse("x", language="klingon")


@pytest.mark.parametrize(
    ("query", "phrases"),
    [
        ('find "notice period" and "E-4012"', ["notice period", "E-4012"]),
        ("„guten Tag“ “one  two” «trois» 「四」", ["guten Tag", "one two", "trois", "四"]),
        ('"" "?!" "open', []),
        ('"same" "same"', ["same"]),
    ],
)
def test_quoted_phrases(query: str, phrases: list[str]) -> None:
    assert sorted(quoted_phrases(query)) == sorted(phrases)


def test_long_terms_are_cut_but_stay_distinct() -> None:
    one, other = "x" * 500 + "1", "x" * 500 + "2"
    assert all(len(term) <= MAX_TERM_LENGTH for term in term_frequencies(f"{one} {other}"))
    assert set(query_terms(one)) <= set(term_frequencies(one))
    assert query_terms(one) != query_terms(other)


def test_counting_can_stop_early() -> None:
    assert token_count("word " * 100_000, stop_after=500) == 501
    assert token_count("one two three") == 3


@given(EVERY | TRICKY)
@settings(max_examples=300, deadline=None)
def test_any_text_gives_sound_terms(text: str) -> None:
    result = analyse(text)
    assert all(0 < len(term) <= MAX_TERM_LENGTH and not term.isspace() for term in result.frequencies)
    assert all(count > 0 for count in result.frequencies.values())
    assert (result.length == 0) == (not result.frequencies)
    assert result.length == token_count(text)
    every = query_terms(text, keep_stop_words=True)
    assert set(query_terms(text, language="english", keep_stop_words=True)) <= set(result.frequencies)
    assert set(query_terms(text)) <= set(every)
    assert all(0 < share <= 1 for share in query_shares(text).values())
    assert len(every) == len(set(every))


@given(st.lists(st.sampled_from(["Caroline", "E-4012", "外币", "café", "don't", "😀", "snake_case"]), max_size=8))
def test_words_are_counted_alike_wherever_they_stand(words: list[str]) -> None:
    together: Counter[str] = Counter()
    for word in words:
        together.update(term_frequencies(word))
    assert term_frequencies(" ".join(words)) == together
