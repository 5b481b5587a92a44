"""The app's configuration: what it hangs into the ports and registries of the memory."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class TelemetryConfig(AppConfig):
    """The telemetry app."""

    name = "telemetry"
    verbose_name = _("Telemetry")

    def ready(self) -> None:
        """Announce what a purge, an archive and a page need to know of this app."""
        from memory.services.archive.registry import announce_parts
        from memory.services.purge.registry import announce

        _count()
        _trace()
        _record_turns()
        _make_vectors()
        _observe_recalls()
        _count_costs()
        _open_pages()
        _let_watch()
        _check_writer()
        _fill_demo()
        announce(_register_purge_targets)
        announce_parts(_register_archive_parts)


def _count() -> None:
    """Count what happens, for a collector of metrics."""
    from memory.ports.live import add_socket_listener
    from memory.ports.recorder import add_recorder
    from memory.ports.stored import add_listener
    from telemetry.metrics.recorder import MetricsRecorder, count_sockets, count_stored

    add_recorder(MetricsRecorder())
    add_listener(count_stored)
    add_socket_listener(count_sockets)


def _trace() -> None:
    """Have spans made where the operator has switched traces on."""
    from django.conf import settings

    if settings.TRACING != "off":
        from telemetry.metrics.tracing import install

        install()


def _record_turns() -> None:
    """Remove old turn events every hour."""
    from memory.ports.removers import add_remover
    from telemetry.services.turns.pruning import remove_outdated

    add_remover("turn_events", remove_outdated)


def _make_vectors() -> None:
    """Let workers make the vectors of requests that a report has missed, and remove them with their space."""
    from datetime import datetime

    from memory.ports.due_jobs import Done, add_job
    from memory.ports.space_holders import add_holder

    def fill(*, owner_id: UUID, at: datetime) -> Done:
        from telemetry.services.coverage.request_vectors import fill_vectors

        return fill_vectors(owner_id=owner_id, at=at)

    def forget(space_id: int) -> int:
        from telemetry.services.coverage.request_vectors import remove_of_space

        return remove_of_space(space_id)

    add_job("request_vectors", fill)
    add_holder("request_vectors", forget)


def _observe_recalls() -> None:
    """Keep how recalls went, compare profiles, and let the tuner look every hour."""
    from memory.ports.profile_choice import add_chooser
    from memory.ports.recorder import add_recorder
    from memory.ports.removers import add_remover
    from memory.services.jobs import HOUR, OURS, Plan, add_plan
    from telemetry.services.recalls.experiments import choose
    from telemetry.services.recalls.recording import RecallRecorder
    from telemetry.services.recalls.retention import remove_observations

    add_recorder(RecallRecorder())
    add_chooser(choose)
    add_remover("recall_observations", remove_observations)
    add_plan(Plan(f"{OURS}tuner of recall", "telemetry.tasks.tune_recall", minutes=HOUR))


def _count_costs() -> None:
    """Count calls of models and hold budgets, and look every hour which of them are reached."""
    from memory.ports.allowance import add_allowance
    from memory.ports.due_jobs import add_job
    from memory.ports.recorder import add_recorder
    from memory.ports.removers import add_remover
    from memory.services.added_checks import add_check
    from memory.services.jobs import HOUR, OURS, Plan, add_plan
    from telemetry.services.costs.health import budgets_finding
    from telemetry.services.costs.reached import JOBS, look_when_over
    from telemetry.services.costs.retention import remove_usage
    from telemetry.services.costs.spending import UsageRecorder, require

    add_recorder(UsageRecorder())
    add_allowance(require)
    add_remover("model_usage", remove_usage)
    add_check("budgets", budgets_finding, asks_database=True)
    for job in JOBS:
        add_job(job, look_when_over)
    add_plan(Plan(f"{OURS}budgets", "telemetry.tasks.look_at_budgets", minutes=HOUR))


def _open_pages() -> None:
    """Name the pages in the palace's navigation and on the admin's front page, and say there when test mode is on."""
    from collections.abc import Sequence
    from typing import Any

    from memory.admin.pages import AdminPage, Panel, add_page, add_panel
    from memory.palace.agent_costs import add_costs
    from memory.palace.notices import Notice, add_notice
    from memory.palace.sections import Section, add_section
    from memory.services.actors import Actor

    def test_mode(actor: Actor) -> Notice | None:
        from telemetry.palace.notices import test_mode_notice

        return test_mode_notice(actor)

    def costs(actor: Actor) -> Mapping[UUID, str]:
        from telemetry.palace.agent_costs import costs_of_agents

        return costs_of_agents(actor)

    add_notice("test-mode", test_mode)
    add_costs(costs)
    add_section(Section(_("Telemetry"), "telemetry:index", namespace="telemetry", group="agents"))
    meaning = _("What your agents are asked, and whether a part of them fits.")
    add_page(AdminPage(_("Coverage"), "telemetry-admin:coverage", meaning))
    for page in (
        AdminPage(_("Costs"), "telemetry:costs", _("What models cost, of your own owner, in the palace.")),
        AdminPage(_("Health"), "telemetry:health", _("How this installation and your own memory are, in the palace.")),
        AdminPage(_("Recall"), "telemetry:recall", _("How well recall finds, of your own owner, in the palace.")),
    ):
        add_page(page)

    def last_days(actor: Actor) -> Sequence[tuple[Any, Any]]:
        from telemetry.admin.panels import last_days

        return last_days(actor)

    add_panel(Panel(_("Telemetry, 30 days"), last_days, "telemetry-admin:coverage", "telemetry-admin:front"))


def _let_watch() -> None:
    """Name what pages and agents may hear of at once; all of it speaks of the whole owner."""
    from memory.live.sorts import add_sort
    from memory.services.actors import Permission

    for sort in ("coverage", "budget", "tuner"):
        add_sort(sort, Permission.TELEMETRY_READ)


def _check_writer() -> None:
    """Say in the installation's health when turn events are not written."""
    from memory.services.added_checks import add_check
    from memory.services.findings import Finding

    def look() -> Finding:
        from telemetry.services.health_checks import writer_finding

        return writer_finding()

    add_check("turn events", look)


def _register_purge_targets() -> None:
    from telemetry.services.purge_targets import register_targets

    register_targets()


def _register_archive_parts() -> None:
    from telemetry.services.archive_parts import register_parts

    register_parts()


def _fill_demo() -> None:
    """Give the demonstration's agents a month of turns."""
    from memory.services.demo.parts import DemoOwner, add_demo_part

    def recorded(owner: DemoOwner) -> str:
        from telemetry.services.demo import demo_telemetry

        return demo_telemetry(owner)

    add_demo_part(recorded)
