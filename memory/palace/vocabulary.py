"""The words of the vocabularies of kinds and categories, listed so that they can be translated."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_noop

WORDS: Final = frozenset(
    {
        gettext_noop("general"),
        gettext_noop("preference"),
        gettext_noop("instruction"),
        gettext_noop("context"),
        gettext_noop("fact"),
        gettext_noop("project"),
        gettext_noop("person"),
        gettext_noop("technical"),
        gettext_noop("task result"),
        gettext_noop("session"),
        gettext_noop("observation"),
        gettext_noop("goal"),
        gettext_noop("skill"),
        gettext_noop("relationship"),
        gettext_noop("temporal"),
        gettext_noop("emotional"),
        gettext_noop("creative"),
        gettext_noop("system"),
        gettext_noop("correction"),
        gettext_noop("feedback"),
        gettext_noop("summary"),
        gettext_noop("conversation"),
        gettext_noop("insight"),
        gettext_noop("error log"),
        gettext_noop("procedure"),
        gettext_noop("turn"),
        gettext_noop("note"),
        gettext_noop("decision"),
        gettext_noop("reflection"),
        gettext_noop("pattern"),
    }
)
