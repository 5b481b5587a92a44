"""The app's configuration: composes the ports once per process."""

from __future__ import annotations

from django.apps import AppConfig
from django.conf import settings


class MemoryConfig(AppConfig):
    """The memory app."""

    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        """Install the keyring, the records of what leaves and who logs in, and the job queue's own signing key."""
        from django_q.conf import Conf

        from memory.providers import composition
        from memory.providers.outbound import recording
        from memory.services import outbound
        from memory.services.archive.registry import announce_parts
        from memory.services.audit import sign_ins
        from memory.services.purge.registry import announce

        Conf.SECRET_KEY = settings.QUEUE_SIGNING_KEY
        composition.install_keyring()
        recording.install(outbound.note)
        announce(_register_purge_targets)
        announce_parts(_register_archive_parts)
        sign_ins.connect()


def _register_purge_targets() -> None:
    from memory.services.purge.targets import register_targets

    register_targets()


def _register_archive_parts() -> None:
    from memory.services.archive.parts import register_parts

    register_parts()
