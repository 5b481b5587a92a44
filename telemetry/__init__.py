"""Telemetry: what agents were asked and whether it went well, how well recall works, what it costs, and health."""
