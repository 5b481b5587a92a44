"""Words around things that have names: organisations, tools, places, documents, numbered things."""

from __future__ import annotations

from typing import Final

from memory.text.stopwords import word_set


def _listed(names: str) -> frozenset[str]:
    return frozenset(name.strip().casefold() for name in names.split(","))


ORGANIZATION_WORDS: Final = word_set("""
    inc ltd llc gmbh ag corp corporation company co plc sarl bv kg holding holdings group university college school
    academy institute hospital clinic bank foundation agency council committee ministry department association society
    club union church museum library studios records labs laboratories partners ventures capital insurance airlines
    airways railways motors pharma pharmacy bakery bistro restaurant café cafe hotel logistics freight consulting
    solutions technologies systems software services media press publishing brewery ceramics roasters shelter charity
    police army navy senate parliament
    """)
"""Words that end, or begin, the name of an organisation."""

ORGANIZATIONS: Final = _listed("""
    google, microsoft, apple, amazon, meta, facebook, netflix, nike, adidas, puma, under armour, gatorade, sony,
    nintendo, samsung, ibm, intel, amd, nvidia, oracle, sap, siemens, bosch, bmw, volkswagen, toyota, honda, ford,
    tesla, boeing, airbus, lufthansa, ryanair, ikea, walmart, target, starbucks, mcdonald's, coca-cola, pepsi, unicef,
    nasa, esa, nato, who, fbi, cia, bbc, cnn, nba, nfl, fifa, uefa, red cross, greenpeace, stripe, paypal, visa,
    mastercard, uber, airbnb, spotify, twitter, linkedin, door dash, doordash, universal studios, disney, pixar,
    warner bros, harvard, stanford, mit, oxford, cambridge, yale, openai, mozilla, wikipedia, github inc, dhl, ups,
    fedex, deutsche bahn, deutsche bank, kpmg, deloitte, accenture, pwc
    """)

_SURE_TOOLS: Final = """
    postgresql, postgres, mysql, mariadb, sqlite, mongodb, redis, memcached, elasticsearch, kafka, rabbitmq, celery,
    dramatiq, python, javascript, typescript, golang, kotlin, haskell, php, perl, django, fastapi, numpy, scipy,
    pytorch, tensorflow, scikit-learn, matplotlib, jupyter, docker, kubernetes, podman, terraform, ansible, jenkins,
    github, gitlab, bitbucket, linux, ubuntu, debian, fedora, nixos, macos, android, ios, webpack, graphql, pytest,
    mypy, nginx, grafana, prometheus, datadog, vscode, neovim, vim, emacs, pycharm, intellij, photoshop, lightroom,
    figma, jira, trello, duolingo, tiktok, instagram, youtube, whatsapp, snowflake, bigquery, pgloader, pgbouncer,
    excel, powerpoint, airtable, node.js, next.js, vue.js, react.js, c++, c#, svelte, tailwind, vercel, netlify,
    heroku, pgvector, langchain, playwright, hugging face
"""
_TOOLS: Final = """
    java, go, rust, ruby, swift, scala, julia, r, react, angular, vue, flask, rails, spring, pandas, polars, httpx,
    requests, git, windows, slack, notion, obsidian, zoom, teams, discord, signal, telegram, word, outlook, gmail, make,
    chrome, firefox, safari, edge, ableton, blender, unity, strava, garmin, kindle, alexa, siri, aws, azure, lambda,
    visual studio code, vs code, google docs, google drive, google maps, dropbox, evernote, playstation, xbox, switch,
    raspberry pi, arduino, iphone, ipad, macbook, macbook pro, android studio, sap hana, salesforce, confluence, asana
"""
SURE_TOOLS: Final = _listed(_SURE_TOOLS)
"""Tools that are named so in small letters too."""
TOOLS: Final = SURE_TOOLS | _listed(_TOOLS)
"""Tools; those that are words too count with a capital inside a sentence only."""

PLACE_WORDS: Final = word_set("""
    street road avenue lane square park lake river mount mountain mountains beach bay island islands valley forest
    city town county village bridge castle airport station harbour harbor canyon falls cliffs coast square court hall
    """)
PLACES: Final = _listed("""
    leipzig, berlin, hamburg, munich, münchen, köln, cologne, frankfurt, vienna, wien, zürich, zurich, basel, paris,
    lyon, marseille, london, bristol, manchester, edinburgh, glasgow, dublin, galway, rome, roma, milan, milano,
    barcelona, madrid, valencia, sevilla, lisbon, lisboa, porto, amsterdam, rotterdam, utrecht, brussels, copenhagen,
    stockholm, oslo, helsinki, prague, warsaw, budapest, athens, istanbul, moscow, kyiv, cairo, nairobi, lagos, mumbai,
    delhi, bangalore, bengaluru, chennai, singapore, bangkok, hanoi, jakarta, manila, tokyo, kyoto, osaka, seoul,
    beijing, shanghai, hong kong, taipei, melbourne, auckland, toronto, vancouver, montreal, ottawa, new york,
    new york city, nyc, boston, chicago, seattle, portland, san francisco, los angeles, san diego, denver, dallas,
    houston, miami, tampa, atlanta, detroit, las vegas, washington, mexico city, bogotá, lima, santiago, buenos aires,
    são paulo, rio de janeiro, germany, france, spain, italy, portugal, england, scotland, ireland, wales, austria,
    switzerland, netherlands, belgium, denmark, sweden, norway, finland, poland, greece, turkey, russia, ukraine,
    egypt, kenya, nigeria, south africa, india, china, japan, korea, south korea, thailand, vietnam, indonesia,
    australia, new zealand, canada, mexico, brazil, argentina, chile, peru, colombia, cuba, united states, usa, uk,
    california, florida, texas, oregon, michigan, minnesota, colorado, alaska, hawaii, europe, asia, africa, slovenia
    """)

NATIONAL: Final = word_set("""
    american british english scottish irish welsh german french spanish italian portuguese dutch belgian swiss austrian
    danish swedish norwegian finnish polish czech hungarian greek turkish russian ukrainian romanian croatian serbian
    arabic egyptian moroccan kenyan nigerian african indian pakistani chinese japanese korean thai vietnamese
    indonesian filipino australian canadian mexican brazilian argentinian chilean peruvian colombian cuban european
    asian latin hispanic mediterranean catholic christian muslim jewish buddhist hindu midwestern nordic mandarin
    cantonese hindi urdu bengali tamil hebrew swahili catalan persian farsi latin
    """)
"""Names of peoples and languages, which alone name no thing."""

NUMBERED: Final = word_set("""
    room gate platform flight route version chapter bus line building floor bench unit terminal apartment apt suite
    ward studio hall track lab reviewer section phase area level highway season episode pod locker invoice order
    ticket booth pitch seat dock bay shelf rack server node sprint release milestone court windows
    """)
"""Words that make a name of the number after them; the number stays part of it."""

DOCUMENTS: Final = (
    "report|reports|return|returns|review|reviews|budget|plan|forecast|statement|summary|invoice|contract|lease|"
    "roadmap|release|results|figures|audit|survey|conference|edition|election|season|championship|olympics"
)
"""What a year or a quarter before it names: the 2024 tax return, the Q3 revenue report."""
