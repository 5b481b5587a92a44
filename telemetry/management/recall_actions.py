"""The actions of `manage.py telemetry` about recall quality: report, plans, experiments and the tuner."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Final
from uuid import UUID

from memory.errors import InvalidInput, NotFound
from memory.management.agents import agent_named
from memory.management.answers import answer, counted
from memory.recall.profiles import SHIPPED
from memory.services.actors import Actor
from memory.services.legible import UNREADABLE, legible
from memory.services.settings import change_settings
from telemetry.management.actions import ActionSpec, Options, Write
from telemetry.management.arguments import agent_id, id_of, up_to
from telemetry.models import RecallExperiment, TunerChange
from telemetry.services.recalls.experiment_results import ExperimentResults, experiment_results
from telemetry.services.recalls.experiments import (
    ExperimentDraft,
    end_experiment,
    list_experiments,
    start_experiment,
)
from telemetry.services.recalls.explaining import explain_recall
from telemetry.services.recalls.report import DAYS, MOST_DAYS, QualityRequest, RecallReport, recall_report
from telemetry.services.recalls.summary import Summary
from telemetry.services.recalls.tuning import SWITCH, list_tuner_changes, tuner_status, undo_tuner_change

NOTHING: Final = "-"


def show_recall(actor: Actor, options: Options, write: Write) -> None:
    """Report how recalls went."""
    agent = agent_id(actor, options["agent"])
    request = QualityRequest(days=options["days"], agent=agent, profile=options["profile"])
    found = recall_report(actor=actor, request=request)
    value = plain(found)
    value["agents"] = {str(asked) if asked else "person": plain(one) for asked, one in found.agents.items()}
    answer(write, value, as_json=options["json"], lines=_report_lines(found))


def explain(actor: Actor, options: Options, write: Write) -> None:
    """Do a recall once more and show the plans of its statements."""
    found = explain_recall(actor=actor, recall_id=options["recall"])
    lines = [f"Profile {found.profile}, {counted(len(found.statements), 'statement')}, {found.milliseconds:.1f} ms."]
    for one in found.statements:
        lines += ["", f"{one.stage}, {one.milliseconds:.1f} ms:", *one.lines]
    answer(write, asdict(found), as_json=options["json"], lines=lines)


def show_experiments(actor: Actor, options: Options, write: Write) -> None:
    """List experiments, begin or end one, or show the results of one."""
    experiment_id = _began(actor, options) if options["start"] is not None else options["experiment"]
    if options["end"]:
        experiment_id = end_experiment(actor=actor, experiment_id=experiment_id or _running(actor)).pk
    if experiment_id is None:
        rows = list_experiments(actor=actor)
        lines = [_experiment_line(row) for row in rows] or ["There is no experiment."]
        answer(write, {"experiments": [_experiment(row) for row in rows]}, as_json=options["json"], lines=lines)
        return
    found = experiment_results(actor=actor, experiment_id=experiment_id)
    value = {**plain(found), "experiment": _experiment(found.experiment)}
    answer(write, value, as_json=options["json"], lines=_result_lines(found))


def show_tuner(actor: Actor, options: Options, write: Write) -> None:
    """Tell where the tuner stands and what it has changed, after switching it or undoing a change."""
    if options["enabled"] is not None:
        change_settings(actor=actor, changes={SWITCH: options["enabled"]})
    if options["undo"] is not None:
        undo_tuner_change(actor=actor, change_id=options["undo"])
    status, changes = tuner_status(actor=actor), list_tuner_changes(actor=actor)
    quality = NOTHING if status.ndcg is None else f"{status.ndcg:.2f}"
    seen = f"quality {quality} over {counted(status.recalls, 'context block')}"
    lines = [
        f"The tuner is {'on' if status.enabled else 'off'}. Threshold {status.threshold:.2f}, {seen}.",
        *(_change_line(change) for change in changes),
    ]
    value = {**asdict(status), "changes": [_change(change) for change in changes]}
    answer(write, value, as_json=options["json"], lines=lines)


def _began(actor: Actor, options: Options) -> UUID:
    if options["experiment"] is not None or options["end"]:
        raise InvalidInput("--start goes with no ID and no --end. Nothing was changed.", code="experiment.arguments")
    draft = ExperimentDraft(
        label=options["start"],
        control=options["control"],
        variant=options["variant"],
        share=options["share"],
        agents=[agent_named(actor, named).pk for named in options["agents"] or ()],
    )
    return start_experiment(actor=actor, draft=draft).pk


def _running(actor: Actor) -> UUID:
    newest = next(iter(list_experiments(actor=actor, size=1)), None)
    if newest is None or newest.ended_at is not None:
        raise NotFound("No experiment is running.", code="experiment.none_running")
    return newest.pk


def plain(value: Any) -> dict[str, Any]:
    """Give the fields of a dataclass, those within it as plain values too, and nothing that is a row."""
    found: dict[str, Any] = {}
    for field in fields(value):
        inner = getattr(value, field.name)
        if is_dataclass(inner):
            found[field.name] = plain(inner)
        elif isinstance(inner, tuple):
            found[field.name] = [plain(one) if is_dataclass(one) else one for one in inner]
        elif isinstance(inner, Mapping):
            found[field.name] = {str(key): plain(one) if is_dataclass(one) else one for key, one in inner.items()}
        else:
            found[field.name] = inner
    return found


def _report_lines(report: RecallReport) -> list[str]:
    slow = [f"  {one.recall_id}  {one.milliseconds:.1f} ms  {one.profile}" for one in report.slow]
    index = NOTHING if report.drift.index is None else f"{report.drift.index:.3f}"
    return [
        f"{counted(report.summary.recalls, 'recall')} in {counted(report.days, 'day')}.",
        _summary_line("all", report.summary),
        *(_summary_line(name, one) for name, one in report.profiles.items()),
        f"Gate: {_counts(report.gates)}. Degraded: {_counts(report.degraded)}.",
        f"Drift of scores: {report.drift.verdict} (index {index}).",
        *(["Slowest:", *slow] if slow else []),
    ]


def _summary_line(name: str, found: Summary) -> str:
    def number(value: float | None, form: str) -> str:
        return NOTHING if value is None else format(value, form)

    return (
        f"{name}: found {number(found.found.share, '.0%')}, helped {number(found.helpful.share, '.0%')} of "
        f"{found.helpful.of}, NDCG {number(found.ndcg, '.2f')}, p50 {number(found.p50_ms, '.1f')} ms, "
        f"p95 {number(found.p95_ms, '.1f')} ms, p99 {number(found.p99_ms, '.1f')} ms"
    )


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


def _experiment(row: RecallExperiment) -> dict[str, Any]:
    names = ("id", "control", "variant", "share", "agents", "started_at", "ended_at")
    return {"label": legible(row, "label"), **{name: getattr(row, name) for name in names}}


def _experiment_line(row: RecallExperiment) -> str:
    state, label = "ended" if row.ended_at else "running", legible(row, "label") or UNREADABLE
    return f"{row.pk}  {state}  {row.control} against {row.variant} ({row.share:.0%})  {label}"


def _result_lines(found: ExperimentResults) -> list[str]:
    lines = [_experiment_line(found.experiment)]
    for name, arm in (("control", found.control), ("variant", found.variant)):
        lines.append(_summary_line(f"{name} ({arm.profile}, {counted(arm.agents, 'agent')})", arm.summary))
    for measure, one in found.differences.items():
        value = NOTHING if one.value is None else f"{one.value:+.3g}"
        between = "" if one.low is None or one.high is None else f", {one.low:+.3g} to {one.high:+.3g}"
        lines.append(f"{measure}: {value}{between} ({one.verdict})")
    return [*lines, f"Intervals: {found.method}."]


def _change(row: TunerChange) -> dict[str, Any]:
    names = ("id", "setting", "before", "after", "ndcg", "recalls", "reason", "created_at", "undone_at")
    return {name: getattr(row, name) for name in names}


def _change_line(row: TunerChange) -> str:
    undone = ", undone" if row.undone_at else ""
    return f"{row.pk}  {row.created_at:%Y-%m-%d %H:%M}  {row.before:.2f} to {row.after:.2f}, {row.reason}{undone}"


def _take_report(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--days", type=up_to(MOST_DAYS), default=DAYS, metavar="N", help=f"days up to now; {DAYS} when left out"
    )
    parser.add_argument("--agent", metavar="AGENT", help="recalls of one agent, by its name or id")
    parser.add_argument("--profile", choices=list(SHIPPED), help="recalls that one profile answered")


def _take_recall(parser: ArgumentParser) -> None:
    parser.add_argument("recall", type=id_of, metavar="RECALL", help="the id of a recall of the last seven days")


def _take_experiment(parser: ArgumentParser) -> None:
    parser.add_argument("experiment", nargs="?", type=id_of, metavar="ID", help="show the results of one")
    parser.add_argument("--end", action="store_true", help="end it first; without an id, the one that is running")
    parser.add_argument("--start", metavar="LABEL", help="begin one of this name")
    profiles = list(SHIPPED)
    parser.add_argument("--control", choices=profiles, default=profiles[0], help="with --start: compare (%(default)s)")
    parser.add_argument("--variant", choices=profiles, default=profiles[1], help="with --start: with (%(default)s)")
    parser.add_argument(
        "--share", type=float, default=0.5, metavar="X", help="with --start: share of agents with the variant, 0 to 1"
    )
    parser.add_argument(
        "--agent",
        action="append",
        dest="agents",
        metavar="AGENT",
        help="with --start: has the variant anyway, by its name or id; as often as wished",
    )


def _take_tuner(parser: ArgumentParser) -> None:
    parser.add_argument("--undo", type=id_of, metavar="ID", help="undo a change first")
    switch = parser.add_mutually_exclusive_group()
    switch.add_argument("--on", action="store_true", default=None, dest="enabled", help="switch it on first")
    switch.add_argument("--off", action="store_false", default=None, dest="enabled", help="switch it off first")


ACTIONS: Final[Mapping[str, ActionSpec]] = {
    "recall": ActionSpec("report how recalls went", show_recall, _take_report),
    "explain": ActionSpec("show the database's plans for a recall", explain, _take_recall),
    "experiments": ActionSpec("list, begin or end experiments, or show results", show_experiments, _take_experiment),
    "tuner": ActionSpec("switch the tuner, or tell where it stands and what it has changed", show_tuner, _take_tuner),
}
