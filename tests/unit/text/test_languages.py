"""Which languages a text is found to be in, and what that means for its terms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.text.languages import MOST_LANGUAGES, detect, languages_of, possible_languages
from memory.text.tokens import analyse, query_shares, query_terms, term_frequencies

SENTENCES = [
    ("german", "Die Kündigungsfristen der Wohnungen sind drei Monate"),
    ("german", "Der Zug nach Wien war verspätet"),
    ("german", "Das ist okay fuer mich"),
    ("spanish", "¿Qué día fueron los niños?"),
    ("spanish", "donde esta la biblioteca"),
    ("spanish", "El perro de Marta se llama Toby."),
    ("french", "Nous avons acheté une maison à Lyon l'année dernière."),
    ("french", "Quand est-ce que le train part ?"),
    ("italian", "Il gatto dorme sulla sedia."),
    ("italian", "Quando siamo andati al mare?"),
    ("portuguese", "O cachorro da Ana fugiu ontem."),
    ("portuguese", "Minha irmã mora em Lisboa e não gosta de café."),
    ("dutch", "Wanneer begint het nieuwe project?"),
    ("dutch", "Ik heb gisteren een fiets gekocht"),
    ("swedish", "Min syster bor i Malmö och arbetar som lärare."),
    ("danish", "Jeg købte en ny cykel i går"),
    ("norwegian", "Jeg kjøpte en ny sykkel etter jobb"),
    ("polish", "Pies śpi na kanapie"),
    ("turkish", "Dün yeni bir bisiklet aldım"),
    ("russian", "Собака спит на диване"),
    ("greek", "Ο σκύλος κοιμάται στον καναπέ"),
    ("arabic", "ذهبنا إلى مدرسة جديدة"),
    ("persian", "گربه روی مبل می‌خوابد"),
    ("hindi", "मैंने एक किताब खरीदी"),
    ("tamil", "நாய் தூங்குகிறது"),
    ("english", "My sister lives in Berlin and works as a teacher."),
    ("english", "We flew to Los Angeles, then Las Vegas and El Paso."),
    ("english", "I met José at the café in San Francisco; he said it was a naïve plan."),
    ("english", "The cat may die; the war was long. Man, what a hat!"),
    ("english", "Zürich trip on Monday, we should book the hotel"),
    ("english", "Vincent van Gogh and Ludwig van Beethoven, de la Cruz"),
    ("english", "Deploy failed with error E-4012 on db-2."),
    ("english", "明日は東京駅で会いましょう"),
    ("english", ""),
]


@pytest.mark.parametrize(
    ("language", "text"), SENTENCES, ids=[f"{place}-{one[0]}" for place, one in enumerate(SENTENCES)]
)
def test_the_main_language_is_told(language: str, text: str) -> None:
    assert detect(text) == language


def test_a_sentence_among_english_ones_is_noticed() -> None:
    text = "We read the contract. It is long and it has many parts. Die Kündigungsfrist beträgt für beide drei Monate."
    assert languages_of(text) == ("english", "german")
    assert detect(text) == "english"


def test_two_other_languages_are_told_apart() -> None:
    text = (
        "Ich habe das nicht verstanden, aber wir sehen uns. El perro está aquí y los niños también, pero no hay nada."
    )
    assert set(languages_of(text)) == {"english", "german", "spanish"}
    assert set(languages_of("Wir sind schon hier. Мы уже дома, и всё хорошо.")) == {"english", "german", "russian"}


@pytest.mark.parametrize(
    ("query", "language"),
    [("Kündigungsfrist", "german"), ("Wohnungen", "german"), ("habitaciones", "spanish"), ("niño", "spanish")],
)
def test_a_single_word_may_be_enough_for_a_query(query: str, language: str) -> None:
    assert language in possible_languages(query)


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from(SENTENCES), max_size=4).map(lambda some: " ".join(text for _, text in some))
)
def test_a_query_is_read_in_every_language_that_it_would_be_indexed_in(text: str) -> None:
    assert set(languages_of(text)) <= set(possible_languages(text))
    assert languages_of(text)[0] == "english"
    assert len(possible_languages(text)) <= 1 + MOST_LANGUAGES


@pytest.mark.parametrize(
    ("query", "text", "words"),
    [
        ("Welche Kündigungsfrist hat die Wohnung?", "Die Kündigungsfristen der Wohnungen sind drei Monate", 2),
        ("Kundigungsfrist", "Die Kündigungsfristen sind lang", 1),
        ("Häuser", "Das Haus ist alt, sagt sie", 1),
        ("¿Qué día fueron los niños?", "El niño fue al parque en los días de abril", 2),
        ("dia ninos", "Los niños fueron al parque un día", 2),
        ("¿Cuándo empiezan las clases de cocina?", "La clase empieza en septiembre", 2),
        ("Vilka böcker läste Anna?", "Anna läste boken om Malmö och det var bra", 2),
        ("Quelles étaient les villes ?", "La ville était belle, et nous avons marché", 1),
        ("Где живут сёстры?", "Моя сестра живёт в Москве.", 1),
        ("المدرسة", "ذهبنا إلى مدرسة جديدة", 1),
        ("किताबें", "मैंने एक किताब खरीदी", 1),
        ("학교", "우리는 학교에 갔다", 1),
        ("東京", "明日は東京駅で会いましょう", 1),
        ("汇率", "我在做外币汇率换算的程序", 1),
        ("外币汇率换算", "我在做外币汇率换算的程序", 5),
        ("ที่ดิน", "ฉันซื้อที่ดินในเชียงใหม่", 5),
        ("how long does the notice period last", "notice period is 60 days", 2),
        ("mail to al@example.com", "Write to al@example.com or example.com", 4),
        ("app.py", "It is in src/app.py", 3),
    ],
)
def test_a_query_meets_the_forms_of_its_words(query: str, text: str, words: int) -> None:
    assert len(set(query_terms(query)) & set(term_frequencies(text))) >= words


def test_words_of_both_languages_of_a_mixed_text_are_found() -> None:
    text = "The landlord says: die Kündigungsfristen sind drei Monate, so we are moving boxes."
    for query in ("Kündigungsfrist der Wohnung", "moving a box", "moved"):
        assert set(query_terms(query)) & set(term_frequencies(text)), query


def test_a_word_weighs_no_more_for_having_two_stems() -> None:
    shares = query_shares("¿Cuándo empiezan las clases de cocina?")
    assert shares == {"empiezan": 0.5, "empiez": 0.5, "clase": 0.5, "clas": 0.5, "cocina": 0.5, "cocin": 0.5}
    assert query_shares("Welche Kündigungsfrist hat die Wohnung?") == {"kundigungsfrist": 1.0, "wohnung": 1.0}
    assert query_shares("Wo ist 東京駅?")["東京"] == 1.0


def test_function_words_of_the_query_s_language_are_left_out() -> None:
    assert query_terms("Was will der Vermieter von Anna?", language="german") == ["vermiet", "anna"]
    assert "was" not in query_terms("Was will der Vermieter von Anna?")
    assert query_terms("Why did the cat die") == ["cat", "die"]
    # In a French question `an` is a year and no article.
    assert "an" in query_terms("combien coûte l'abonnement pour un an chez nous")


def test_english_texts_have_their_english_terms_only() -> None:
    for text in ("The cat sat on the mat", "We moved to Lisbon in May", "notice period is 60 days"):
        assert term_frequencies(text) == term_frequencies(text, language="english")


def test_a_second_reading_does_not_lengthen_a_text() -> None:
    text = "Los niños fueron al parque un día de abril"
    assert analyse(text).length == analyse(text, language="english").length == len(text.split())
