"""The gate in five languages, with the questions that must not be taken for greetings."""

from __future__ import annotations

import pytest

from memory.recall.gate import Verdict, gate


@pytest.mark.parametrize(
    "query",
    [
        "hi there", "OK, thanks!", "Got it.", "thanks so much", "Never mind", "how are you?", "What's up?",
        "danke", "Danke schön!", "vielen Dank, bis bald", "Guten Morgen", "alles klar", "ja", "Tschüss", "Wie geht's?",
        "gracias", "¡Muchas gracias!", "buenos días", "vale", "de acuerdo", "hola, ¿qué tal?", "sí",
        "merci", "merci beaucoup", "d'accord", "Bonjour !", "J'ai compris", "ça va ?", "au revoir", "à bientôt",
        "好的", "谢谢", "好的，谢谢你！", "你好", "明白了", "收到", "再见", "你好吗？", "嗯嗯", "ＯＫ",
    ],
)  # fmt: skip
def test_greetings_and_acknowledgements_need_no_recall(query: str) -> None:
    assert gate(query) is Verdict.SKIP


@pytest.mark.parametrize(
    "query",
    [
        "Do it again, please", "continue", "Explain that", "undo", "try again",
        "mach das nochmal", "Mach das bitte noch einmal!", "lösch es", "Zeig mir das", "weiter", "bitte nochmal",
        "hazlo otra vez", "Bórralo, por favor", "repítelo", "continúa", "otra vez",
        "refais-le", "fais-le encore", "Explique-moi ça", "supprime-le", "recommence",
        "再做一次", "再来一遍", "继续", "改一下", "请解释一下", "把它删掉", "撤销",
    ],
)  # fmt: skip
def test_requests_that_point_at_nothing_say_so(query: str) -> None:
    assert gate(query) is Verdict.UNCLEAR


@pytest.mark.parametrize(
    "query",
    [
        "Thanks to whom did we get the grant?", "hi, where did I park?", "ok computer", "no smoking", "hey jude",
        "How are you going to pay the rent?", "Nice?", "yes minister", "good morning america", "no problem with Tom",
        "fix it in the settings of the router", "continuous integration", "undo the last migration", "change",
        "danke für was?", "wie geht es Tom?", "Gute Nacht Geschichte", "mach das Licht aus", "ja oder nein zum Umzug",
        "gracias a quién?", "¿quién dijo hola?", "hazlo otra vez con Tom", "sigue la huelga?",
        "merci à qui ?", "montre", "salut les copains", "continue le projet Apollo",
        "好的餐厅", "谢谢谁？", "继续教育", "你好世界", "可以吗", "再见列宁是什么时候看的",
        '"danke"', "“ok”", "👍", "?!", "", "   ", "hi " * 40,
    ],
)  # fmt: skip
def test_everything_else_is_recalled_for(query: str) -> None:
    assert gate(query) is Verdict.RECALL


@pytest.mark.parametrize("query", ["hi " * 200_000, "好" * 500_000, "ok, " * 19 + "x"], ids=["words", "han", "nearly"])
def test_a_hostile_query_costs_nothing(query: str) -> None:
    assert gate(query) is Verdict.RECALL
