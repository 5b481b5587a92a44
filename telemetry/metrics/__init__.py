"""Counts for a collector of metrics, and spans for one of traces."""
