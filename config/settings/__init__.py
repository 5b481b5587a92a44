"""Assemble the settings; the environment decides, there are no separate modules for kinds of deployment."""

from __future__ import annotations

from config.settings.chosen import *  # noqa: F403
from config.settings.fixed import *  # noqa: F403
from config.settings.telemetry import *  # noqa: F403
