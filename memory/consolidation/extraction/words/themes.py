"""Activities and themes that people talk about, in small letters, each with its one name and its theme."""

from __future__ import annotations

from typing import Final

# One line for each theme; within it one item for each activity, the first form being its name.
_THEMES: Final[dict[str, str]] = {
    "sport": """yoga, hiking/hike/hikes/hiked, running/jogging, swimming/swim, cycling/biking, climbing, surfing,
        skiing, snowboarding, basketball, football, soccer, tennis, badminton, volleyball, baseball, golf, boxing,
        martial arts/karate/judo/kickboxing/taekwondo, marathon/marathons/half-marathon, gym, weightlifting, pilates,
        rowing, sailing, kayaking, horse riding/horseback riding/horseback, skating, fencing, triathlon,
        workout/workouts""",
    "art": """pottery, painting/paintings, drawing/drawings, sculpture/sculptures, photography, ceramics, knitting,
        crochet, sewing, embroidery, calligraphy, woodworking, origami, dance/dancing/dances, ballet, choreography,
        theatre/theater, film-making/filmmaking, screenplay/screenplays/screenwriting, poetry/poems, fashion,
        tattoo/tattoos""",
    "music": """violin, piano, guitar, drums, cello, flute, clarinet, saxophone, ukulele, singing, choir,
        concert/concerts, jazz, opera, orchestra, classical music, karaoke""",
    "reading": "book club, novel/novels, fantasy books, comics, manga, journaling, blogging",
    "games": """chess, board games/board game, video games/video game/videogames, card games, esports,
        tournament/tournaments, role-playing, puzzles, crosswords""",
    "nature": "camping, gardening, fishing, birdwatching, beekeeping, stargazing, meteor shower, waterfall/waterfalls",
    "food": """cooking, baking, barbecue, coffee, tea, wine, beer, vegetarian, vegan, ice cream, sushi, pizza, pasta,
        recipes, breakfast, chocolate, dairy-free/dairy free, lactose intolerant/lactose intolerance""",
    "animals": """dog shelter, pet adoption, puppy/puppies, kitten/kittens, turtle/turtles, horse/horses, aquarium,
        veterinarian/vet""",
    "health": """allergy/allergies, asthma, diabetes, migraine/migraines, surgery, therapy, meditation, mindfulness,
        pregnancy, anxiety, depression, physiotherapy, counselling/counseling, mental health, diet, insomnia, injury""",
    "family": """wedding/weddings, adoption, parenting, divorce, birthday/birthdays, anniversary, graduation, funeral,
        baby shower, family reunion, engagement""",
    "community": """volunteering/volunteered, homeless shelter, fundraiser/fundraising/charity, protest/protests,
        pride parade,
        support group, mentoring/mentorship, activism, community service, veterans, military, politics, church,
        transgender, election, campaign""",
    "work": """internship, promotion, job interview/job interviews, startup, marketing, networking, accounting,
        online store, dance studio, business plan, layoff/layoffs, freelancing, consulting, sponsorship/endorsement""",
    "learning": """scholarship, thesis, dissertation, exam/exams, degree, university, bootcamp, tutoring, mathematics,
        physics, chemistry, biology, psychology, history, philosophy, astronomy""",
    "travel": "road trip/roadtrip, backpacking, sightseeing, cruise, honeymoon, visa, passport, study abroad",
    "technology": """machine learning, programming/coding, robotics, deployment/deployments, migration,
        database/databases, backup/backups, encryption, open source, incident, outage""",
    "home": "mortgage, renovation/renovations, landlord, rent, lease, moving house, house hunting, furniture",
    "money": "budget, savings, investing, taxes, insurance, pension, loan, debt",
}  # fmt: skip

LONGEST: Final = 2
"""Words of the longest name here."""


def _forms() -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for theme, listed in _THEMES.items():
        for item in listed.split(","):
            forms = [form.strip() for form in item.split("/")]
            found.update({" ".join(form.split()): (" ".join(forms[0].split()), theme) for form in forms})
    return found


TOPICS: Final = _forms()
"""Each form in small letters, with the name of the activity and its theme."""
