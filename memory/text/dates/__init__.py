"""Dates, seasons and spans of time that a text speaks of."""

from memory.text.dates.finder import MAX_CHARACTERS, find_spans, may_hold_dates
from memory.text.dates.spans import EARLIEST, LATEST, TimeSpan

__all__ = ["EARLIEST", "LATEST", "MAX_CHARACTERS", "TimeSpan", "find_spans", "may_hold_dates"]
