"""Recall in use: what is kept of recalls, feedback, the report, experiments and the tuner."""
