"""Function words of a few languages: articles, pronouns, auxiliaries, prepositions, conjunctions, question words.

They stay in the index. A query leaves them out when it has other words, since in a question they say how it is asked
and not what about: on conversation turns that finds more of the evidence, and it spares the longest posting lists.
Month and day names, negations, numbers and words with a content reading (`may`, `like`, `own`) are no members.
"""

from __future__ import annotations

from typing import Final


def word_set(words: str) -> frozenset[str]:
    """Make a set of words that are written one after the other."""
    return frozenset(words.split())


_ENGLISH: Final = """
a an the this that these those
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
it its itself they them their theirs themselves one
am is are was were be been being do does did doing done have has had having will would shall should can could might must
ought dont didnt doesnt isnt arent wasnt werent hasnt havent hadnt wont wouldnt shouldnt cant couldnt
of to in on at by for with from as into onto about between through during before after above below up down out off over
under against among upon within without toward towards
and or but nor so yet if then else than because while although though unless until since whether
what which who whom whose when where why how there here
also just very too some any all both each either such ever
"""
_GERMAN: Final = """
der die das den dem des ein eine einen einem einer eines
ich mich mir du dich dir er ihn ihm sie ihr ihnen es wir uns euch mein meine meinen meinem meiner dein deine sein seine
seinen seiner ihre ihren ihrer unser unsere euer eure man sich dieser diese dieses diesen diesem jener jene jenes
bin bist ist sind seid war warst waren wart werde wirst wird werden wurde wurden habe hast hat haben hatte hatten
kann kannst können konnte konnten soll sollen sollte muss müssen musste will wollen wollte
in im an am auf aus bei beim mit nach von vom zu zum zur über unter für durch um gegen ohne seit bis zwischen vor hinter
und oder aber denn sondern wenn dann als ob weil dass da während obwohl
was welche welcher welches wer wen wem wessen wann wo wohin woher warum wieso wie
auch noch schon nur sehr so hier dort
"""
_SPANISH: Final = """
el la los las lo un una unos unas
yo me mi mí tú tu te ti él ella ello ellos ellas nosotros nosotras nos vosotros vosotras os usted ustedes se le les
mis tus su sus nuestro nuestra nuestros nuestras este esta esto estos estas ese esa eso esos esas aquel aquella aquellos
soy eres es somos sois son era eras eran fue fueron ser sido estoy está están estaba estaban he has ha hemos han había
habían haber hay
de del a al en con por para sin sobre entre desde hasta hacia según durante ante tras
y e o u pero sino ni si entonces aunque porque que como
qué cuál cuáles quién quiénes cuándo dónde adónde cómo cuánto cuánta cuántos cuántas
también muy ya más aquí allí
"""
_FRENCH: Final = """
le la les l un une des du de d
je j me m moi tu te t toi il elle on nous vous ils elles lui leur leurs se s soi eux y en
mon ma mes ton ta tes son sa ses notre nos votre vos ce cet cette ces c cela ça
suis es est sommes êtes sont étais était étaient été être ai as a avons avez ont avais avait avaient eu avoir
à au aux dans par pour sur sous avec sans chez vers entre depuis pendant avant après
et ou mais donc or ni car si que qu quand comme parce lorsque puisque
qui quoi quel quelle quels quelles dont où comment pourquoi combien
aussi très déjà ici
"""

STOP_WORDS: Final[dict[str, frozenset[str]]] = {
    "english": word_set(_ENGLISH),
    "german": word_set(_GERMAN),
    "spanish": word_set(_SPANISH),
    "french": word_set(_FRENCH),
}
"""Case-folded words with their diacritics, by Snowball name; a language that is missing keeps all words of a query."""
