"""The vocabularies of the languages that separate their words."""

from memory.text.dates.roles import Vocabulary
from memory.text.dates.words.dutch import DUTCH
from memory.text.dates.words.english import ENGLISH
from memory.text.dates.words.french import FRENCH
from memory.text.dates.words.german import GERMAN
from memory.text.dates.words.italian import ITALIAN
from memory.text.dates.words.portuguese import PORTUGUESE
from memory.text.dates.words.spanish import SPANISH

VOCABULARIES: tuple[Vocabulary, ...] = (ENGLISH, GERMAN, SPANISH, FRENCH, PORTUGUESE, ITALIAN, DUTCH)
