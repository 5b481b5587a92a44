"""The memory bus: short-lived messages between the agents of one owner, and whom of them to believe."""
