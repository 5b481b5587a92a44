"""The app's configuration: composes the ports once per process."""

from __future__ import annotations

from django.apps import AppConfig
from django.conf import settings


class MemoryConfig(AppConfig):
    """The memory app."""

    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        """Install the keyring, records of what leaves and who logs in, notices of changes, and the queue's own key."""
        from django_q.conf import Conf

        from memory.live import logins, notices
        from memory.ports.live import add_announcer
        from memory.providers import composition
        from memory.providers.outbound import recording
        from memory.services import browser_sessions, outbound
        from memory.services.archive.registry import announce_parts
        from memory.services.audit import sign_ins
        from memory.services.purge.registry import announce

        Conf.SECRET_KEY = settings.QUEUE_SIGNING_KEY
        composition.install_keyring()
        recording.install(outbound.note)
        announce(_register_purge_targets)
        announce(_register_sockets)
        announce_parts(_register_archive_parts)
        add_announcer(notices.announce)
        logins.connect()
        sign_ins.connect()
        browser_sessions.connect()
        _check_live_pages()
        _check_projection()
        if settings.REDIS:
            _check_redis()
        _let_watch()
        _say_on_pages()


def _register_purge_targets() -> None:
    from memory.services.purge.targets import register_targets

    register_targets()


def _register_sockets() -> None:
    from memory.live.sockets import open_sockets
    from memory.services.purge.caches import register_cache

    register_cache("live sockets", open_sockets.judge_owner)


def _check_live_pages() -> None:
    from memory.services.added_checks import add_check
    from memory.services.findings import Finding

    def look() -> Finding:
        from memory.live.state import live_finding

        return live_finding()

    add_check("live", look)


def _check_projection() -> None:
    from memory.services.added_checks import add_check
    from memory.services.findings import Finding

    def look() -> Finding:
        from memory.services.projection.health import projection_finding

        return projection_finding()

    add_check("neo4j", look, asks_database=True)


def _check_redis() -> None:
    from memory.services.added_checks import add_check
    from memory.services.findings import Finding

    def look() -> Finding:
        from memory.services.health.redis import redis_finding

        return redis_finding()

    add_check("redis", look)


def _let_watch() -> None:
    """Name what pages and agents may hear of at once.

    What is told of an owner's memories, runs and doubts goes over all agents, so an agent needs the permission with
    which it may also read who did what.
    """
    from memory.live.sorts import add_sort
    from memory.services import announcing
    from memory.services.actors import Permission
    from memory.services.health.heartbeat import WORKERS

    for sort in (announcing.MEMORIES, announcing.CONSOLIDATION, announcing.REVIEWS):
        add_sort(sort, Permission.PRIVACY)
    add_sort(WORKERS, Permission.READ)


def _say_on_pages() -> None:
    from memory.palace.notices import Notice, add_notice
    from memory.services.actors import Actor

    def worker(actor: Actor) -> Notice | None:
        from memory.palace.worker_notice import worker_notice

        return worker_notice(actor)

    add_notice("worker", worker)


def _register_archive_parts() -> None:
    from memory.services.archive.parts import register_parts

    register_parts()
