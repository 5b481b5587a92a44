"""How figures are shown: aligned tables for a terminal, Markdown for a page, and a page's generated part."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from memory.errors import InvalidInput

BEGIN: Final = "<!-- recall-quality:begin -->"
END: Final = "<!-- recall-quality:end -->"
HEADINGS: Final[Mapping[str, str]] = {
    "r@5": "R@5",
    "r@10": "R@10",
    "r@20": "R@20",
    "hit@20": "hit@20",
    "mrr": "MRR",
    "session_r@5": "session R@5",
}

Rows = Mapping[str, Mapping[str, Any]]


def aligned(rows: Rows, *, first: str = "", columns: Mapping[str, str] = HEADINGS) -> list[str]:
    """Give the lines of a table with aligned columns.

    Args:
        rows: figures by the name of the row.
        first: heading of the names.
        columns: headings by the figure's name; `n` is added where the rows have it.
    """
    cells = _cells(rows, first, columns)
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    padded = (
        [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        for row in cells
    )
    return ["  ".join(row) for row in padded]


def markdown(rows: Rows, *, first: str = "", columns: Mapping[str, str] = HEADINGS) -> list[str]:
    """Give the lines of a Markdown table; arguments as for `aligned`."""
    heading, *body = [f"| {' | '.join(row)} |" for row in _cells(rows, first, columns)]
    return [heading, "|---" * (heading.count("|") - 1) + "|", *body]


def _cells(rows: Rows, first: str, columns: Mapping[str, str]) -> list[list[str]]:
    counted = any("n" in figures for figures in rows.values())
    headings = [first, *columns.values(), *(["n"] if counted else [])]
    body = [
        [name, *(_number(figures.get(key)) for key in columns), *([str(figures.get("n", ""))] if counted else [])]
        for name, figures in rows.items()
    ]
    return [headings, *body]


def _number(value: Any) -> str:
    if value is None:
        return "–"
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def intervals(figures: Mapping[str, Any]) -> str:
    """Say in one line in which intervals the figures lie."""
    spans = (
        f"{heading} {_number(low)} to {_number(high)}"
        for name, heading in HEADINGS.items()
        for low, high in [figures["interval"][name]]
    )
    return "95 % intervals by conversation: " + ", ".join(spans)


def comparison(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Write a comparison as Markdown: for each source the profiles, then the default's categories and stores."""
    lines: list[str] = []
    for name, table in tables.items():
        rows = {label: {key: row[key] for key in HEADINGS} for label, row in table["rows"].items()}
        size = f"{table['stores']} stores, {table['memories']:,} memories, {table['questions']:,} questions"
        lines += [f"Source `{name}`: {size}.", "", *markdown(rows), ""]
        lines += [f"`default`, {intervals(table['rows']['default'])}.", ""]
        lines += [*markdown(table["by_category"], first="`default` by category"), ""]
        lines += [*markdown(table["by_store"], first="`default` by store"), ""]
    return "\n".join(lines).rstrip()


def weights(figures: Mapping[str, Any]) -> list[str]:
    """Set fitted weights beside the present ones, aligned."""
    rows = {
        signal: {"present": figures["present_weights"][signal], "fitted": value, "rounded": f"{value:.1f}"}
        for signal, value in figures["weights"].items()
    }
    return aligned(rows, first="signal", columns={"present": "present", "fitted": "fitted", "rounded": "rounded"})


def fits(figures: Mapping[str, Any]) -> list[str]:
    """Set the figures of present, fitted and held-out weights below each other, aligned."""
    rows = {name: figures[name] for name in ("present", "fitted", "rounded", "held_out") if figures[name] is not None}
    moved = figures["transfer"] or {}
    for name in ("fitted_on_others", "fitted_on_all", "loss"):
        if name in moved:
            rows[f"two conversations, {name.replace('_', ' ')}"] = moved[name]
    return aligned(rows, first="weights")


def check_marks(page: Path, *, begin: str = BEGIN, end: str = END) -> None:
    """See that a page can be written to by `write_between`; raises what that raises."""
    _parts(page, begin, end)


def write_between(page: Path, text: str, *, begin: str = BEGIN, end: str = END) -> None:
    """Replace what stands between two marks of a page, those of recall quality when none are named, and nothing else.

    Raises:
        InvalidInput: the page does not have each mark once, in order; it was left as it was.
        OSError: the page cannot be read or written.
    """
    before, after = _parts(page, begin, end)
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def _parts(page: Path, begin: str, end: str) -> tuple[str, str]:
    whole = page.read_text(encoding="utf-8")
    before, _, rest = whole.partition(begin)
    _, _, after = rest.partition(end)
    if (whole.count(begin), whole.count(end), rest.count(end)) != (1, 1, 1):
        raise InvalidInput(f"{page.name} needs {begin} and {end} once each; it was not changed.", code="bench.marks")
    return before, after
