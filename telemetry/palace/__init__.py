"""Pages of telemetry in the palace."""
