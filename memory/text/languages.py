"""In which languages a text is written, as far as stemming needs to know: told by function words, letters and scripts.

No model and no letter statistics: the distinct function words of a text are looked up in one table, which takes a few
microseconds, errs towards English, and needs one telling word where a statistical guess needs a sentence. A wrong
guess costs a few superfluous stems and loses nothing, since every text keeps its English ones.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from memory.text.scripts import fold_diacritics
from memory.text.stopwords import STOP_WORDS, word_set

ENGLISH: Final = "english"
MOST_LANGUAGES: Final = 2
"""Languages besides English that one text is stemmed in."""
SAMPLE: Final = 4_000
"""Characters at the beginning of a text that are looked at; a language that begins later is not noticed."""

# Evidence that makes a language sure, and that makes it possible where nothing speaks for English, or in a query.
SURE: Final = 1.0
POSSIBLE: Final = 0.45
# A language must have this share of the evidence for English: place names in an English text are no Spanish.
SHARE_OF_ENGLISH: Final = 0.25
# A second language needs so much evidence that does not speak for the first one too.
SECOND: Final = 1.5
# What a word says that stands in English texts too, in names or as a word of its own; more where nothing is English.
WEAK: Final = 0.2
HALF: Final = 0.4

# Words with a meaning, so no stop words, that are common enough to tell a language: negations, days, months, relatives.
_TELLING: Final[Mapping[str, str]] = {
    "german": """nicht kein keine keinen ja nein bitte danke heute morgen gestern immer wieder etwas mutter vater
        schwester bruder tochter kinder freundin montag dienstag mittwoch donnerstag freitag samstag sonntag januar
        februar märz juni juli oktober dezember uhr woche monat monate jahr jahre""",
    "spanish": """nunca nada algo hoy ayer siempre donde cuando quien gracias tengo tiene hace vive madre padre hermana
        hermano hija hijo amigo amiga lunes martes miércoles jueves viernes sábado domingo enero febrero abril mayo
        junio julio agosto septiembre octubre noviembre diciembre semana mes año años día días""",
    "french": """ne pas jamais rien aujourd hier demain toujours oui merci fait habite mère père soeur sœur frère fille
        fils lundi mardi mercredi jeudi vendredi samedi dimanche janvier février avril juin juillet août septembre
        octobre novembre décembre semaine mois année ans jour""",
    "italian": """non mai niente oggi ieri domani sempre grazie madre padre sorella fratello figlia figlio amica lunedì
        martedì mercoledì giovedì venerdì sabato domenica gennaio febbraio marzo aprile maggio giugno luglio agosto
        settembre ottobre novembre dicembre settimana mese anno anni giorno abita""",
    "portuguese": """não nunca nada hoje ontem amanhã sempre obrigado obrigada mora mãe pai irmã irmão filha filho amigo
        segunda terça quarta quinta sexta sábado domingo janeiro fevereiro março abril maio junho julho agosto setembro
        outubro novembro dezembro semana mês ano anos dia""",
    "dutch": """niet geen nooit vandaag gisteren morgen altijd graag moeder vader zus broer dochter zoon vriendin
        maandag dinsdag woensdag donderdag vrijdag zaterdag zondag januari februari maart juni juli augustus oktober
        week maand jaar woont""",
    "swedish": """inte aldrig idag igår imorgon alltid ingen ingenting tack mamma pappa syster bror dotter måndag tisdag
        onsdag torsdag fredag lördag söndag januari februari juni juli augusti oktober vecka månad år bor""",
    "danish": """ikke aldrig altid ingen intet tak søster bror datter mandag tirsdag onsdag torsdag fredag lørdag søndag
        januar februar marts juni juli oktober uge måned år bor""",
    "norwegian": """ikke aldri alltid ingen ingenting takk søster bror datter mandag tirsdag onsdag torsdag fredag
        lørdag søndag januar februar mars juni juli oktober desember uke måned år bor""",
    "polish": """nie nigdy nic dziś dzisiaj wczoraj jutro zawsze tak matka ojciec siostra brat córka syn poniedziałek
        wtorek środa czwartek piątek sobota niedziela tydzień miesiąc rok mieszka""",
    "turkish": """değil hiç bugün dün yarın her zaman evet hayır var yok anne baba kardeş kız oğul pazartesi salı
        çarşamba perşembe cuma cumartesi pazar hafta yıl""",
    "russian": """не нет ни никогда ничего сегодня вчера завтра всегда да""",
}
# Function words elsewhere that English texts hold as words or in names (Den Haag, La La Land, Los Angeles, Van Gogh).
_ALSO_IN_ENGLISH: Final = STOP_WORDS[ENGLISH] | word_set("""
    al ale ali allo als ama amiga amigo anne ano ante aprile ar art as ate au aux baba ben bent bin biz bo bor brat
    ca car che chi ci ciao com come comment con cosa da dai dal dan das de deja del dell dem den der des det di dia
    die dig dine dit do domingo door dos dove du dun durante ed ei el ella em en entre er era eras ero esse est este
    et ex fait far fils fin for fore fu fur ge go gore gracias grazie gut ha ham han hans har has hast hat hay heel
    hem hen her ho hoe hon hos hoy hun hur il im inter io ja jag jak jour juli juni kim kon la las le les li lo los
    lub ma madre mag mai maio mal mam mamma man mar mars marts marzo mas matte max mayo me men mens mer merci mes
    met mi mia mig min mina mis mit mod moi mon mora morgen mot mu my nada nam nas net ni nic no non nos novembre
    nun nur ob octobre ode ok ole om on once ono ons op os oss ou over pa padre pai pappa par para pas pazar pero po
    pod por pour prima pro qui quinta rok sa sal sam san sana sans se sedan segunda ser sexta si sig sin sine sit
    siz size ska so sol sole solo son soy stat sub sue sui sun sur sus são ta tack tak tal tam tan tar te ten ti til
    till to toe toi ton tot tra tres tu tue tus um van vara vas ve ver vers verso vi via vid vie vil ville vis von
    want war wart was week wo worden ya yo za zaman zo
    """)
_WORD = re.compile(r"[^\W\d_]+")
_ELISION = re.compile(r"(?<![\w'’])(?:[cdjlmnst]|qu)['’][aeiouyhàâéèêëîôœ]")

# Letters that hardly stand in English words. Those of several languages only make them possible.
_LETTERS: Final[Mapping[str, tuple[tuple[str, float], ...]]] = MappingProxyType(
    {
        "ß": (("german", 1.0),),
        "ä": (("german", 0.5), ("swedish", 0.3)),
        "ö": (("german", 0.5), ("swedish", 0.3), ("turkish", 0.2)),
        "ü": (("german", 0.5), ("turkish", 0.3)),
        "å": (("swedish", 0.5), ("danish", 0.35), ("norwegian", 0.35)),
        "ø": (("danish", 0.5), ("norwegian", 0.5)),
        "æ": (("danish", 0.5), ("norwegian", 0.3)),
        "ñ": (("spanish", 0.5),),
        "¿": (("spanish", 1.0),),
        "¡": (("spanish", 1.0),),
        "ã": (("portuguese", 0.6),),
        "õ": (("portuguese", 0.6),),
        "ç": (("french", 0.3), ("portuguese", 0.3), ("turkish", 0.25)),
        "ê": (("french", 0.3), ("portuguese", 0.3)),
        "î": (("french", 0.5),),
        "û": (("french", 0.5),),
        "œ": (("french", 0.5),),
        "ù": (("french", 0.3), ("italian", 0.3)),
        "è": (("french", 0.3), ("italian", 0.3)),
        "ì": (("italian", 0.5),),
        "ò": (("italian", 0.5),),
        "à": (("french", 0.25), ("italian", 0.25), ("portuguese", 0.2)),
        "é": (("french", 0.25), ("spanish", 0.2), ("portuguese", 0.2)),
        "á": (("spanish", 0.3), ("portuguese", 0.3)),
        "í": (("spanish", 0.3), ("portuguese", 0.3)),
        "ó": (("spanish", 0.3), ("portuguese", 0.25), ("polish", 0.2)),
        "ú": (("spanish", 0.3), ("portuguese", 0.25)),
        "ą": (("polish", 0.6),),
        "ę": (("polish", 0.6),),
        "ł": (("polish", 0.6),),
        "ś": (("polish", 0.6),),
        "ź": (("polish", 0.6),),
        "ż": (("polish", 0.6),),
        "ć": (("polish", 0.4),),
        "ń": (("polish", 0.4),),
        "ı": (("turkish", 0.8),),
        "ğ": (("turkish", 0.8),),
        "ş": (("turkish", 0.6),),
    }
)
# Endings of single words in a query, which holds no function word as often as not.
_ENDINGS: Final = (
    ("german", re.compile(r"(?<=\w\w\w\w)(?:ung|ungen|heit|heiten|keit|keiten|schaft|schaften|lich(?:e[nrsm]?)?)$")),
    ("spanish", re.compile(r"(?<=\w\w\w)(?:ci[oó]n|ciones|dades|mente|cci[oó]n)$")),
    ("portuguese", re.compile(r"(?<=\w\w)(?:ção|ções|cao|coes|mente|dades)$")),
    ("italian", re.compile(r"(?<=\w\w\w)(?:zione|zioni|mente|aggio|aggi)$")),
    ("french", re.compile(r"(?<=\w\w\w)(?:ements?|euses?|eaux|iques)$")),
    ("dutch", re.compile(r"(?<=\w\w\w)(?:heid|heden|lijke?|ingen)$")),
    ("swedish", re.compile(r"(?<=\w\w\w)(?:ningar|ningen|heter|heten)$")),
)
_ENDING: Final = 0.5

# Scripts that one Snowball algorithm stands for, and letters by which a second one is told.
_SCRIPTS: Final = (
    ("russian", re.compile(r"[\u0400-\u04ff]")),
    ("greek", re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]{2}")),
    ("persian", re.compile(r"[\u067e\u0686\u0698\u06a9\u06af\u06cc]")),
    ("arabic", re.compile(r"[\u0621-\u064a]{2}")),
    ("hindi", re.compile(r"[\u0904-\u0939]")),
    ("tamil", re.compile(r"[\u0b85-\u0bb9]")),
    ("armenian", re.compile(r"[\u0531-\u0556\u0561-\u0587]")),
)

_OF_A_SCRIPT: Final = frozenset(language for language, _ in _SCRIPTS)


def _spoken() -> Mapping[str, tuple[str, ...]]:
    """Map each function word, with its diacritics and without, to the languages that have it."""
    spoken: dict[str, dict[str, None]] = defaultdict(dict)
    for language, words in STOP_WORDS.items():
        if language == ENGLISH:
            continue
        for word in words | word_set(_TELLING[language]):
            for form in (word, fold_diacritics(word)):
                if len(form) > 1 or not form.isascii():
                    spoken[form][language] = None
    return MappingProxyType({word: tuple(sorted(languages)) for word, languages in spoken.items()})


_SPOKEN: Final = _spoken()
_FOREIGN: Final = frozenset(_SPOKEN)
_PLAIN_ENGLISH: Final = STOP_WORDS[ENGLISH] - _FOREIGN
_SHARED_WITH_ENGLISH: Final = STOP_WORDS[ENGLISH] & _FOREIGN
_STRONG: Final = _FOREIGN - _ALSO_IN_ENGLISH
FUNCTION_WORDS: Final = STOP_WORDS[ENGLISH].union(*STOP_WORDS.values()) - (_ALSO_IN_ENGLISH - STOP_WORDS[ENGLISH])
"""Function words of all languages that are no words with a meaning in English."""
_TOLD_BY_LETTERS: Final = frozenset(_LETTERS)


def detect(text: str) -> str:
    """Name the Snowball algorithm for the main language of a text; `english` where nothing tells another.

    Args:
        text: any text; its first 4,000 characters count, in a few microseconds for a turn of 20 words.
    """
    found = languages_of(text)
    return found[1] if len(found) > 1 and not speaks_english(text) else ENGLISH


def languages_of(text: str) -> tuple[str, ...]:
    """List the Snowball algorithms that a text is indexed with: English first, then at most two others.

    Args:
        text: any text, as for `detect`.
    """
    return (ENGLISH, *_sure(*_evidence(text)))


def possible_languages(query: str) -> tuple[str, ...]:
    """List the Snowball algorithms that a query is stemmed with: English first, then what it is or could be in.

    A query is short, so one telling letter or ending makes a language possible where the index would want more.

    Args:
        query: any text.
    """
    evidence, english, words = _evidence(query)
    found = _sure(evidence, english, words)
    if not found and not english:
        for language, ending in _ENDINGS:
            if any(ending.search(word) for word in words):
                evidence[language] = evidence.get(language, 0.0) + _ENDING
    least = max(POSSIBLE, SHARE_OF_ENGLISH / 2 * english)
    also = [language for language in _best(evidence, words, least, POSSIBLE) if language not in found]
    return (ENGLISH, *[*found, *also][:MOST_LANGUAGES])


def speaks_english(text: str) -> bool:
    """Tell whether a text is in English at least in part: not so where another language explains its words better."""
    evidence, english, _ = _evidence(text)
    return not evidence or english >= max(evidence.values())


def _evidence(text: str) -> tuple[dict[str, float], float, set[str]]:
    """Give the evidence for each language but English, that for English, and the distinct words it rests on."""
    sample = text[:SAMPLE].casefold()
    words = set(_WORD.findall(sample))
    plain = len(words & _PLAIN_ENGLISH)
    foreign = words & _FOREIGN
    elided = ("'" in sample or "’" in sample) and _ELISION.search(sample)
    if sample.isascii() and not elided and (not foreign or (plain and _STRONG.isdisjoint(foreign))):
        return {}, float(plain), words
    evidence: dict[str, float] = defaultdict(float)
    if elided:
        evidence.update(french=0.6, italian=0.4)
    weak = WEAK if plain else HALF
    for word in foreign:
        languages = _SPOKEN[word]
        weight = (weak if word in _ALSO_IN_ENGLISH else 1.0) / len(languages)
        for language in languages:
            evidence[language] += weight
    if not sample.isascii():
        _read_letters(sample, evidence)
    return evidence, plain + WEAK * len(words & _SHARED_WITH_ENGLISH), words


def _sure(evidence: Mapping[str, float], english: float, words: set[str]) -> list[str]:
    if not evidence:
        return []
    least = max(SURE, SHARE_OF_ENGLISH * english) if english else POSSIBLE
    return _best(evidence, words, least, SURE + SECOND)


def _read_letters(sample: str, evidence: dict[str, float]) -> None:
    for letter in _TOLD_BY_LETTERS.intersection(sample):
        for language, weight in _LETTERS[letter]:
            evidence[language] += weight
    for language, letters in _SCRIPTS:
        if letters.search(sample) and not (language == "arabic" and "persian" in evidence):
            evidence[language] += SURE + SECOND


def _best(evidence: Mapping[str, float], words: set[str], least: float, second: float) -> list[str]:
    """Choose the language with the most evidence, and one more that much speaks for which the first leaves open."""
    ranked = sorted(evidence, key=lambda language: (-evidence[language], language))
    if not ranked or evidence[ranked[0]] < least:
        return []
    first = ranked[0]
    found = [first]
    for language in ranked[1:]:
        if _own_evidence(language, first, evidence, words) >= max(second, least) and len(found) < MOST_LANGUAGES:
            found.append(language)
    return found


def _own_evidence(language: str, first: str, evidence: Mapping[str, float], words: set[str]) -> float:
    """Weigh what speaks for a language and not for the first one; a script of its own does, shared letters do not."""
    if language in _OF_A_SCRIPT:
        return evidence[language]
    strong = (_SPOKEN[word] for word in words & _STRONG)
    return sum(1 / len(spoken) for spoken in strong if language in spoken and first not in spoken)
