"""A filter of templates: what services write between backticks is a command or a name for programs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

register = template.Library()
SPAN: Final = re.compile(r"`([^`<>]+)`")


@register.filter
def code_spans(sentence: StrOrPromise) -> SafeString:
    """Escape a sentence and set what stands between backticks as code, as in: Run `manage.py worker`."""
    return mark_safe(SPAN.sub(r'<code translate="no">\1</code>', str(conditional_escape(sentence))))  # noqa: S308
