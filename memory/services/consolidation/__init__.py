"""Consolidation at work: runs, their stages, and what a person does about them."""
