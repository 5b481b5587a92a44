"""Endpoints of telemetry."""
