"""The REST interface of telemetry."""
