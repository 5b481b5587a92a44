"""What endpoints of telemetry take and give."""
