"""What only agrees or exclaims is told from what goes on to say something, in every language that the rules read."""

from __future__ import annotations

import pytest

from memory.consolidation.acknowledgements import only_acknowledges
from memory.consolidation.pleasantries import is_pleasantry


@pytest.mark.parametrize(
    "text",
    [
        "Agreed.", "Thanks", "Okay then", "Okay, agreed.", "Fair enough.", "I agree with you.", "That’s right.",
        "Done.", "Yes please.", "Ouch.",
        "Agreed, Nora.", "Thanks again, Nora!", "Oh well.", "Hmm.", "Sure thing.", "Roger that.", "Very well.", "Good.",
        "Einverstanden.", "Genau!", "Na gut, dann.", "Abgemacht, Ana.", "Das stimmt.", "Alles klar, danke dir.",
        "De acuerdo.", "¡Claro que sí!", "Vale, entonces.", "Trato hecho.", "No hay de qué.",
        "D’accord.", "Tout à fait.", "Très bien, merci beaucoup.", "C’est noté.", "Ça marche, alors.",
        "Va bene.", "Ho capito, grazie mille.", "D'accordo, allora.", "Combinado!", "Está bem, obrigada.", "Tudo bem.",
        "Akkoord.", "Afgesproken, Jan.", "Klopt, dank je wel.", "同意。", "好的，没问题。", "没错！", "当然",
    ],
)  # fmt: skip
def test_nothing_but_an_acknowledgement(text: str) -> None:
    assert is_pleasantry(text)


@pytest.mark.parametrize(
    "text",
    [
        "Agreed, no pushing on Fridays.", "The agreed price is 40 euros.", "Agreed, Thursday.",
        "Thanks to Marta we sail.",
        "Okay then, Thursday at nine.", "Right knee hurts.", "Fine wine from Porto.", "Absolutely no nuts.",
        "No sugar.",
        "Done with the roof.", "Deal with Jo first.", "Yes, nine croissants.", "I agree to the rent.", "Good flour.",
        "Same here in Ghent.", "Not a word from it.", "Well water.", "True north.", "Agreed, tomorrow.",
        "Einverstanden mit der Miete.", "Genau zwölf.", "Abgemacht, Donnerstag.", "Gut zwölf Kilo.",
        "Danke, ich esse kein Fleisch.", "De acuerdo, el jueves.", "Vale diez euros.", "Claro de luna.",
        "Hecho en Madrid.", "D’accord pour jeudi.", "D'accord, jeudi.", "Bien cuit.", "Non fumeur.",
        "Va bene giovedì.", "Vero cuoio.", "Certo, alle nove.", "Combinado de sushi.", "Está bem longe.",
        "Sim, às nove.", "Akkoord met de prijs.", "Afgesproken, donderdag.", "Geen vlees.", "Zeker tien kilo.",
        "同意加薪。", "好的，星期四。", "没错，他住在上海。", "可以吃鱼",
    ],
)  # fmt: skip
def test_it_goes_on_to_say_something(text: str) -> None:
    assert not is_pleasantry(text)


def test_a_name_alone_is_no_acknowledgement() -> None:
    assert not only_acknowledges("Nora.")
    assert not only_acknowledges("")


@pytest.mark.parametrize("repeated", ["ok okay ", "oh no oh well ", "好吧", "that's right "])
def test_what_can_be_read_in_many_ways_is_read_once(repeated: str) -> None:
    many = repeated * (79 // len(repeated))
    assert only_acknowledges(many)
    assert not only_acknowledges(f"{many}#")
