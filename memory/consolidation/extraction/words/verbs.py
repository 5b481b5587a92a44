"""English verbs that statements about people are made with, and those that tell that something happened."""

from __future__ import annotations

from typing import Final

from memory.text.stopwords import word_set

# Base form: past forms.
_VERBS: Final[dict[str, str]] = {
    "love": "loved", "like": "liked", "enjoy": "enjoyed", "adore": "adored", "prefer": "preferred", "hate": "hated",
    "dislike": "disliked", "detest": "detested", "loathe": "loathed", "live": "lived", "reside": "resided",
    "work": "worked", "move": "moved", "relocate": "relocated", "own": "owned", "use": "used", "speak": "spoke spoken",
    "want": "wanted", "need": "needed", "play": "played", "study": "studied", "learn": "learned learnt",
    "have": "had", "be": "was were been", "eat": "ate eaten", "drink": "drank drunk", "drive": "drove driven",
    "collect": "collected", "teach": "taught", "run": "ran", "switch": "switched", "leave": "left", "quit": "quit",
    "join": "joined", "start": "started", "turn": "turned", "come": "came", "suffer": "suffered", "stop": "stopped",
    "decide": "decided", "choose": "chose chosen", "pick": "picked", "settle": "settled", "agree": "agreed",
    "opt": "opted", "wear": "wore worn", "keep": "kept", "manage": "managed", "lead": "led", "report": "reported",
    "belong": "belonged", "take": "took taken", "plan": "planned", "hope": "hoped",
    "give": "gave given", "get": "got gotten",
    "break": "broke broken", "split": "split", "separate": "separated", "divorce": "divorced", "resign": "resigned",
}  # fmt: skip

THIRD: Final = {"have": "has", "be": "is", "study": "studies", "teach": "teaches", "switch": "switches", "go": "goes"}

Tense = str


def _forms() -> dict[str, tuple[str, Tense]]:
    found: dict[str, tuple[str, Tense]] = {}
    for base, past in _VERBS.items():
        for form in past.split():
            found[form] = (base, "past")
        stem = base[:-1] if base.endswith("e") and base not in ("be",) else base
        if base in ("run", "quit", "stop", "plan"):
            stem += base[-1]
        found[f"{stem}ing"] = (base, "going")
        found[THIRD.get(base, f"{base}s")] = (base, "present")
        found[base] = (base, "present")
    found |= dict.fromkeys(("am", "is", "are"), ("be", "present"))
    found["preferring"] = ("prefer", "going")
    # Told of what somebody did far more often than of what he does.
    found |= {"quit": ("quit", "past"), "split": ("split", "past")}
    return found


FORMS: Final = _forms()
"""Each form with its base form and `present`, `past` or `going`."""

BASES: Final = word_set("""
    believe think feel know get see make go give help try look say find tell ask seem call show put mean become read
    understand watch follow spend grow walk win offer remember consider appear buy wait serve die send expect build stay
    fall cut reach remain suggest raise pass sell require decide pull appreciate care cook bake hike paint write sing
    sleep travel visit volunteer support trust miss wish worry admire respect struggle practise practice exercise
""")
"""Other common verbs in their base form."""

HAPPENED: Final = word_set("""
    adopted arrived ate attended became began booked bought broke brought built called came caught celebrated changed
    closed completed crashed created cut danced deployed designed did died discovered donated drove earned ended
    enrolled failed fell felt finished fixed flew found founded gave got graduated grew had handed happened held helped
    hired hosted hurt injured interviewed introduced invited joined jumped launched learned leaked left lost made
    married merged met migrated moved opened ordered organised organized paid painted passed performed picked planted
    played presented promoted published quit raised ran read received recorded recovered released renewed rented
    repaired replaced resigned restarted retired returned rode sang sent served shot signed sold spent spoke sprained
    started stopped submitted surprised swapped switched taught tested took traveled travelled tried turned upgraded
    used visited volunteered walked watched went won wore worked wrote dyed hiked camped swam skied practised practiced
    rescued applied scored competed battled toured signed cooked baked filmed tagged rolled shipped cancelled canceled
    """)
"""Past forms of what happens at a time."""

TURNING_POINTS: Final = word_set("""
    adopted joined graduated finished completed launched opened founded bought sold moved married retired resigned quit
    won published released deployed submitted signed hired promoted crashed failed broke died injured sprained migrated
    started passed lost rescued visited attended enrolled met rented founded
    """)
"""Past forms that tell an event even where no time is named."""

COMING: Final = word_set(
    "will going flying leaving moving meeting visiting starting getting having travelling traveling"
)
"""What shows that something is to come, where a time is named."""

PASSIVE: Final = word_set("""
    promoted hired fired diagnosed released born married injured invited accepted rejected published discharged
    cancelled canceled postponed moved closed opened launched stolen broken delivered signed approved sold elected
    """)
"""Participles after "was" or "got" that tell an event."""

ORDERS: Final = word_set("""
    use show send write answer give call ask add put include commit push deploy share mention run delete
    format quote reply respond schedule book suggest translate round store log print address remind order
    recommend prefer avoid keep return tell explain name make sort convert merge rename escape
    validate cite skip read speak email mail text ping assume
    """)
"""What an assistant can be asked to do always or never."""

MAKING: Final = word_set("""
    write translate say tell draft summarise summarize compose generate imagine pretend explain rewrite create repeat
    suppose describe complete continue list give act roleplay finish paraphrase proofread correct improve
    """)
"""Commands to make a text, whose contents are no statements."""

OCCUPATIONS: Final = word_set("""
    nurse midwife doctor surgeon vet dentist physician pharmacist paramedic therapist psychologist counsellor counselor
    teacher professor lecturer tutor student undergraduate postgraduate researcher scientist chemist biologist
    physicist hydrologist geologist historian librarian archivist engineer developer programmer coder architect
    designer analyst consultant accountant bookkeeper auditor lawyer solicitor barrister judge paralegal manager
    director founder cofounder co-founder ceo cto owner entrepreneur freelancer contractor clerk cashier salesperson
    salesman barista baker chef cook waiter waitress bartender butcher farmer gardener florist carpenter plumber
    electrician mechanic welder roofer builder potter ceramicist painter sculptor artist illustrator photographer
    filmmaker director actor actress singer musician pianist violinist guitarist drummer dancer choreographer writer
    author novelist poet journalist editor screenwriter blogger translator interpreter pilot driver sailor soldier
    veteran firefighter policeman detective guard athlete footballer swimmer runner climber cyclist gamer streamer
    coach trainer instructor physiotherapist volunteer activist pastor priest nun monk realtor banker economist
    statistician mathematician administrator secretary receptionist assistant intern apprentice trainee retiree
    pensioner sre dba landlord hairdresser barber tailor jeweller mayor politician senator diplomat officer
    vegetarian vegan pescatarian single-parent widow widower introvert extrovert christian muslim buddhist atheist
    """)
"""What somebody can be by trade or conviction."""

DIETS: Final = frozenset({"vegetarian", "vegan", "pescatarian"})
