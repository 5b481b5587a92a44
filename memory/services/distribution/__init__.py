"""Preparing the schema for Citus: where each table goes, what must change before, and the statements that do it."""
