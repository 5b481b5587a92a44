"""What the pages of consolidation say: stages, states, counts and codes of reports as sentences for people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from memory.palace.presenters import label

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Words = Mapping[str, "StrOrPromise"]

GROUPS: Final[Words] = {
    "knowledge": lazy("Draw facts and names from what was stored"),
    "sleep": lazy("Link memories and draw insights"),
    "summaries": lazy("Sum up, look back, learn skills"),
    "privacy": lazy("Look for personal data"),
    "forgetting": lazy("Archive what has faded"),
    "communities": lazy("Find what belongs together"),
}
SETTINGS_GROUPS: Final[Words] = {
    "consolidation": lazy("Drawing from what was stored"),
    "sleep": lazy("The sleep pass"),
    "summaries": lazy("Summaries, reflection and skills"),
    "privacy": lazy("Personal data"),
    "forgetting": lazy("Forgetting"),
    "communities": lazy("Communities"),
}
STAGES: Final[Words] = {
    "knowledge": lazy("Drawing knowledge"),
    "selection": lazy("Choosing what to read"),
    "extraction": lazy("Reading it"),
    "gate": lazy("Keeping what is sure, asking about the rest"),
    "graph": lazy("Names and relations"),
    "events": lazy("Events and causes"),
    "facts": lazy("Facts"),
    "graph_garbage": lazy("Forgetting: names and ties that nothing speaks of"),
    "contradictions": lazy("Contradictions"),
    "sleep": lazy("Sleep pass: links and insights"),
    "rerating": lazy("Sleep pass: what matters more"),
    "salience": lazy("Sleep pass: what matters more"),
    "patterns": lazy("Patterns"),
    "summaries": lazy("Summaries"),
    "reflection": lazy("Reflection"),
    "skills": lazy("Skills"),
    "privacy": lazy("Looking for personal data"),
    "decay": lazy("Forgetting"),
    "graph_decay": lazy("Forgetting: names and ties that have faded"),
    "communities": lazy("Communities"),
}
RUN_STATES: Final[Words] = {
    "waiting": lazy("Waits for a worker"),
    "running": lazy("At work"),
    "done": lazy("Done"),
    "failed": lazy("Failed"),
    "interrupted": lazy("Interrupted"),
    "deferred": lazy("Left the rest to a later run"),
}
STAGE_STATES: Final[Words] = {
    "waiting": lazy("to come"),
    "done": lazy("done"),
    "skipped": lazy("not needed"),
    "failed": lazy("failed"),
    "stopped": lazy("stopped"),
}
TRIGGERS: Final[Words] = {
    "count": lazy("enough turns had come"),
    "schedule": lazy("it was time"),
    "hand": lazy("somebody asked for it"),
    "write": lazy("something was stored"),
}
RISKS: Final[Words] = {
    "none": lazy("No language model read anything."),
    "read": lazy("A language model was allowed to read texts."),
}
SKIPPED: Final[Words] = {
    "setting.off": lazy("It is switched off in the settings."),
    "switched off": lazy("It is switched off in the settings."),
    "summaries.off": lazy("Summaries are switched off in the settings."),
    "reflection.off": lazy("Reflection is switched off in the settings."),
    "skills.off": lazy("Skills are switched off in the settings."),
    "forgetting.off": lazy("Forgetting is switched off in the settings."),
    "policy.keeps": lazy("The retention policy keeps everything."),
    "vectors.none": lazy("No memory has been read for meaning yet."),
    "turns.none": lazy("Nothing was said since the last time."),
    "not.due": lazy("It is not due yet."),
    "graph.unchanged": lazy("Nothing has changed in what is known since the last time."),
    "backlog": lazy("More waits to be read first; it follows when that is done."),
    "no language model": lazy("No language model is set up."),
    "time.up": lazy("Its time was up; the next run goes on from here."),
    "work.waiting": lazy("Somebody's work waited and came first; it goes on in a minute."),
    "lease.lost": lazy("Another run had taken over."),
    "database.failed": lazy("The database did not answer as it should. It is tried again."),
    "internal": lazy("Something is wrong in Loci itself; the log of the server says what."),
    "llm.unavailable": lazy("The language model could not be reached."),
    "llm.unusable": lazy("The language model answered nothing usable."),
    "budget.exceeded": lazy("The budget for models is used up."),
    "extractor.unavailable": lazy("What is set to read texts is not installed, so rules read them."),
    "extractor.away": lazy("The language model was away; it is tried again."),
    "keys.unavailable": lazy("The texts could not be opened with your key."),
    "provider.misconfigured": lazy("The language model is not set up as it must be."),
    "way:llm": lazy("Written by the language model."),
    "way:rules": lazy("Written by rules."),
    "more": lazy("There is more; the next run goes on at once."),
    "insight.none": lazy("There was nothing to conclude."),
    "insight.dropped": lazy("An insight was dropped, since a memory behind it was changed meanwhile."),
    "insight.injection": lazy("An insight was dropped, since it read like orders to a model."),
    "llm.injection": lazy("A text of the language model read like orders and was not used."),
    "aborted": lazy("It ended early, since the language model failed."),
}
COUNTS: Final[Words] = {
    "archived": lazy("archived"),
    "causes": lazy("causes read"),
    "causes_known": lazy("causes known already"),
    "causes_new": lazy("new causes"),
    "changed_meanwhile": lazy("changed meanwhile"),
    "clusters": lazy("groups of like memories"),
    "communities": lazy("communities"),
    "conflicts": lazy("contradictions found"),
    "connections": lazy("new links"),
    "connections_known": lazy("links known already"),
    "connections_rejected": lazy("links that were no use"),
    "contested": lazy("put to you for review"),
    "day": lazy("days summed up"),
    "empty": lazy("with nothing to say"),
    "entities": lazy("names"),
    "entities_known": lazy("names known already"),
    "entities_new": lazy("new names"),
    "events": lazy("events read"),
    "events_known": lazy("events known already"),
    "events_new": lazy("new events"),
    "facts": lazy("facts read"),
    "failed": lazy("texts that failed"),
    "grown": lazy("patterns that grew"),
    "insights": lazy("insights"),
    "known": lazy("known already"),
    "learned": lazy("skills learned"),
    "left": lazy("left for later"),
    "llm_failures": lazy("failed answers of the model"),
    "merged": lazy("merged"),
    "merges_in_doubt": lazy("pairs of names to ask about"),
    "new": lazy("new facts"),
    "patterns": lazy("new patterns"),
    "looked": lazy("texts looked at"),
    "given_up": lazy("texts given up"),
    "unreadable": lazy("texts that do not open"),
    "nodes": lazy("names"),
    "edges": lazy("ties between them"),
    "relabelled": lazy("names that moved to another community"),
    "raised": lazy("made more important"),
    "reinforced": lazy("confirmed"),
    "relations": lazy("relations"),
    "relations_ended": lazy("relations ended"),
    "relations_new": lazy("new relations"),
    "relations_strengthened": lazy("relations confirmed"),
    "retired": lazy("older statements that made way"),
    "reviewed": lazy("memories looked at"),
    "rows": lazy("memories looked at"),
    "said_already": lazy("said already"),
    "scopes": lazy("circles of readers"),
    "session": lazy("conversations summed up"),
    "sessions": lazy("conversations looked at"),
    "singletons": lazy("memories like no other"),
    "sources_gone": lazy("whose sources were erased meanwhile"),
    "topics": lazy("topics added"),
    "turns": lazy("turns looked at"),
    "unchanged": lazy("unchanged"),
    "unresolved": lazy("with a name that is not known"),
    "unusable": lazy("that were no use"),
    "waiting": lazy("waiting"),
    "week": lazy("weeks summed up"),
    "fact": lazy("facts to ask about"),
    "entity": lazy("names to ask about"),
    "relation": lazy("relations to ask about"),
    "event": lazy("events to ask about"),
    "cause": lazy("causes to ask about"),
}
_TOO_FEW: Final = re.compile(r"too few unconsolidated \((\d+) < (\d+)\)")


def sentence(code: str) -> str:
    """Say why a stage did nothing, or what it noticed; a code that is not known as it stands."""
    too_few = _TOO_FEW.fullmatch(code)
    if too_few:
        return _("Only %(rows)s new memories wait, and it begins with %(least)s.") % {
            "rows": too_few[1],
            "least": too_few[2],
        }
    known = SKIPPED.get(code)
    if known is not None:
        return str(known)
    step, colon, reason = code.partition(":")
    if colon and reason in SKIPPED:
        return f"{capfirst(counted(step))}: {SKIPPED[reason]}"
    return label(code.replace(".", " "))


def counted(name: str) -> str:
    """Name a count of a report."""
    known = COUNTS.get(name)
    return label(name.replace(".", ": ")) if known is None else str(known)


def stage(name: str) -> str:
    """Name a stage."""
    known = STAGES.get(name)
    return label(name) if known is None else str(known)
