"""Words with a capital that name nothing: openings of sentences, exclamations, common words."""

from __future__ import annotations

from typing import Final

from memory.text.stopwords import word_set

NOISE: Final = word_set("""
    absolutely according actually add adding admittedly afterwards agreed ah aha ahh alas alright alternatively always
    amazing annoying another answer any anyhow anymore anyone anything anytime anyway anyways apart apologies apparently
    appreciate appreciated art asap ask attending aw awesome aww awww balance basically be beautiful being believe best
    better big boy bravo brilliant btw bummer but bye call calling can catch certainly challenges chat check checked
    cheers clearly coconut come coming comparing congrats congratulations cool could count crazy creativity cute damn
    dang darn dear deal deep definitely digging do does doing done dude each early easy either else emm enjoy enough
    especially even eventually ever every everybody everyone everything exactly excellent exciting excuse exploring
    extra fair family fantastic far feel feeling few finally find fine finishing first flowers forget forgot fortunately
    forward freedom from fun funny further fyi game gaming gather generally get getting give giving glad go god going
    gonna good goodbye goodness gosh got gotcha gotta great guess guys ha had haha hahaha half hang hanging happy hard
    has have having hearing heck hello help helping here hey hi highly hm hmm hmmm home honestly hope hopefully hoping
    how however hugs huh hurray hurry idea if imagine important impressive incidentally incredible indeed inspiring
    instead interesting is just keep kids kind kinda know knowing last lately later lemme less let lets life like
    likely listen literally little live lmao lol long look looking looks losing lost lots love lovely loving luckily
    lucky ma maam mainly make makes making man many marrying may maybe me mean meanwhile mental mind mine minor miss
    missed mm mmm moments month more moreover morning most mostly much music must nah naturally nature neat need
    neither never nevertheless new next nice night no nobody none nope normally not note nothing now obviously odd of
    off oh ok okay old omg on once one only ooh oof oops option originally other others otherwise ouch our over overall
    own pardon people perfect perhaps personally pets phew pics plan please plenty plus point poor posting precisely
    pretty previously probably promise proud put quick quite rather read reading ready real realizing really recently
    reflecting regarding regardless remember right rise sadly said same save say saying says scoring see seeing seem
    seems seriously shame share sharing she short should shoutout show sigh similarly simply since small so some
    somebody someday somehow someone something sometimes somewhat somewhere soon sorry sound sounds sourcing speaking
    spending spill spot start started starting stay staying step still strong stuff success such summer super support
    supporting sure surely surprisingly sweet ta take taking talk talking team tell terrible than thank thankfully
    thanks that then there therefore these they thing things think thinking this those though thought thoughts three
    through thus till time to today together tomorrow tonight too totally tough tracking true truly trust try trying
    turn two typically ugh uh um under unfortunately uniting unless unlike unlikely until upcoming update use used
    using usually veggies very volunteering wait walking wanna want was watching way we weddings weird welcome well
    were what whatever when whenever where wherever whether which while whoa whoever why will winning winter wish
    wishing with without woah wohoo wonder wonderful woo woohoo word work working worst would wow wrap writing wrong
    yay yea yeah year years yep yes yesterday yet yikes yo you young yup zero
    accept additional address all analysis announcing answers app apply approach ask assume attached author background
    based because before below bonus both bottom break bring broken brought build building buy careful case cause
    change changes choose click close code common compare complete confirm consider context continue copy correct create
    current data date day days decide decided default delete deploy description despite detail details different
    discuss draft dropping due during edit email empty end ensure error errors eventually evening example except
    existing expect explain facts false fetch figure file files fill final fix fixed focus follow following food for
    format four full general generate given goal goals great group grow handle hear heard high hold hours house
    hundred ideas implement include info inside install introducing issue issues item items job join journey keys kinda
    language large leave left letting level line link list lists load local log low lunch main makes manage many map
    mark match meet meeting message method minutes missing mode monday money monthly months moved moving multiple my
    name names near necessary nine none normal notes notice number numbers open option options order original out
    outside page part parts passed past pay per phone photo pick picture place places play possible post prepare present
    previous price print problem problems process product project pull push question questions quiet reach reason
    recent reduce reference reminder remove rename repeat replace reply report request rest result results return
    returning review rough row run running runs safe sample saw search second section select sending sent separate
    serious set seven several shall side sign simple single six sleep slow smart someone somehow sort source special
    speed split stable standard state status stop store story subject subtitle suggest sum summary swap switch table
    tables tasks test tested tests text third thousand throw ticket tickets
    tip tips title top topic total traditional translate
    treat trip trying turns twice type types typo typical understand understood unknown up updated upon useful user
    users usual value values version view visit visited waiting wake warning watch week weekends weekly weeks went
    whole win wise words world worry worth write wrote yellow blue red green black white brown orange pink purple grey
    diy diys tbh imo imho idk rip aka faq tba tbd eta pov ps pps pm am ad bc ceo cto faves vs etc ie eg
    parenting scary relaxing cuddling mixing fitting rejections assignments incorporating anyting shure ahem startin
    buddy bro sis folks mate sir madam mom mum mommy mama dad daddy papa grandma grandpa
    ich du er sie es wir ihr der die das den dem ein eine und oder aber ja nein nicht mein meine danke bitte hallo
    guten morgen heute gestern dann wenn weil dass mit von bei für auf im am zum zur wie was wer wo wann warum passt
    genau gut super stimmt also leider vielleicht letzte nächste
    el la los las un una y o pero sí no mi mis tu gracias hola hoy ayer mañana cuando donde como que qué quién por para
    con en al del nos me te se le lo muy ya pues vale bueno claro
    le les des et ou mais oui non mon ma mes ton merci bonjour salut hier demain quand où comment pourquoi avec dans
    sur je tu il elle nous vous ils elles ce cette
    il lo gli e ma sì mio mia grazie ciao oggi ieri domani io lui lei noi voi loro
    o os as um uma e mas sim não meu minha obrigado obrigada olá hoje ontem amanhã eu ele ela nós eles
    de het een en maar ja nee mijn dank hoi hallo vandaag gisteren ik jij hij zij wij
    """)
"""Words of several languages, in small letters."""

EXCLAMATIONS: Final = word_set("""
    thanks thank hey hi hello wow yeah yep yes no nope oh congrats congratulations awesome cool great nice good sorry
    sure aww aw woohoo yay bye ok okay well cheers absolutely definitely glad totally agreed exactly right dear true
    """)
"""Words after which a single name is the one who is spoken to."""

BEFORE_PEOPLE: Final = word_set("with and told asked met thank thanks miss love helped called by hey hi hello dear")
AFTER_PEOPLE: Final = word_set("""
    says said told thinks thought loves likes hates lives works wants asked called knows knew agreed promised came went
    has was is wrote sent gave made took got will would and stays plays moved turns turned does did joined left started
    """)
