"""Words around people: first names, titles, and how people are related."""

from __future__ import annotations

from typing import Final

from memory.text.stopwords import word_set

FIRST_NAMES: Final = word_set("""
    aaron abby abdul abigail ada adam adele adrian agnes ahmed aisha alan alba albert alberto alejandro alex alexa
    alexander alexandra alexis alfie alfred ali alice alicia alina alison allan allison alma alvaro amanda amara amber
    amelia amelie amin amir amit amy ana anders andre andrea andreas andrew andy angela angelica angus anita anja ann
    anna annabel anne annette annie anthony antje antoine anton antonia antonio anya aria ariana ariel arjun arnold
    arthur arturo asha ashley astrid audrey aurora ava ayesha barbara barney barry bart bastian beatrice beatriz becky
    belinda ben benedict benjamin benoit bernard bernd beth bethan bethany bettina betty bianca bill billy birgit bjorn
    bob bobby boris brad bradley brandon brenda brendan brent brett brian bridget bruce bruno bryan caitlin caleb
    calvin cameron camila camille carina carl carla carlo carlos carmen carol carolina caroline carolyn carrie casey
    caspar cassandra catherine cathy cecilia celia chad charles charlie charlotte chelsea chiara chloe chris christian
    christina christine christoph christophe christopher cindy claire clara clarissa claudia claudio clive
    colin colleen connor conrad corinna craig cristina curtis cynthia daisy damian dan dana daniel daniela daniele
    danielle danny daphne daria darren dave david dawn dean deborah debbie deepak denise dennis derek diana diane diego
    dieter dimitri dirk dmitri dominic dominik don donald donna dora doris dorothy doug douglas duncan dylan eddie
    edgar edith eduardo edward edwin eileen elaine elena eleanor eli elias elisa elisabeth eliza elizabeth ella ellen
    ellie elliot elsa emil emilia emilio emily emma enrico enrique eric erica erik erika erin ernest ernesto esteban
    esther ethan eugene eva evan eve evelyn fabian fabio farah fatima federico felicity felipe felix fernanda fernando
    filip fiona flora florian frances francesca francesco francis francisco franco francois frank franz fred freda
    freddie frederick frieda friedrich gabriel gabriela gareth gary gavin gemma geoff geoffrey georg george georgina
    gerald gerard gerhard giacomo gianni gillian gina giorgio giovanni giulia giuseppe glen gloria gordon graham greg
    gregory greta guido guillaume gustav guy gwen hanna hannah hannes hans harold harriet harry harvey hassan heather
    hector heidi heike heinrich helen helena helga hendrik henk henri henrik henry herbert hermann hilary holger holly
    howard hugh hugo ian ibrahim ida ignacio igor ilse ines ingrid irene iris irma isaac isabel isabella isabelle isla
    ivan jack jackie jacob jacqueline jaime jake jakob james jamie jan jana jane janet janice janine jared jasmine
    jason javier jay jean jeff jeffrey jenna jennifer jenny jens jeremy jerome jerry jesse jessica jesus jill jim jimmy
    joan joanna joanne joao joaquin jochen jodie joe joel joerg johan johann johanna john johnny jon jonah jonas
    jonathan jordan jorge jose joseph josephine josh joshua joyce juan juana juanita judith judy jule julia julian
    juliana julie juliet julien julius jurgen justin kai karen karin karina karl karla kasia kate katharina katherine
    kathleen kathryn kathy katie katja katrin kay keith kelly ken kenneth kerry kevin khalid kim kirsten klara klaus
    kristen kristin kristina kumar kurt kyle lars laura lauren laurence laurent lea leah lee leila lena leo leon
    leonard leonie leonor leonora leroy leslie lewis liam lila lily lin linda lindsay lisa lisbeth liz logan lois lola
    lorenzo loretta lothar lotte lou louis louisa louise luca lucas lucia lucie lucy luigi luis luisa luka lukas luke
    luna lydia lynn mabel magda maggie maja malcolm manfred manuel manuela mara marc marcel marcelo marco marcos marcus
    marek margaret margarita maria marianne marie marina mario marion marisol marjorie mark markus marlene marta martha
    martin martina marvin mary mateo mathias mathilde matt matteo matthew matthias mattis maureen maurice max
    maximilian maya megan mehmet mel melanie melinda melissa mia michael michaela michel michele michelle miguel mika
    mike mila milan mina miranda miriam mohammed moira molly mona monica monika morgan muhammad nadia nadine nancy
    naomi natalia natalie natasha nate nathan neil nelly nelson nicholas nick nicky nico nicola nicolas nicole niels
    nigel nikita nikolai nils nina noah noel nora norbert norma norman olaf oleg olga oliver olivia omar oscar oskar
    otto owen pablo pamela paola paolo patricia patrick paul paula paulina paulo pedro peggy penelope penny pete peter
    petra phil philip philipp philippa phoebe pia pierre pilar piotr poppy priya priyanka quentin rachel rafael rafaela
    rahul raj ralf ralph ramon randy raquel raul ravi ray raymond rebecca reinhard rene renate rhys ricardo richard
    rick rita rob robbie robert roberta roberto robin rodrigo roger roland rolf roman ron ronald rosa rosalind rosemary
    rosie ross roxana roy ruben rudolf rupert russell ruth ryan sabine sabrina sally salma sam samantha samir samuel
    sandra sandy sanjay santiago sara sarah sascha sasha scott sean sebastian selina serena sergei sergio shane shannon
    sharon shaun sheila shelley sherry shirley sibylle sid silke silvia simon simone siobhan sofia sofie solveig sonia
    sonja sophia sophie stacey stan stanley stefan stefania stefanie stella stephan stephane stephanie stephen steve
    steven stuart sue susan susana susanne suzanne sven svetlana sylvia tamara tania tanja tanya tara tatiana ted
    teresa terry tess tessa theo theodor theresa thierry thomas tiffany tilly tim timothy tina tobias todd tom tomas
    tomasz tommy toni tony tracey tracy trevor tristan tyler udo ulrich ulrike ursula uwe valentina valeria valerie
    vanessa vera veronica veronika victor vijay viktor vincent vincenzo viola violet virginia vivian vladimir walter
    wanda wayne wendy werner wilfred wilhelm will william winston wolfgang xavier yannick yasmin yolanda yuki yusuf
    yves yvonne zachary zara zoe zoey
    """)
"""First names that are common in the languages known; a name that is not here is told by what stands around it."""

ALSO_PLACES: Final = word_set("""
    adelaide alexandria austin brooklyn carolina charlotte chelsea dakota dallas florence georgia houston israel
    jackson jordan lincoln london lourdes madison paris phoenix savannah sydney victoria vienna virginia
    """)
ALSO_WORDS: Final = word_set("""
    angel art bill bob bob dawn don drew faith frank grace guy hope jack jay joy mark may mike nick pat penny pierce ray
    rich rob rose sandy sky sunny sue summer violet will iris poppy daisy holly amber jasmine ruby heather robin lily
    iris max mel viola gill dean olive norm miles chase grant gene
    """)
"""First names that are words too, and open a sentence as such."""

HONORIFICS: Final = word_set("""
    mr mrs ms mx dr prof professor sir madam lady lord captain capt sgt lt col gen judge reverend rev father sister
    brother coach herr frau fräulein señor señora sr sra don doña monsieur madame mme signor signora dom dona mevrouw
    meneer aunt auntie uncle grandma grandpa granny
    """)
TITLES: Final = word_set("mr mrs ms mx dr prof sgt lt col gen rev capt sr sra mme st jr vs no nr")
"""Short forms that end in a full stop without ending a sentence."""

RELATIVES: Final[dict[str, str]] = {
    form: kind
    for kind, forms in {
        "wife": "wife", "husband": "husband hubby", "spouse": "spouse", "partner": "partner", "fiance": "fiancé fiance",
        "fiancee": "fiancée fiancee", "girlfriend": "girlfriend", "boyfriend": "boyfriend", "mother": "mother mom mum",
        "father": "father dad", "sister": "sister sis", "brother": "brother bro", "son": "son", "daughter": "daughter",
        "child": "kid child", "baby": "baby", "grandmother": "grandmother grandma granny nana gran",
        "grandfather": "grandfather grandpa grandad granddad", "aunt": "aunt auntie", "uncle": "uncle",
        "cousin": "cousin", "nephew": "nephew", "niece": "niece", "twin": "twin", "stepfather": "stepfather stepdad",
        "stepmother": "stepmother stepmom", "grandson": "grandson", "granddaughter": "granddaughter",
        "friend": "friend bestie buddy", "neighbour": "neighbour neighbor", "roommate": "roommate flatmate housemate",
        "colleague": "colleague coworker co-worker workmate", "boss": "boss manager supervisor", "teammate": "teammate",
        "mentor": "mentor", "coach": "coach", "teacher": "teacher tutor", "doctor": "doctor gp", "dentist": "dentist",
        "therapist": "therapist", "landlord": "landlord landlady", "assistant": "assistant", "client": "client",
    }.items()
    for form in forms.split()
}  # fmt: skip
LEADING: Final = frozenset(
    {"lead", "line manager", "team lead", "team leader", "tech lead", "direct manager", "direct boss"}
)
"""Who leads, besides the one word of a boss."""

SPOUSES: Final = frozenset({"wife", "husband", "spouse"})
PARTNERS: Final = SPOUSES | {"partner", "fiance", "fiancee", "girlfriend", "boyfriend"}


def kin_label(kind: str) -> str:
    """Give the label that leads to somebody of the circle: one for all who are married, one for all who lead."""
    if kind in SPOUSES:
        return "married_to"
    return "reports_to" if kind == "boss" else f"has_{kind}"


PETS: Final = word_set("""
    dog dogs puppy puppies pup pups cat cats kitten kittens kitty rabbit rabbits bunny hamster hamsters parrot parrots
    turtle turtles tortoise horse horses pony ponies guinea-pig snake snakes lizard gecko goldfish bird birds budgie
    ferret chinchilla hedgehog labrador poodle retriever terrier beagle
    """)
