"""Commands of telemetry."""
