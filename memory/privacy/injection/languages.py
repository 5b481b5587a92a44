"""The ten standard kinds in German, French, Spanish, Portuguese, Italian, Russian and Chinese.

The patterns are written without accents, since the text that they read has lost its own; a space stands for whatever
may stand between two words.
"""

from __future__ import annotations

from typing import Final

from memory.privacy.injection.rules import Level, Rule, standard, words

_DE_ORDERS: Final = (
    r"(?:anweisung(?:en)?|anordnung(?:en)?|instruktion(?:en)?|regeln?|befehle?|vorgaben?|richtlinien?|prompts?)"
)
_DE_EARLIER: Final = (
    r"(?:vorherigen?|bisherigen?|vorigen?|vorangegangenen?|vorangehenden?|obigen?|fruheren?"
    r"|vorstehenden?|ursprunglichen?)"
)
_DE_FILLER: Final = r"(?:(?:bitte|alle|all|samtliche|jede|die|den|deine|ihre|diese|sie|der) ){0,4}"
_FR_ORDERS: Final = r"(?:instructions?|consignes?|regles?|directives?|ordres|prompts?)"
_FR_ALL: Final = r"(?:(?:bien|toutes?|tous|les|tes|vos|ces|des|de|l'ensemble) ){1,4}"
_ES_ORDERS: Final = r"(?:instruccion(?:es)?|reglas?|ordenes|directrices|indicaciones|normas|prompts?)"
_ES_ALL: Final = r"(?:(?:todas|todos|las|los|tus|sus|estas|de|a) ){1,4}"
_PT_ORDERS: Final = r"(?:instruc(?:oes|ao)|regras?|ordens|diretrizes|orientacoes|comandos|prompts?)"
_PT_ALL: Final = r"(?:(?:todas|todos|as|os|suas|seus|estas|essas|tuas) ){1,3}"
_IT_ORDERS: Final = r"(?:istruzion[ei]|regol[ae]|direttiv[ae]|ordini|indicazioni|prompt)"
_IT_ALL: Final = r"(?:(?:tutte|tutti|le|i|gli|tue|tuoi|queste|vostre) ){1,3}"
_SAFETY: Final = r"(?:seguridad|sistema|seguranca|sicurezza)"
_RU_ALL: Final = r"(?:(?:все|всем|всех|любые|эти|этим|свои|своим|твои|на|внимания) ){0,3}"
_RU_ORDERS: Final = r"(?:инструкци|указани|правил|команд|распоряжени|директив)\w{0,4}"
_ZH_ORDERS: Final = r"(?:指令|指示|规则|規則|命令|要求|提示词?|设定|约束|规定)"


def _written(kind: str, pattern: str, *hints: str) -> Rule:
    """Make a rule that reads letters as they are written; its own script has the look-alikes."""
    return Rule(kind, Level.STANDARD, words(pattern), hints, latin=False)


GERMAN: Final[tuple[Rule, ...]] = (
    standard(
        "ignore_previous",
        rf"\b(?:ignorier(?:e|en|t)?|missacht(?:e|en|et)|verwirf|verwerfen) {_DE_FILLER}"
        rf"(?:{_DE_EARLIER} (?:\w{{1,20}} )?{_DE_ORDERS}\b|{_DE_ORDERS} (?:oben|von oben|daruber|zuvor|davor)\b"
        rf"|deine {_DE_ORDERS}\b|alles (?:oben|bisherige|vorherige|davor|was (?:oben|davor|bisher|zuvor|dir|ihnen)))",
        "ignorier", "missacht", "verw",
    ),
    standard(
        "you_are_now",
        r"\bdu bist (?:jetzt|nun|ab (?:jetzt|sofort|nun)) (?:dan\b|kein|der (?:admin|system)"
        r"|eine?n? (?!mitglied|teil|burger|kunde|vater|mutter|eltern|erwachsen|abonnent|vip|grosse|registriert"
        r"|echte)\w)"
        r"|\bab (?:jetzt|sofort|nun) bist du\b|\bsie sind (?:jetzt|nun|ab (?:jetzt|sofort)) (?:dan\b|kein"
        r"|ein (?:anderer|uneingeschrankt))",
        "du bist", "bist du", "sie sind",
    ),
    standard(
        "system_prefix",
        r"\bsystem(?:nachricht|meldung|anweisung)?\s*+:\s*+(?:du|sie) (?:musst|mussen|sollst|sollen|bist|sind"
        r"|wirst|werden|darfst)\b",
        "system",
    ),
    standard(
        "forget_everything",
        rf"\b(?:vergiss|vergesst|vergessen sie|losche) (?:bitte )?(?:alles (?:was (?:dir|ihnen|oben|ich|du"
        rf"|bisher|vorher|man|zuvor)|uber"
        rf"|bisherige|vorherige|davor|oben)|(?:(?:alle|deine|ihre|samtliche"
        rf"|die) ){{1,2}}(?:{_DE_EARLIER} {_DE_ORDERS}\b)"
        rf"|(?:alle )?(?:deine|ihre) {_DE_ORDERS}\b|alle {_DE_ORDERS}\b)",
        "verg", "losche",
    ),
    standard(
        "new_instructions",
        r"\bneuen? (?:system)?(?:anweisung(?:en)?|instruktion(?:en)?|befehle?)(?: lauten?)?\s*+:",
        "neue",
    ),
    standard(
        "override",
        r"\b(?:setzt?|setze|setzen sie) (?:(?:alle|deine|ihre|die"
        r"|samtliche) ){1,2}(?:\w{1,20} )?\w{0,20}(?:regeln?|sicherheit\w{0,20}"
        r"|richtlinien?|vorgaben|anweisungen|schranken|einschrankungen|system\w{0,20}) ausser kraft\b"
        r"|\b(?:uberschreibe?|uberschreiben sie) (?:(?:alle|deine|ihre|die|samtliche) ){1,2}(?:system"
        r"|sicherheit)\w{0,20}",
        "setz", "uberschreib",
    ),
    standard(
        "bypass",
        r"\b(?:umgehe?|umgehen sie|deaktivier(?:e|en sie)|schalte|entferne) (?:(?:alle|deine|ihre|die|samtliche"
        r"|den|jede) ){0,2}"
        r"(?:sicherheit|inhalt|schutz|moderation|zensur)s?(?:filter|richtlinie|regel|mechanism|vorkehrung"
        r"|massnahm|prufung)\w{0,4}",
        "umgeh", "deaktivier", "schalte", "entferne",
    ),
    standard(
        "pretend",
        r"\btue? (?:bitte )?so als (?:ob )?(?:warst du|seist du|du)\b|\bgib dich als \w"
        r"|\bstell dir vor du (?:warst|bist|seist) (?:dan\b|eine? (?:\w{1,20} )?(?:ki|hacker|chatbot"
        r"|assistent\w{0,2}|bot|modell|system)\b)",
        "so", "gib dich", "stell dir",
    ),
)  # fmt: skip

FRENCH: Final[tuple[Rule, ...]] = (
    standard(
        "ignore_previous",
        rf"\b(?:ignore[rz]?|oublie[rz]?|neglige[rz]?|ne (?:suis|suivez|tiens|tenez) (?:pas"
        rf"|plus)(?: compte)?) (?:{_FR_ALL}{_FR_ORDERS} "
        r"(?:\w{1,16} )?(?:precedente?s?|anterieure?s?|ci dessus|initiales?|prealables?)\b|tout ce qui precede\b)",
        "ignore", "oublie", "neglige", "ne s", "ne t",
    ),
    standard(
        "you_are_now",
        r"\b(?:tu es|vous etes) (?:maintenant|desormais|a present) (?:dan\b"
        r"|une? (?!membre|client|abonne|utilisat|parent|ami|citoyen|adulte|vrai|grand|habitue|pro)\w)"
        r"|\bdesormais tu es (?:dan|une?)\b",
        "tu es", "vous etes",
    ),
    standard("system_prefix", r"\bsysteme\s*+:\s*+(?:tu|vous) (?:dois|devez|es|etes|vas|allez)\b", "systeme"),
    standard(
        "forget_everything",
        rf"\boublie[rz]? (?:tout ce (?:que?|qui|qu'on|qu)\b|(?:toutes |tous )(?:tes |vos |les "
        rf"|ces ){{1}}{_FR_ORDERS}\b|(?:tes|vos) {_FR_ORDERS}\b)",
        "oublie",
    ),
    standard("new_instructions", r"\bnouvel(?:le)?s? (?:instructions?|consignes?|directives?)\s*+:", "nouvel"),
    standard(
        "override",
        rf"\b(?:outrepasse[rz]?|contourne[rz]?|annule[rz]?|ecrase[rz]?|remplace[rz]?) (?:(?:toutes?|tous|les|tes"
        rf"|vos) ){{1,2}}"
        rf"(?:regles? de securite|regles? (?:du )?systeme|{_FR_ORDERS} (?:(?:du|de) )?(?:systeme|securite)"
        rf"|protocoles? de securite"
        rf"|securites|mesures de securite)\b|\b(?:outrepasse[rz]?) (?:tes|vos) {_FR_ORDERS}\b",
        "outrepass", "contourn", "annul", "ecras", "remplac",
    ),
    standard(
        "bypass",
        r"\b(?:contourne[rz]?|desactive[rz]?|evite[rz]?|supprime[rz]?) (?:(?:toutes?|tous|les|tes|vos|le|la) ){1,2}"
        r"(?:filtres? (?:de|du) (?:securite|contenus?|moderation)|garde fous?|moderation|censure"
        r"|protections? de securite)\b",
        "contourn", "desactiv", "evite", "supprim",
    ),
    standard(
        "pretend",
        r"\bfa(?:is|ites) semblant d etre\b|\bfa(?:is|ites) semblant de etre\b|\bfa(?:is|ites) comme si (?:tu"
        r"|vous) (?:es|etais|etiez|etes|n'avais|n'aviez)\b"
        r"|\bimagine[rz]? que (?:tu es|vous etes) (?:dan\b|une? (?:\w{1,16} )?(?:ia|ai|robot|chatbot|hacker"
        r"|assistant|modele)\b)",
        "semblant", "comme si", "imagine",
    ),
)  # fmt: skip

SPANISH: Final[tuple[Rule, ...]] = (
    standard(
        "ignore_previous",
        rf"\b(?:ignor(?:a|e|en|ad)|desestim[ae]|olvid[ae]|haz caso omiso|hagan? caso omiso"
        rf"|no sigas) {_ES_ALL}{_ES_ORDERS} "
        r"(?:\w{1,16} )?(?:anteriores?|previ[ao]s?|precedentes?|(?:de )?arriba|iniciales)\b|\bignor(?:a"
        r"|e) todo lo anterior\b",
        "ignor", "desestim", "olvid", "omiso", "no sigas",
    ),
    standard(
        "you_are_now",
        r"\b(?:ahora|desde ahora|a partir de ahora) (?:eres|seras) (?:dan\b"
        r"|una? (?!miembro|parte|cliente|usuari|suscript|ciudadan|padre|madre|adult|amig|persona|profesional"
        r"|gran|experto)\w)",
        "eres", "seras",
    ),
    standard("system_prefix", r"\bsistema\s*+:\s*+(?:debes|tienes que|eres|vas a|deberas|tu debes)\b", "sistema"),
    standard(
        "forget_everything",
        rf"(?<!no\s)\bolvid(?:a|e|en|ad) (?:todo lo que\b|todas (?:tus|sus|las) {_ES_ORDERS}\b|(?:tus"
        rf"|sus) {_ES_ORDERS}\b)",
        "olvid",
    ),
    standard("new_instructions", r"\bnuevas? (?:instruccion(?:es)?|ordenes|directrices)(?: son)?\s*+:", "nueva"),
    standard(
        "override",
        rf"\b(?:anul(?:a|e)|sobr?e?escrib(?:e|a)|invalida) (?:(?:todas|todos|las|tus|sus"
        rf"|los) ){{1,2}}(?:\w{{1,16}} ){{1,2}}"
        rf"(?:(?:de|del) )?{_SAFETY}\b|\banul(?:a|e) (?:tus|sus) {_ES_ORDERS}\b",
        "anul", "escrib", "invalida",
    ),
    standard(
        "bypass",
        r"\b(?:evit(?:a|e)|elude|desactiv(?:a|e)|omit(?:e|a)|salta(?:te)?) (?:(?:todos|todas|los|las|tus|sus|el"
        r"|la) ){1,2}"
        r"(?:filtros? de (?:seguridad|contenidos?)|restricciones de (?:seguridad|contenido)|medidas de seguridad"
        r"|moderacion)\b",
        "evit", "elude", "desactiv", "omit", "salta",
    ),
    standard(
        "pretend",
        r"\bfin(?:ge|ja) (?:ser\b|que eres\b)|\bhaz como si fueras\b"
        r"|\bimagin(?:a|e) que eres (?:dan\b|una? (?:\w{1,16} )?(?:ia|hacker|chatbot|robot|asistente|modelo)\b)",
        "fin", "como si", "imagin",
    ),
)  # fmt: skip

PORTUGUESE: Final[tuple[Rule, ...]] = (
    standard(
        "ignore_previous",
        rf"\b(?:ignor(?:e|a|em)|desconsider(?:e|a|em)|esquec(?:a|e)) {_PT_ALL}{_PT_ORDERS} "
        r"(?:\w{1,16} )?(?:anteriores?|acima|previ[ao]s?|precedentes?|iniciais)\b|\b(?:ignore"
        r"|desconsidere) tudo (?:acima|o que)\b",
        "ignor", "desconsider", "esquec",
    ),
    standard(
        "you_are_now",
        r"\b(?:voce agora e|agora voce e|a partir de agora (?:voce e|tu es)) (?:dan\b"
        r"|uma? (?!membro|cliente|parte|usuari|pai|mae|cidada|adult|amig|profissional|grande|assinante)\w)",
        "agora",
    ),
    standard("system_prefix", r"\bsistema\s*+:\s*+(?:voce (?:deve|e|vai|precisa)|tu (?:deves|es))\b", "sistema"),
    standard(
        "forget_everything",
        rf"(?<!nao\s)\besque(?:ca|ce|cam) (?:tudo (?:o )?que\b|todas as (?:suas )?{_PT_ORDERS}\b"
        rf"|suas {_PT_ORDERS}\b)",
        "esque",
    ),
    standard("new_instructions", r"\bnovas? (?:instruc(?:oes|ao)|ordens|diretrizes)\s*+:", "nova"),
    standard(
        "override",
        rf"\b(?:substitu(?:a|i)|anul(?:e|a)|sobrescrev(?:a|e)"
        rf"|sobreponha) {_PT_ALL}(?:\w{{1,16}} ){{1,2}}(?:(?:de|do|da) )?{_SAFETY}\b",
        "substitu", "anul", "sobre",
    ),
    standard(
        "bypass",
        r"\b(?:ignore|desativ(?:e|a)|contorn(?:e|a)|burl(?:e|a)) (?:(?:todos|todas|os|as|seus|suas|o) ){1,2}"
        r"(?:filtros? de (?:seguranca|conteudo)|restricoes de (?:seguranca|conteudo)|moderacao)\b",
        "ignore", "desativ", "contorn", "burl",
    ),
    standard(
        "pretend", r"\bfin[jg](?:a|e) (?:ser\b|que (?:voce e|tu es)\b)|\bfaca de conta que voce e\b", "fin", "de conta"
    ),
)  # fmt: skip

ITALIAN: Final[tuple[Rule, ...]] = (
    standard(
        "ignore_previous",
        rf"\b(?:ignora|ignorate|trascura|dimentica|dimenticate) {_IT_ALL}{_IT_ORDERS} "
        r"(?:\w{1,16} )?(?:precedent[ei]|(?:di cui )?sopra|anteriori|iniziali)\b|\bignora tutto (?:quanto|cio"
        r"|quello)\b",
        "ignora", "trascura", "dimentica",
    ),
    standard(
        "you_are_now",
        r"\b(?:ora|adesso|da ora(?: in poi)?|d'ora in poi) sei (?:dan\b"
        r"|una? (?!membro|cliente|utente|genitore|parte|cittadin|adult|amic|professionist|grande)\w)",
        "sei",
    ),
    standard("system_prefix", r"\bsistema\s*+:\s*+(?:devi|sei|dovrai|tu devi)\b", "sistema"),
    standard(
        "forget_everything",
        rf"\bdimentica(?:te)? (?:tutto (?:quello|cio|quanto)\b|tutte (?:le )?(?:tue )?{_IT_ORDERS}\b"
        rf"|le tue {_IT_ORDERS}\b)",
        "dimentica",
    ),
    standard("new_instructions", r"\bnuov[ae] istruzion[ei]\s*+:", "nuov"),
    standard(
        "override",
        rf"\b(?:annulla|sovrascrivi|scavalca)(?:te)? {_IT_ALL}(?:\w{{1,16}} ){{1,2}}(?:(?:di|del) )?{_SAFETY}\b",
        "annulla", "sovrascriv", "scavalca",
    ),
    standard(
        "bypass",
        r"\b(?:aggira|disattiva|bypassa|elimina|rimuovi)(?:te)? (?:(?:tutti|i|tuoi|gli) ){1,3}"
        r"(?:filtri (?:di|dei) (?:sicurezza|contenut[oi])|filtri\b(?<=tuoi\sfiltri))",
        "aggira", "disattiva", "bypassa", "elimina", "rimuovi",
    ),
    standard(
        "pretend",
        r"\b(?:fing(?:i|ete)|fa(?:i|te) finta) di essere\b"
        r"|\bimmagina di essere (?:dan\b|una? (?:ia|hacker|chatbot|robot|assistente|modello)\b)",
        "fing", "finta", "immagina",
    ),
)  # fmt: skip

RUSSIAN: Final[tuple[Rule, ...]] = (
    _written(
        "ignore_previous",
        rf"\b(?:про)?игнориру(?:и|ите) {_RU_ALL}(?:(?:предыдущ|прежн|прошл|ранн|вышеуказанн|изначальн"
        rf"|данн)\w{{1,4}} (?:\w{{1,16}} )?{_RU_ORDERS}\b"
        rf"|{_RU_ORDERS} (?:выше|ранее)\b|все (?:что )?(?:выше|ранее)\b)"
        rf"|\bне (?:следуи|обращаи|выполняи|соблюдаи)(?:те)? {_RU_ALL}(?:предыдущ|прежн|вышеуказанн"
        rf"|системн)\w{{1,4}} {_RU_ORDERS}\b",
        "игнорир", "не ",
    ),
    _written(
        "you_are_now",
        r"\b(?:теперь|отныне|с этого момента|с этои минуты) ты (?:dan\b|\w{2,20} без (?:\w{1,20} )?(?:ограничени"
        r"|правил|фильтр)"
        r"|(?:хакер|администратор|ассистент|помощник без|бот|пират|злои|ии|злобныи|свободныи ии)\b)",
        "ты",
    ),
    _written(
        "system_prefix", r"\bсистема\s*+:\s*+(?:ты|вы) (?:долж\w{2,3}|обязан\w{0,2}|теперь|будешь|будете)\b", "система"
    ),
    _written(
        "forget_everything",
        rf"(?<!не\s)\bзабудь(?:те)? (?:все (?:что|о|об|про|предыдущ\w{{1,3}}|выше)\b|(?:(?:все|свои|твои|эти"
        rf"|предыдущие|прежние) ){{1,3}}{_RU_ORDERS}\b)",
        "забудь",
    ),
    _written(
        "new_instructions", r"\bнов(?:ые|ая|ое) (?:инструкци[ия]|указани[ея]|команд[аы])\s*+:", "нов"
    ),
    _written(
        "override",
        r"\b(?:отмени|переопредели|нарушь|отключи|перепиши)(?:те)? (?:(?:все|свои|твои|эти|любые) ){0,2}"
        r"(?:правила безопасности|системные (?:инструкции|правила|настроики|ограничения|указания)"
        r"|ограничения безопасности)\b",
        "отмени", "переопредели", "нарушь", "отключи", "перепиши",
    ),
    _written(
        "bypass",
        r"\b(?:обоиди|отключи|выключи|сними)(?:те)? (?:(?:(?:все|свои|твои) ){1,2}фильтр|(?:(?:все|свои"
        r"|эти) )?фильтр\w{0,2} (?:безопасности|контента|содержимого))",
        "обоиди", "отключи", "выключи", "сними",
    ),
    _written(
        "pretend",
        r"\bпритворись (?!спящ|мертв|больн|что спи|что не)\w|\bпритворитесь (?!спящ|мертв|больн|что)\w"
        r"|\bпредставь(?:те)? что ты (?:ии|бот|хакер|администратор|модель|робот|dan)\b",
        "притвор", "представь",
    ),
)  # fmt: skip

CHINESE: Final[tuple[Rule, ...]] = (
    _written(
        "ignore_previous",
        rf"(?:忽略|忽視|无视|無視|不要理会|不用理会|不要遵守|不用管|不理会)掉?你?(?:(?:之前|以上|前面|先前|上面|此前|上述|所有|全部|一切|任何|原有|已有|过去"
        rf"|的)){{1,5}}{_ZH_ORDERS}",
        "忽", "视", "視", "不",
    ),
    _written(
        "you_are_now",
        r"(?:你现在(?:就)?|现在你(?:就)?|从现在(?:起|开始),?你(?:就)?)是(?:DAN|(?:一个|一名)?(?:没有|不受|无|邪恶|黑客|海盗|管理员))",
        "你",
    ),
    _written(
        "system_prefix", r"(?:系统|系統)(?:消息|提示|指令)?\s*+:\s*+你(?:现在)?(?:必须|必須|应该|需要|是|要|将)", "系"
    ),
    _written(
        "forget_everything",
        rf"(?:忘记|忘掉|忘了|忘記)你?(?:(?:之前|以前|所有|全部|一切|被告知|知道|学到|前面|的|过)){{1,6}}(?:一切|内容|{_ZH_ORDERS})",
        "忘",
    ),
    _written("new_instructions", r"新的?(?:系统)?(?:指令|指示|命令)\s*+:", "新"),
    _written(
        "override",
        r"(?:覆盖|覆蓋|取消|推翻|改写)(?:你的?|所有|全部|的|当前){0,3}(?:系统(?:指令|提示|规则|设定|限制)|安全(?:规则|限制|设置|准则|协议))",
        "覆", "取消", "推翻", "改写",
    ),
    _written(
        "bypass",
        r"(?:绕过|绕开|關閉|关闭|禁用|解除|避开)(?:你的?|所有|全部|的){0,3}(?:安全|内容)(?:过滤|审查|限制|审核|机制|策略|防护)",
        "绕", "关", "禁", "解", "避",
    ),
    _written(
        "pretend",
        r"(?:假装|扮演|假设)你?是?(?:一个|一名)?(?:管理员|没有(?:任何)?限制|不受限制|黑客|DAN|系统管理|AI|人工智能|root)",
        "假", "扮演",
    ),
)  # fmt: skip

TRANSLATED: Final[tuple[Rule, ...]] = (
    *(*GERMAN, *FRENCH, *SPANISH, *PORTUGUESE, *ITALIAN),
    *(*RUSSIAN, *CHINESE),
)
