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
soy eres es somos sois son era eras eran fui fue fuimos fueron ser sido estoy está están estaba estaban he has ha hemos
han había habían haber hay
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
_ITALIAN: Final = """
il lo la i gli le l un uno una del dello della dei degli delle dell di d
io mi me tu ti te lui lei egli ella noi ci voi vi loro si sé ne mio mia miei mie tuo tua tuoi tue suo sua suoi sue
nostro nostra nostri nostre vostro vostra vostri vostre questo questa questi queste quello quella quelli quelle quel
sono sei è siamo siete era ero erano eravamo fu furono essere stato stata stati ho hai ha abbiamo avete hanno aveva
avevo avevano avere
a al allo alla ai agli alle all in nel nello nella nei negli nelle nell da dal dalla dai dalle dall con su sul sulla
sui sulle per tra fra senza sopra sotto verso durante dopo prima
e ed o ma però se che perché quando come mentre quindi anche
chi cosa quale quali cui dove quanto quanta quanti quante
molto più già qui lì ecco
"""
_PORTUGUESE: Final = """
o a os as um uma uns umas de do da dos das
eu me mim tu te ti você vocês ele ela eles elas nós nos vós se lhe lhes meu minha meus minhas teu tua teus tuas seu sua
seus suas nosso nossa nossos nossas este esta isto estes estas esse essa isso esses essas aquele aquela aquilo
sou és é somos são era eram foi foram ser sido estou está estão estava estavam tenho tem temos têm tinha tinham ter
há havia
em no na nos nas num numa ao à aos às por pelo pela pelos pelas para pra com sem sobre entre até desde durante após
e ou mas nem se então porque que como quando enquanto embora
quem qual quais onde quanto quanta quantos quantas
também muito já mais aqui ali lá
"""
_DUTCH: Final = """
de het een
ik mij me mijn jij je jou jouw u uw hij hem zijn zij ze haar wij we ons onze jullie hun hen zich men deze dit die dat
ben bent is was waren wordt worden werd werden heb hebt heeft hebben had hadden geweest kan kunnen kon konden zal zullen
zou zouden moet moeten moest wil willen wilde mag mogen
in op aan van voor met door bij naar uit over tot om te tegen tussen onder zonder sinds tijdens na
en of maar want dus als dan omdat hoewel terwijl toen
wat wie welke welk waar wanneer hoe waarom hoeveel waarheen
ook nog al zeer heel zo hier daar er
"""
_SWEDISH: Final = """
en ett den det de dem
jag mig min mitt mina du dig din ditt dina han honom hans hon henne hennes vi oss vår vårt våra ni er ert era sig sin
sitt sina man denna detta dessa
är var vara varit blir blev bli har hade ha kan kunde ska skall skulle måste vill ville får fick
i på av för med till från om hos mellan under över utan mot vid genom efter före sedan
och eller men att som så när då därför eftersom medan
vad vem vilka vilken vilket vars hur varför
också mycket redan här där
"""
_DANISH: Final = """
en et den det de dem
jeg mig min mit mine du dig din dit dine han ham hans hun hende hendes vi os vores i jer jeres sig sin sit sine man
denne dette disse
er var være været bliver blev har havde kan kunne skal skulle vil ville må måtte
på af for med til fra om hos mellem under over uden mod ved gennem efter før siden
og eller men at som så når da fordi mens
hvad hvem hvilken hvilket hvilke hvor hvornår hvordan hvorfor
også meget allerede her der
"""
_NORWEGIAN: Final = """
en ei et den det de dem
jeg meg min mitt mine du deg din ditt dine han ham hans hun henne hennes vi oss vår vårt våre dere deres seg sin sitt
sine man denne dette disse
er var være vært blir ble har hadde kan kunne skal skulle vil ville må måtte
i på av for med til fra om hos mellom under over uten mot ved gjennom etter før siden
og eller men at som så når da fordi mens
hva hvem hvilken hvilket hvilke hvor når hvordan hvorfor
også veldig allerede her der
"""
_POLISH: Final = """
ja mnie mi mną ty ciebie cię ci on ona ono jego go jemu mu jej ją my nas nam wy was wam oni one ich im się siebie mój
moja moje mojego mojej twój twoja twoje nasz nasza nasze wasz ten ta to tego tej ten te tych tym tamten
jestem jesteś jest jesteśmy są był była było byli były być będzie będą mam ma mamy mają miał miała
w we z ze na do od po za przy przez dla o u pod nad przed między bez podczas
i oraz lub albo ale lecz że żeby gdy kiedy jeśli bo ponieważ
co kto kogo komu czym jaki jaka jakie który która które których gdzie dokąd jak dlaczego ile czy
też także już bardzo tu tam
"""
_TURKISH: Final = """
ben beni bana benim sen seni sana senin o onu ona onun biz bizi bize bizim siz sizi size sizin onlar onları onlara bu
şu bunu bunun bunlar şunlar
idi ise olan olarak olduğu oldu olur vardı
ile için gibi kadar göre karşı sonra önce beri
ve veya ya ama fakat çünkü eğer ki
ne kim kimin nerede nereye neden niçin nasıl hangi kaç mı mi mu mü
da de çok daha en
"""
_RUSSIAN: Final = """
я меня мне мной ты тебя тебе тобой он его ему им она её ее ей мы нас нам нами вы вас вам вами они их ими себя себе мой
моя моё мое мои моего моей твой твоя твои наш наша наши ваш ваша ваши свой своя свои этот эта это эти этого этой тот та
то те того той
есть был была было были быть будет будут
в во на с со к ко у о об обо от до из по за под над при про для через между без перед после
и или а но да же ли бы что чтобы как если когда пока потому хотя
кто кого кому чей чья какой какая какое какие который которая которые где куда откуда почему зачем сколько
тоже также уже очень здесь там
"""

STOP_WORDS: Final[dict[str, frozenset[str]]] = {
    "english": word_set(_ENGLISH),
    "german": word_set(_GERMAN),
    "spanish": word_set(_SPANISH),
    "french": word_set(_FRENCH),
    "italian": word_set(_ITALIAN),
    "portuguese": word_set(_PORTUGUESE),
    "dutch": word_set(_DUTCH),
    "swedish": word_set(_SWEDISH),
    "danish": word_set(_DANISH),
    "norwegian": word_set(_NORWEGIAN),
    "polish": word_set(_POLISH),
    "turkish": word_set(_TURKISH),
    "russian": word_set(_RUSSIAN),
}
"""Case-folded words with their diacritics, by Snowball name; a language that is missing keeps all words of a query."""
