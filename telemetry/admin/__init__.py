"""Pages of telemetry in the admin: the same as in the palace, for staff, over the owner that is shown."""
