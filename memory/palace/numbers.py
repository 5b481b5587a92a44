"""Numbers as people of a language write them."""

from __future__ import annotations

import re
from typing import Final

from django.utils.formats import get_format
from django.utils.translation import gettext as _

MARK: Final = re.compile(r"(?<=\d)[,.](?=\d)")
PERCENT: Final = re.compile(r"(?<=\d)%")


def local(written: str) -> str:
    """Write the numbers of a text, which are written as in `1,234.5` or `12%`, as the language of the page does."""
    marks = {",": get_format("THOUSAND_SEPARATOR"), ".": get_format("DECIMAL_SEPARATOR")}
    sign = _("%(number)s%%") % {"number": ""}
    return PERCENT.sub(sign, MARK.sub(lambda found: str(marks[found[0]]), written))


def whole(number: int) -> str:
    """Write a whole number as the language of the page does."""
    return local(f"{number:,}")
