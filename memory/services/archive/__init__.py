"""Archives: everything that is stored about an owner as one signed file, its import elsewhere, and sealed snapshots."""
