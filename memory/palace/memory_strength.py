"""Why a memory is as strong and as certain as it is, and how it fades: in words, in numbers and as a curve."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.consolidation.policies import Fading, RetentionPolicy
from memory.consolidation.strength import EACH_USE, MOST_OF_USES, SLOW_ABOVE, strength
from memory.models import Memory, MemorySource, Status
from memory.palace.dates import Moment, moment
from memory.palace.numbers import local
from memory.services.consolidation.derived import made_here

DAY: Final = timedelta(days=1)
WIDTH, HEIGHT = 640, 190
LEFT, RIGHT, TOP, BOTTOM = 40, 12, 14, 26
SAMPLES: Final = 48
TABLE_ROWS: Final = 8
FARTHEST: Final = timedelta(days=3650)
"""How far ahead an end is named: what lies farther is called never."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table beside the curve."""

    when: Moment
    percent: str
    note: str


@dataclass(frozen=True, slots=True)
class Curve:
    """The curve as what an SVG takes, in numbers that do not depend on the language.

    Attributes:
        line: points of the curve up to today; ahead: from today on; area: the whole, closed along the bottom.
        now_x, now_y: today's point.
        threshold_y: where what is weaker is archived; empty where strength does not count.
        label: the curve in one sentence.
    """

    view_box: str
    line: str
    ahead: str
    area: str
    now_x: str
    now_y: str
    left: str
    right: str
    top: str
    bottom: str
    threshold_y: str
    begins: str
    ends: str
    label: str
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class Strength:
    """How strong a memory is now, why, and what becomes of it."""

    percent: str
    formula: str
    reasons: list[tuple[str, str]]
    fate: str
    curve: Curve


def strength_view(
    row: Memory, *, used: tuple[int, datetime] | None, policy: RetentionPolicy, now: datetime
) -> Strength:
    """Explain the strength of a memory by its numbers (`memory.consolidation.strength`).

    Args:
        row: the memory.
        used: how often and when last it was used, if ever.
        policy: the retention policy of its owner.
        now: the present moment.
    """
    count, last = used if used else (0, row.created_at)
    slow = row.importance > SLOW_ABOVE
    half_life = policy.half_life_days * (2 if slow else 1)
    days = max(0.0, (now - last) / DAY)
    left = row.importance * 0.5 ** (days / half_life)
    uses = min(EACH_USE * count, MOST_OF_USES)
    value = min(1.0, left + uses)
    half = _("%(days)g days") % {"days": half_life}
    if slow:
        half = _("%(days)g days, twice as long since its importance is above %(bound)s") % {
            "days": half_life,
            "bound": SLOW_ABOVE,
        }
    reasons = [
        (_("importance"), local(f"{row.importance:.2f}")),
        (_("since its last use") if used else _("since it was stored"), _days(days)),
        (_("half-life, by the policy “%(name)s”") % {"name": policy.name}, half),
        (_("what time has left of its importance"), local(f"{left:.3f}")),
        (
            ngettext("%(count)s use, 0.05 each and 0.3 at most", "%(count)s uses, 0.05 each and 0.3 at most", count)
            % {"count": count},
            local(f"{uses:.2f}"),
        ),
    ]
    formula = local(f"{row.importance:.2f} × 0.5^({days:.1f} / {half_life:g}) + {uses:.2f} = {value:.3f}")
    fading = policy.tiers.get(row.tier)
    end = _end(row, last, uses, half_life, fading)
    return Strength(
        local(f"{value:.0%}"), formula, reasons, _fate(row, end, fading, now), _curve(row, used, policy, end, now)
    )


def certainty_reasons(
    row: Memory, sources: Sequence[MemorySource], *, corrected: bool, disputed: int, contested: int
) -> list[str]:
    """Say what a memory's certainty rests on.

    Args:
        row: the memory.
        sources: its statements.
        corrected: whether a person has changed it.
        disputed: disputes of it that wait for a decision.
        contested: contradictions in which it stands that wait for a decision.
    """
    reasons = []
    if made_here(row):
        reasons.append(_("I drew it from what was said; the number is how sure I was of having understood it."))
    elif row.session_id:
        reasons.append(_("It is kept word for word as it was said."))
    elif row.agent_id is None:
        reasons.append(_("You stated it yourself."))
    else:
        reasons.append(_("An agent stated it and gave this number, or none, which counts as certain."))
    if len(sources) > 1:
        reasons.append(_("It was stated %(count)s times.") % {"count": len(sources)})
    if corrected:
        reasons.append(_("You have corrected it, so nothing that is merely read out of a text takes its place."))
    if contested:
        reasons.append(_("Another statement contradicts it, and nobody has decided yet."))
    if disputed:
        reasons.append(_("It is disputed, and nobody has decided yet."))
    return reasons


def _days(days: float) -> str:
    if days < 1:
        return _("less than a day")
    return ngettext("%(days)s day", "%(days)s days", round(days)) % {"days": local(f"{days:.1f}")}


def _end(row: Memory, last: datetime, uses: float, half_life: float, fading: Fading | None) -> datetime | None:
    """Compute when strength falls below what the policy keeps; None when it never does."""
    bound = fading.least_strength if fading else None
    if fading is None or bound is None or uses >= bound or row.importance <= 0:
        return None
    days = max(0.0, half_life * math.log2(row.importance / (bound - uses)))
    end = max(last + timedelta(days=days), row.created_at + timedelta(days=fading.older_than_days))
    return end if end - last <= FARTHEST else None


def _fate(row: Memory, end: datetime | None, fading: Fading | None, now: datetime) -> str:
    if row.status != Status.LIVE:
        return _("It is not in use, so it does not fade any further.")
    if fading is None:
        return _("Memories of this sort do not go by fading alone.")
    if fading.stale_after_days is not None:
        return _("It is archived when nothing has confirmed or used it for %(days)g days.") % {
            "days": fading.stale_after_days
        }
    if fading.salience_floor is not None:
        return _("After %(days)g days it is archived unless something has raised its weight above %(floor)s.") % {
            "days": fading.older_than_days,
            "floor": fading.salience_floor,
        }
    if end is None:
        return _("Its uses alone keep it above what is archived.")
    if end <= now:
        return _("It has faded; the next round of forgetting archives it, and you can restore it.")
    when = moment(end, now)
    return _("If nobody uses it, it is archived %(relative)s, on %(date)s, and can be restored.") % {
        "relative": when.relative,
        "date": f"{end:%Y-%m-%d}",
    }


def _curve(
    row: Memory, used: tuple[int, datetime] | None, policy: RetentionPolicy, end: datetime | None, now: datetime
) -> Curve:
    """Draw strength from the last use on, since earlier uses are not kept one by one, to where it matters no more."""
    count, last = used if used else (0, row.created_at)
    begin = min(last, now)
    ahead = max(2 * timedelta(days=policy.half_life_days), (end - now) * 1.15 if end and end > now else timedelta())
    span = (now - begin) + ahead

    def at(when: datetime) -> float:
        return strength(
            importance=row.importance,
            created_at=row.created_at,
            last_accessed=used[1] if used else None,
            access_count=count,
            half_life_days=policy.half_life_days,
            moment=when,
        )

    def x(when: datetime) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * ((when - begin) / span)

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value)

    def points(start: datetime, stop: datetime) -> str:
        moments = [start + (stop - start) * (step / SAMPLES) for step in range(SAMPLES + 1)]
        return " ".join(f"{x(one):.1f},{y(at(one)):.1f}" for one in moments)

    past, future = points(begin, now), points(now, now + ahead)
    floor = f"{y(0):.1f}"
    fading = policy.tiers.get(row.tier)
    bound = fading.least_strength if fading else None
    return Curve(
        view_box=f"0 0 {WIDTH} {HEIGHT}",
        line=past,
        ahead=future,
        area=f"{LEFT},{floor} {past} {future} {x(now + ahead):.1f},{floor}",
        now_x=f"{x(now):.1f}",
        now_y=f"{y(at(now)):.1f}",
        left=str(LEFT),
        right=str(WIDTH - RIGHT),
        top=f"{y(1):.1f}",
        bottom=floor,
        threshold_y="" if bound is None else f"{y(bound):.1f}",
        begins=f"{begin:%Y-%m-%d}",
        ends=f"{now + ahead:%Y-%m-%d}",
        label=_("Strength falls from %(first)s on %(begin)s to %(last)s on %(end)s when nobody uses it; today %(now)s.")
        % {
            "first": local(f"{at(begin):.0%}"),
            "begin": f"{begin:%Y-%m-%d}",
            "last": local(f"{at(now + ahead):.0%}"),
            "end": f"{now + ahead:%Y-%m-%d}",
            "now": local(f"{at(now):.0%}"),
        },
        rows=_rows(begin, ahead, at, end, now),
    )


def _rows(
    begin: datetime, ahead: timedelta, at: Callable[[datetime], float], end: datetime | None, now: datetime
) -> list[Row]:
    noted = {begin: _("last use, or stored"), now: _("today")}
    if end is not None and end <= now + ahead:
        noted[end] = _("archived from here on")
    moments = {now + ahead * (step / TABLE_ROWS) for step in range(1, TABLE_ROWS + 1)} | noted.keys()
    return [Row(moment(one, now), local(f"{at(one):.1%}"), noted.get(one, "")) for one in sorted(moments)]
